"""Yang et al. (2025): PaTH attention."""
