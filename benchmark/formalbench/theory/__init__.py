"""What theory says of languages, and what follows for models."""

VERSION = 1
"""Raised whenever the classes of a language could come out otherwise: they are kept."""
