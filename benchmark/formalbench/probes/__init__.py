"""Probes: numbers read off a network's `trace`, one per string."""
