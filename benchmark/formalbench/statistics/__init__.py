"""Records as numbers: which count, per model and task, with intervals; ranks and comparisons."""
