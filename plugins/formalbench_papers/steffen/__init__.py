"""Steffen, Glaus & Saeedi (2022): Dyck languages."""
