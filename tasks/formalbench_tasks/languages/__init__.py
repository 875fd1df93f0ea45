"""Tasks in Python, one family a file: sampler, labels, oracle."""
