"""Tasks from fixed data: strings and their labels, read from files."""
