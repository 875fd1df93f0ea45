"""What is asked of a corpus: which token comes next, and which one was hidden."""
