"""Natural language: corpora from files, and what is asked of them."""
