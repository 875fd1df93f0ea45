"""Language classes, and what theorems predict for models."""

VERSION = 5
"""Version of cached results; raise it whenever the classes of a language could change."""
