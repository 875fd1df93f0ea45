"""Mamba."""
