"""Exact models by name, and strings that are hard for them."""

from __future__ import annotations

from functools import cache

import torch
from formalbench.contracts.batch import Batch
from formalbench.contracts.stream import Stream
from formalbench.host import PluginHost

NORMS = (
    {},
    {"norm": True},
    {"eps": 0.0},
    {"eps": 0.1},
    {"eps": 0.0, "eta": 0.001},
    {"norm": True, "eta": 0.001},
)


@cache
def get_host():
    host = PluginHost()
    host.load_installed()
    return host


def make(model, language, options=None):
    """Return a network and its task."""
    task = get_host().task(language)
    return get_host().network(model, task, options or {}), task


def every_string(length):
    return (torch.arange(2**length)[:, None] >> torch.arange(length)) & 1


@torch.no_grad()
def judge(network, task, strings):
    """Return how many are wrong, each string's bits, and each one's logit."""
    targets = torch.from_numpy(task.language.classify(strings.numpy()))
    logits = network(Batch(strings))
    assert logits.isfinite().all()
    assert (logits[:, 0] == 0).all()
    right, bits = task.objective.score(logits.double(), targets)
    return int((~right).sum()), bits, logits[:, 1]


_STRINGS = {}


def hard_strings(task, length, count=12):
    """Return random strings, constant ones, one-hot ones, and the language's near misses."""
    key = (task.name, length, count)
    if key not in _STRINGS:  # drawing them takes longer than answering
        _STRINGS[key] = draw(task, length, count)
    return _STRINGS[key]


def draw(task, length, count):
    drawn = task.language.sample(Stream("hard", length), length, count)
    near = task.language.near_misses(Stream("near", length), length, count)
    one_hot = torch.zeros(3, length, dtype=torch.int64)
    one_hot[[0, 1, 2], [0, length // 2, -1]] = 1
    constant = torch.tensor([[0], [1]]).expand(2, length)
    parts = (torch.from_numpy(drawn), torch.from_numpy(near), one_hot, 1 - one_hot, constant)
    return torch.cat(parts)
