"""Grazzi et al. (2024): linear recurrences whose eigenvalues may be negative."""
