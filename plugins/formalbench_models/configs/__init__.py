"""The options of the learned families, one file a family; nothing here imports torch."""
