"""The terminal: shared options, output and the live table."""
