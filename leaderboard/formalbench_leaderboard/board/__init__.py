"""From records to one board, and what is known about it."""
