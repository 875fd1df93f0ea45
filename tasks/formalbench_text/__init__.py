"""Natural language: corpora from files, their objectives and metrics."""
