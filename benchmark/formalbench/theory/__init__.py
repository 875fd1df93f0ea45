"""What theory says of languages, and what follows for models."""

VERSION = 3
"""Raised whenever the classes of a language could come out otherwise: they are kept."""
