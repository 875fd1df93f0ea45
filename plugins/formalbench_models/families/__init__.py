"""Families of models, a folder each: its config, its network, and a naive reference."""
