"""Linear attention, RetNet and gated linear attention."""
