"""Recall: what was last written, and what was paired with what."""
