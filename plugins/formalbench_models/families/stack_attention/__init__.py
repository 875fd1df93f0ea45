"""A transformer with a differentiable stack in the place of one attention."""
