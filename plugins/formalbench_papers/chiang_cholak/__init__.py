"""Chiang & Cholak (2022): PARITY and FIRST."""

SOURCE = "Chiang & Cholak (2022), Overcoming a theoretical limitation of self-attention"
