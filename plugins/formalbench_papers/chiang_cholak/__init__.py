"""Chiang & Cholak (2022): PARITY and FIRST."""
