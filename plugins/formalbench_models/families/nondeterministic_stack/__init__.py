"""Recurrent network with a nondeterministic stack: every run of a pushdown automaton at once."""
