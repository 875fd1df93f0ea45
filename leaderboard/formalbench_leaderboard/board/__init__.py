"""Boards: built from records, with theory and published numbers for comparison."""
