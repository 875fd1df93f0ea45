"""Scores answers of functions, networks of any framework, and files."""
