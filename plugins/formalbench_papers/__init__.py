"""The papers' experiments, measured anew: a framework, and a folder a paper."""
