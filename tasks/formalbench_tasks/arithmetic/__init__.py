"""Arithmetic mod 5 with brackets: its value, and the unknown in an equation."""
