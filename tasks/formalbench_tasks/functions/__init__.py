"""Functions from strings to strings, asked by `transduce`, and to classes, asked by `classify`."""
