"""Reading probes: numbers off a network's `trace`, one per string, such as an attention weight.

A probe is a function of what a trace holds under the names that
`formalbench.contracts.network.Traceable` gives; it returns one series for each place it found,
and raises KeyError for what the trace lacks. Plugins announce probes; the host knows their names.

Legend: B strings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from formalbench.contracts.batch import Batch
from formalbench.contracts.errors import RequestError
from formalbench.contracts.example import tensors
from formalbench.contracts.network import Traceable
from formalbench.contracts.task import Task

Trace = Mapping[str, Tensor]
Series = dict[str, Tensor]
"""By place, as ``block.0.head.1``: one number per string, (B,)."""

Read = Callable[[Trace], Series]
"""A probe."""


def read_probe(name: str, read: Read, network: nn.Module, batch: Batch) -> Series:
    """Look into a network as it answers a batch; its mode and its gradients are the caller's.

    Args:
        name: of the probe, for errors.
        read: the probe.
        network: what to look into.
        batch: the strings.

    Raises:
        RequestError: if the network cannot be looked into, or has nothing of this kind.
    """
    kind = type(network).__name__
    if not isinstance(network, Traceable):
        raise RequestError(f"probe {name} looks into a network: {kind} has no trace")
    trace = network.trace(batch)
    try:
        return read(trace)
    except KeyError as error:
        raise RequestError(f"probe {name}: the trace of {kind} has no {error.args[0]}") from None


def count_series(probes: Mapping[str, Read], network: nn.Module, task: Task, length: int) -> int:
    """Return how many series probes read, by reading them on one string.

    Raises:
        RequestError: if they cannot be read.
    """
    if not probes:
        return 0
    batch = tensors(task.sample(task.stream("probe", length), length, 1)).batch
    with torch.no_grad():
        return sum(len(read_probe(name, read, network, batch)) for name, read in probes.items())
