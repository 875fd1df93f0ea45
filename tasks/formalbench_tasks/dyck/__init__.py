"""Balanced brackets: languages, shapes and near misses."""
