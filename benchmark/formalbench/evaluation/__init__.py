"""Evaluation: fixed sets of strings, and the scores of networks on them."""
