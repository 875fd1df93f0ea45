"""The terminal, as every command and plugin uses it: its host, its output, its live table."""
