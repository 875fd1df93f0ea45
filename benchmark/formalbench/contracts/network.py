"""The interface of networks, and alphabets with additional symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.example import Batch


class ExtendedAlphabet:
    """A task's alphabet with extra symbols appended.

    Args:
        size: the number of the task's own symbols (ids 0 … size-1).
        *extra: names of the added symbols, which get the next ids in order.

    Example:
        >>> ExtendedAlphabet(2, "cls", "pad")["pad"]
        3
    """

    def __init__(self, size: int, *extra: str) -> None:
        self._ids = {name: size + index for index, name in enumerate(extra)}
        self.size = size + len(extra)

    def __getitem__(self, name: str) -> int:
        """Return the id of an added symbol."""
        return self._ids[name]

    def prepend(self, symbols_BN: Tensor, name: str, count: int = 1) -> Tensor:
        """Prepend `count` copies of an added symbol; returns (B, count+N) ids."""
        front = symbols_BN.new_full((symbols_BN.shape[0], count), self._ids[name])
        return _concatenate(front, symbols_BN)

    def append(self, symbols_BN: Tensor, name: str, count: int = 1) -> Tensor:
        """Append `count` copies of an added symbol; returns (B, N+count) ids."""
        back = symbols_BN.new_full((symbols_BN.shape[0], count), self._ids[name])
        return _concatenate(symbols_BN, back)


def _concatenate(left: Tensor, right: Tensor) -> Tensor:
    import torch  # here, so that listing plugins does not import it

    return torch.cat((left, right), dim=1)


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """Parameters with their own learning rate or weight decay.

    Attributes:
        names: shell patterns of parameter names, such as ``*.log_step``.
        rate: factor on the protocol's learning rate.
        weight_decay: replaces the protocol's; None keeps it.
    """

    names: tuple[str, ...]
    rate: float = 1.0
    weight_decay: float | None = None


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a network: its attribute ``traits`` (default: all defaults).

    Attributes:
        backbone: D, if `forward` returns states (B, N, D) of the N symbols instead of logits; the
            engine then adds a readout (`formalbench.readout.Readout`). 0 otherwise.
        causal: whether answers never depend on later symbols.
        padding: whether `forward` takes padded batches (`Batch.lengths`).
        encoder_decoder: whether it takes `Batch.decoded` and answers the layout ``decoded``, and
            no other. A family that supports both sets this only for tasks of that layout.
        vmap: whether it runs under `torch.func.vmap`. Networks with custom kernels or random
            numbers (dropout) may not. Their cohorts train run by run: the same numbers, slower.
        cpu_cohort: the number of runs from which training them together is faster on a CPU, for
            small networks; 0 for never. (On a GPU they train together if they can.)
        groups: parameters with their own rate or weight decay.
        symbol_embedding: the name of the `torch.nn.Embedding` with a row per symbol, if there are
            several embeddings. It is needed to measure the influence of a symbol on the answer.
        eigenvalues: range of the eigenvalues of a linear recurrence's transitions, such as
            ``[0, 1]`` or ``[-1, 1]``, which theorems depend on. For products it is the range of
            each factor; the product may be complex. Empty if there are none.
        mechanisms: its parts in the vocabulary of `formalbench.theory.theorems`, such as
            ``softmax-attention``. They decide which theorems apply.
        lengths: smallest and largest supported string length; None for no bound.
        constants: of an exact model's formulas (``c``, ``eta``, …), as they act on the logits.
        depth: number of layers; if it grows with the string, a function of the length.
        width: numbers per position.
        notes: more facts about its size, by name.
    """

    backbone: int = 0
    causal: bool = True
    padding: bool = False
    encoder_decoder: bool = False
    vmap: bool = True
    cpu_cohort: int = 0
    groups: tuple[ParameterGroup, ...] = ()
    symbol_embedding: str = ""
    eigenvalues: str = ""
    mechanisms: tuple[str, ...] = ()
    lengths: tuple[int, int | None] = (0, None)
    constants: Mapping[str, float] = field(default_factory=dict)
    depth: int | Callable[[int], int] | None = None
    width: int | None = None
    notes: Mapping[str, int | str] = field(default_factory=dict)


_DEFAULT = Traits()


def traits_of(network: object) -> Traits:
    """Return a network's traits.

    Raises:
        TypeError: if its attribute ``traits`` is something else.
    """
    traits = getattr(network, "traits", _DEFAULT)
    if not isinstance(traits, Traits):
        raise TypeError(f"traits is a {type(traits).__name__}, not a formalbench.Traits")
    return traits


class Network(Protocol):
    """The interface that the engine requires of a `torch.nn.Module`.

    `forward` has no data-dependent control flow, mutates nothing, and creates
    tensors only in its parameters' dtype and device, so that fp64, bf16, CUDA graphs and `vmap`
    work. Its `traits` state what else it supports.

    The engine sets `under_vmap = True` on the copy of a network that it calls under `vmap`,
    for those that also have a kernel that `vmap` refuses.
    """

    def forward(self, batch: Batch) -> Tensor:
        """Return logits: (B, K) for the layout ``last``, (B, N, K) for ``each``,
        (B, N+1, K) for ``prefixes``, (B, M+1, K) for ``decoded``; for a backbone, states (B, N, D).
        """  # noqa: D205 ...


Kept = tuple["Tensor", ...]
"""State of a network after strings and the answers generated so far: tensors (B, …)."""


@runtime_checkable
class Stepwise(Protocol):
    """An encoder-decoder that generates an answer symbol by symbol and keeps its state.

    Its answers must be those of `forward`, which the engine calls for other networks.
    """

    def begin(self, batch: Batch) -> Kept:
        """Encode strings, before any answer is generated."""
        ...

    def next(self, kept: Kept, said_B: Tensor | None) -> tuple[Tensor, Kept]:
        """Read one more symbol of each answer and return the logits of the next one.

        Args:
            kept: state from `begin` or the last call; its rows may have been reordered or repeated.
            said_B: the symbol; None at the first step.

        Returns:
            Logits of the next symbol (B, K), and the new state.
        """
        ...


@runtime_checkable
class Stateful(Protocol):
    """A network that reports the size of the state that it keeps to read the next symbol."""

    def state_size(self, length: int) -> int:
        """Return the number of values kept after a string of this length."""
        ...


@runtime_checkable
class Traceable(Protocol):
    """A network that returns its intermediate tensors."""

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return named tensors (attention weights, hidden states), outside training.

        Names are free, except for these, which probes read (`formalbench.probes`):

        * ``….attention`` with four dimensions, (B, H, M, M): the weights of each head, from
          every position (third) to every position (last);
        * ``answer.position``, (B,): the position from which a string's only answer is read;
        * ``first.position``, (B,): the position of a string's first symbol.
        """
        ...
