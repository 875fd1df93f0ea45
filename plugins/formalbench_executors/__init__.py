"""Executors that reach beyond one machine."""
