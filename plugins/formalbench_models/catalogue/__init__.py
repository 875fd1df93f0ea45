"""Names, options and references of all models; no torch."""
