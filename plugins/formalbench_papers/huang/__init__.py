"""Huang et al. (2025): which languages a transformer generalizes on to longer strings."""
