"""Training: from a cohort of runs to trained networks."""
