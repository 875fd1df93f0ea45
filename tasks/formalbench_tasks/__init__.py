"""The built-in languages, registered like those of any plugin."""
