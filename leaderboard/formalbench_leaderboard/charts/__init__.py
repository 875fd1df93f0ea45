"""The charts of the board, and the map of languages and models."""
