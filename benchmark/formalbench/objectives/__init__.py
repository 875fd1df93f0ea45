"""The objectives: what can be asked of a model about a source. One file each."""
