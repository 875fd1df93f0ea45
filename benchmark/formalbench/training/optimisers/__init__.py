"""Optimisers, one a file; they are announced like a stranger's."""

from formalbench.training.optimisers.adam import Adam
from formalbench.training.optimisers.adamw import AdamW
from formalbench.training.optimisers.sgd import Sgd

__all__ = ["Adam", "AdamW", "Sgd"]
