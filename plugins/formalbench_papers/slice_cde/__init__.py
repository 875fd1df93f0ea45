"""Walker et al. (2025): structured linear controlled differential equations (SLiCE)."""
