"""Exact models by name, and strings that are hard for them."""

from __future__ import annotations

from functools import cache

import torch
from formalbench.contracts.example import Batch, tensors
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.source import HasNearMisses, Stream
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


def ask(task, strings):
    """Return an example of these strings, as tensors."""
    return tensors(task.examples(strings.numpy()))


def is_right(task, logits, example):
    return task.objective.right(logits, example, task.primary)


def bits_of(task, logits, example):
    """Return each string's cross-entropy per answer."""
    (metric,) = (metric for metric in task.metrics if metric.name == CROSS_ENTROPY)
    return metric.bits(logits, example)


@torch.no_grad()
def judge(network, task, strings):
    """Return how many are wrong, each string's bits, and each one's logit."""
    example = ask(task, strings)
    logits = network(Batch(strings))
    assert logits.isfinite().all()
    assert (logits[:, 0] == 0).all()
    right = is_right(task, logits.double(), example)
    return int((~right).sum()), bits_of(task, logits.double(), example), logits[:, 1]


_STRINGS = {}


def hard_strings(task, length, count=12):
    """Return random strings, constant ones, one-hot ones, and the language's near misses."""
    key = (task.name, length, count)
    if key not in _STRINGS:  # drawing them takes longer than answering
        _STRINGS[key] = draw(task, length, count)
    return _STRINGS[key]


def draw(task, length, count):
    drawn = task.source.sample(Stream("hard", length), length, count)
    near = drawn[:0]
    if isinstance(task.source, HasNearMisses):
        near = task.source.near_misses(Stream("near", length), length, count)
    one_hot = torch.zeros(3, length, dtype=torch.int64)
    one_hot[[0, 1, 2], [0, length // 2, -1]] = 1
    constant = torch.tensor([[0], [1]]).expand(2, length)
    parts = (torch.from_numpy(drawn), torch.from_numpy(near), one_hot, 1 - one_hot, constant)
    return torch.cat(parts)
