"""Verification of an exact model: every short string, then long random and adversarial ones."""
