"""A network in a sandbox: it receives strings and returns only logits.

The judging process has the labels and never runs the network's code; the sandbox has no labels. An
encoder-decoder receives correct answers when its cross-entropy is measured, so the judging process
asks for the network's own answers first.
"""

from __future__ import annotations

import contextlib
import copy
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import Batch, Traits, traits_of
from formalbench.contracts.task import expected_shape
from formalbench.device import forward_in, multiplying, own_numerics
from formalbench.running.sandbox import NoAnswerError, Report, Sandbox
from formalbench.running.worker import load_host
from formalbench.store.weights import build_network, network_from, pack

if TYPE_CHECKING:
    from formalbench.contracts.protocol import Protocol
    from formalbench.contracts.record import ModelUsed, TaskUsed
    from formalbench.contracts.task import Task
    from formalbench.host import LocalPlugin, PluginHost


@dataclass(frozen=True)
class NetworkQuestion:
    """The network that a sandbox builds; plain data that contains no results.

    Attributes:
        model, task: as records name them.
        protocol: None for a network that is verified and not trained.
        weights: the contents of the weights file; None for the weights that the model builds.
    """

    model: ModelUsed
    task: TaskUsed
    protocol: Protocol | None
    seed: int
    plugins: tuple[LocalPlugin, ...]
    device: str
    weights: bytes | None = None

    @property
    def home(self) -> object:
        """The code, except formalbench's own, that a process runs for this network."""
        return self.model.source.distribution, self.task.source.distribution, self.plugins


class RemoteNetwork(nn.Module):
    """A network in a sandbox, which is evaluated batch by batch.

    Its one parameter has the size of all parameters in the sandbox together, but no storage.
    """

    def __init__(self, remote: _Remote, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.remote, self.dtype, self.traits = remote, dtype, remote.traits
        self.numbers = nn.Parameter(torch.empty(remote.size, device="meta"), requires_grad=False)

    def double(self) -> RemoteNetwork:
        """Return the same network in double precision; this one is unchanged."""
        return RemoteNetwork(self.remote, torch.float64)

    def to(self, *device: object, **keys: Any) -> RemoteNetwork:
        """Return the same network in another dtype; its device is set when it is built."""
        return RemoteNetwork(self.remote, keys.get("dtype", self.dtype))

    def __deepcopy__(self, memo: object) -> RemoteNetwork:
        return self  # the network itself is in the sandbox

    def forward(self, batch: Batch) -> Tensor:
        """Return the logits, in fp32 or fp64."""
        return self.remote.answer(batch, str(self.dtype).removeprefix("torch."))


def build_remotely(
    sandbox: Sandbox, question: NetworkQuestion, task: Task, precision: str = "fp32"
) -> RemoteNetwork:
    """Build a network in a sandbox; it replaces the previous network there.

    Raises:
        RequestError: one line, if the network cannot be built. The returned network also raises it
            if the sandbox does not answer.
    """
    with _checked("building its network"):
        return RemoteNetwork(_Remote(sandbox, question, task, precision))


class _Remote:
    """A network's process, which serves one thread at a time."""

    def __init__(
        self, sandbox: Sandbox, question: NetworkQuestion, task: Task, precision: str
    ) -> None:
        self._sandbox, self._home, self._task = sandbox, question.home, task
        self._precision, self._lock = precision, threading.Lock()
        sandbox.holder = self
        facts = sandbox.ask(_build, question)
        self.size, self.is_kept = int(facts["size"]), bool(facts["is_kept"])
        least, greatest = facts["lengths"]
        self.traits = Traits(
            padding=bool(facts["padding"]),
            encoder_decoder=bool(facts["encoder_decoder"]),
            causal=bool(facts["causal"]),
            lengths=(int(least), None if greatest is None else int(greatest)),
            constants={str(name): float(one) for name, one in facts["constants"].items()},
            depth=self._depth if facts["depth"] == "by length" else _integer(facts["depth"]),
            width=_integer(facts["width"]),
        )

    def answer(self, batch: Batch, dtype: str) -> Tensor:
        if self._sandbox.holder is not self:
            raise RuntimeError("another network was built in its place")
        shape = expected_shape(self._task, batch)
        arrays = tuple(None if part is None else part.cpu().numpy() for part in batch)
        question = _Strings(self._home, arrays, dtype, self._precision)
        with self._lock, _checked("answering strings"):
            if self._home in self._sandbox.lost:  # a call of another thread ended the process
                raise self._sandbox.lost[self._home]
            answer = self._sandbox.ask(_answer, question, most=8 * math.prod(shape))
            return _logits(answer, shape).to(batch.symbols.device)

    def _depth(self, length: int) -> int:
        with self._lock, _checked("telling its depth"):
            return int(self._sandbox.ask(_depth, _Length(self._home, length)))


def _integer(value: Any) -> int | None:
    return None if value is None else int(value)


def _logits(answer: bytes, shape: tuple[int, ...]) -> Tensor:
    """Return bytes as a tensor of a shape."""
    width = np.float64 if len(answer) == 8 * math.prod(shape) else np.float32
    return torch.from_numpy(np.frombuffer(answer, width).reshape(shape).copy())


@contextlib.contextmanager
def _checked(step: str) -> Iterator[None]:
    """Raise a one-line error if the sandbox fails or sends an invalid answer."""
    try:
        yield
    except NoAnswerError as error:
        raise RequestError(str(error)) from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        raise RequestError(f"{step}: its code sent something else") from None


# The code below runs in the sandbox.


@dataclass(frozen=True)
class _Strings:
    """A batch of strings to compute logits for."""

    home: object
    batch: tuple[np.ndarray[Any, Any] | None, ...]
    dtype: str
    precision: str


@dataclass(frozen=True)
class _Length:
    """A length for which the network's depth is requested."""

    home: object
    length: int


_built: dict[str, nn.Module] = {}
"""The network of this process and its copies, by dtype."""


def _build(question: NetworkQuestion, report: Report) -> dict[str, Any]:
    report("loading its plugins")
    host = load_host(question.plugins)
    torch.set_num_threads(1)  # so that logits equal those of a run
    report("building its network")
    network = _network(host, question)
    traits = traits_of(network)
    _built.clear()
    _built["float32"] = network.to(question.device).eval()
    return {
        "size": sum(parameter.numel() for parameter in network.parameters()),
        "is_kept": pack(network) is not None,
        "padding": traits.padding,
        "encoder_decoder": traits.encoder_decoder,
        "causal": traits.causal,
        "lengths": traits.lengths,
        "constants": dict(traits.constants),
        "depth": "by length" if callable(traits.depth) else traits.depth,
        "width": traits.width,
    }


def _network(host: PluginHost, question: NetworkQuestion) -> nn.Module:
    if question.weights is None or question.protocol is None:
        return build_network(host, question, question.protocol)
    return network_from(host, question, question.weights, "its weights", question.protocol)


@own_numerics()
@torch.no_grad()
def _answer(question: _Strings, report: Report) -> bytes:
    report("answering strings")
    if question.dtype not in _built:
        network = copy.deepcopy(_built["float32"])
        _built[question.dtype] = network.to(getattr(torch, question.dtype))
    network = _built[question.dtype]
    device = next((part.device for part in network.parameters()), torch.device("cpu"))
    parts = [None if one is None else torch.from_numpy(one).to(device) for one in question.batch]
    batch = Batch._make(parts)
    with multiplying(question.precision), forward_in(question.precision, device):
        logits: Tensor = network(batch)
    wide = logits if logits.dtype == torch.float64 else logits.float()
    return wide.cpu().contiguous().numpy().tobytes()


def _depth(question: _Length, report: Report) -> int:
    depth = traits_of(_built["float32"]).depth
    assert callable(depth)
    return depth(question.length)
