"""The built-in objectives, one file each."""
