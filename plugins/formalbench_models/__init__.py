"""The built-in models, registered like those of any plugin."""
