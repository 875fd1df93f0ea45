"""Finite automata, from expressions and files to samples."""
