"""Probes: values computed from a network's trace. Two are built in.

A probe is a function of a trace with the names listed in `formalbench.contracts.network.Traceable`.
It returns one series per place, and raises KeyError if the trace lacks a tensor.

Legend: B strings, H heads, M positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn

from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch, Traceable, tensors
from formalbench.contracts.task import Task

Trace = Mapping[str, Tensor]

Series = dict[str, Tensor]
"""One number per string, (B,), by place such as ``block.0.head.1``."""

Read = Callable[[Trace], Series]
"""A probe."""


def read_probe(name: str, read: Read, network: nn.Module, batch: Batch) -> Series:
    """Compute probes of a network on a batch; the caller sets mode and gradients."""
    kind = type(network).__name__
    if not isinstance(network, Traceable):
        raise RequestError(f"probe {name} looks into a network: {kind} has no trace")
    trace = network.trace(batch)
    try:
        return read(trace)
    except KeyError as error:
        raise RequestError(f"probe {name}: the trace of {kind} has no {error.args[0]}") from None


def count_series(probes: Mapping[str, Read], network: nn.Module, task: Task, length: int) -> int:
    """Return the number of series, by computing the probes on one string."""
    if not probes:
        return 0
    batch = tensors(task.sample(task.stream("probe", length), length, 1)).batch
    with torch.no_grad():
        return sum(len(read_probe(name, read, network, batch)) for name, read in probes.items())


def attention_on_first(trace: Trace) -> Series:
    """Return the weight of the string's first symbol, by head."""
    at_B = trace["first.position"]
    return {
        place: weights_BM.gather(1, at_B[:, None]).squeeze(1)
        for place, weights_BM in _answer_attention(trace)
    }


def attention_entropy(trace: Trace) -> Series:
    """Return the entropy of the attention in bits, by head."""
    return {
        place: torch.special.entr(weights_BM).sum(1) / torch.log(weights_BM.new_tensor(2.0))
        for place, weights_BM in _answer_attention(trace)
    }


def _answer_attention(trace: Trace) -> Iterator[tuple[str, Tensor]]:
    """Return each head's attention weights from the answering position, (B, M)."""
    at_B = trace["answer.position"]
    suffix = ".attention"
    names = [name for name, t in trace.items() if name.endswith(suffix) and t.dim() == 4]
    if not names:
        raise KeyError("NAME.attention")
    rows_B = torch.arange(len(at_B), device=at_B.device)
    for name in names:
        for head, weights_BMM in enumerate(trace[name].unbind(1)):
            yield f"{name.removesuffix(suffix)}.head.{head}", weights_BMM[rows_B, at_B]
