"""Languages that no finite automaton recognises."""
