"""Delétang et al. (2023): neural networks and the Chomsky hierarchy; their numbers."""
