"""A language that must be counted, and a model that can only count."""
