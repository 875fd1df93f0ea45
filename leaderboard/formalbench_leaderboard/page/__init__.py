"""The board as a web page: one folder that opens from disk, without a network."""
