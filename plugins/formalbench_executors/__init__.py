"""Executors for more than one machine."""
