"""Executors: what carries units of work out."""
