"""Executors that use more than one machine."""
