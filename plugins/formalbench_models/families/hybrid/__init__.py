"""Hybrids: blocks of several families in one network."""
