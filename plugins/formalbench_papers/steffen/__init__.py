"""Steffen, Glaus & Saeedi (2022): Dyck languages."""

SOURCE = (
    "Steffen, Glaus & Saeedi (2022), Evaluating Solutions to Theoretical Limitations of "
    "Self-Attention for DYCK-Languages"
)
