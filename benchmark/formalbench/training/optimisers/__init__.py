"""Optimisers, one a file; they are announced like a stranger's."""

from formalbench.training.optimisers.adam import Adam
from formalbench.training.optimisers.adamw import AdamW
from formalbench.training.optimisers.lion import Lion
from formalbench.training.optimisers.muon import Muon
from formalbench.training.optimisers.sgd import Sgd

__all__ = ["Adam", "AdamW", "Lion", "Muon", "Sgd"]
