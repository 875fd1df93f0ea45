"""Evaluation: fixed strings, and how a network does on them."""
