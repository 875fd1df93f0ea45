"""Asking published numbers again: their weights tested on fresh strings, their runs repeated."""
