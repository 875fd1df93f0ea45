"""Exact models by name, and strings that are hard for them."""

from functools import cache

import torch
from formalbench.contracts.network import Batch, tensors
from formalbench.contracts.objective import CROSS_ENTROPY
from formalbench.contracts.source import HasNearMisses, Stream
from formalbench.host import PluginHost
from formalbench.verification.strings import viable_only

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


def every_string(length, symbols=2):
    return torch.arange(symbols**length)[:, None] // symbols ** torch.arange(length) % symbols


def ask(task, strings):
    """Return an example of these strings, as tensors."""
    return tensors(task.examples(strings.numpy()))


def is_right(task, logits, example):
    return task.objective.right(logits, example, task.primary)


def least_margin(network, task, strings):
    """Check the answers to these strings, and return how far the nearest is from a wrong one."""
    with torch.no_grad():
        logits = network(Batch(strings)).double()
    example = ask(task, strings)
    right = is_right(task, logits, example)
    assert right.all(), f"wrong on {strings[~right][0].tolist()}"
    return task.objective.margin(logits, example, task.primary).min().item()


MOST_SHORT = 3000
"""Strings of one length that are all tried."""


def short_strings(task, length):
    """Return every string of a length; of those that are too many, and of none, none.

    What may follow is asked only of what some member begins with.
    """
    symbols = len(task.source.alphabet)
    if symbols**length > MOST_SHORT or (length == 0 and task.layout == "each"):
        return ()
    strings = every_string(length, symbols)
    if task.layout == "prefixes":
        return torch.from_numpy(viable_only(task.source, strings.numpy()))
    return strings


def hardest(task, length):
    """Return strings that are hard for a network, as its task asks them."""
    if task.objective.name == "classify":
        return hard_strings(task, length, count=6)
    return torch.from_numpy(task.sample(Stream("hard", length), length, 4).inputs)


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
