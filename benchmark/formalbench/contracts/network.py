"""What a network is asked for, and alphabets with further symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from torch import Tensor

    from formalbench.contracts.example import Batch


class ExtendedAlphabet:
    """A task's alphabet with extra symbols after its own.

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
        """Return (B, count+N) ids with `count` copies of an added symbol in front."""
        front = symbols_BN.new_full((symbols_BN.shape[0], count), self._ids[name])
        return _concatenate(front, symbols_BN)

    def append(self, symbols_BN: Tensor, name: str, count: int = 1) -> Tensor:
        """Return (B, N+count) ids with `count` copies of an added symbol behind."""
        back = symbols_BN.new_full((symbols_BN.shape[0], count), self._ids[name])
        return _concatenate(symbols_BN, back)


def _concatenate(left: Tensor, right: Tensor) -> Tensor:
    import torch  # here, so that listing plugins does not import it

    return torch.cat((left, right), dim=1)


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """Parameters that train otherwise than the rest.

    Attributes:
        names: shell patterns of their names, as in ``*.log_step``.
        rate: times the protocol's learning rate.
        weight_decay: in the place of the protocol's; None for that.
    """

    names: tuple[str, ...]
    rate: float = 1.0
    weight_decay: float | None = None


@dataclass(frozen=True, slots=True)
class Traits:
    """What a network is. A module has one as its attribute ``traits``; without, the defaults.

    Attributes:
        backbone: D, if `forward` gives states (B, N, D) of the N symbols instead of logits: the
            engine then reads the answers off them (`formalbench.readout.Readout`). 0 if not.
        causal: whether an answer depends on no later symbol.
        padding: whether `forward` takes padded batches (`Batch.lengths`).
        encoder_decoder: whether it takes `Batch.decoded` and answers the layout ``decoded``, and
            no other. A family that does both says so on the tasks of that layout.
        vmap: whether it runs under `torch.func.vmap`. One with a kernel of its own, or that
            draws random numbers, as dropout does, may not: a cohort of it trains run by run,
            same numbers, slower.
        cpu_cohort: also on a CPU so many runs of it, or more, train faster as one program than
            one by one, as runs of small networks do; 0 for none. (On a GPU all do that can.)
        groups: parameters with a rate or a weight decay of their own.
        symbol_embedding: the name of the `torch.nn.Embedding` with a row per symbol, for
            networks that have others too; whoever asks how much a symbol moves the answer
            needs it.
        eigenvalues: of a linear recurrence's transitions, as ``[0, 1]`` or ``[-1, 1]``; theory
            speaks of them. Of transitions that are products, the range of each factor's: the
            product's own may be complex. Empty if there are none.
        mechanisms: what it is built of, in the words of `formalbench.theory.theorems`, as
            ``softmax-attention``: so that theorems can be found that speak of it.
        lengths: the least and the greatest string length it is made for; None for no bound.
        constants: of an exact model's formulas (``c``, ``eta``, …), as they act on the logits.
        depth: layers; if they grow with the string, a function of its length.
        width: numbers per position.
        notes: what else there is to say of its size, by name.
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
    """Return what a network says it is.

    Raises:
        TypeError: if its attribute ``traits`` is something else.
    """
    traits = getattr(network, "traits", _DEFAULT)
    if not isinstance(traits, Traits):
        raise TypeError(f"traits is a {type(traits).__name__}, not a formalbench.Traits")
    return traits


class Network(Protocol):
    """What the engine asks of a `torch.nn.Module`; any module with this `forward` is one.

    `forward` has no data-dependent control flow, mutates nothing, and creates
    tensors only in its parameters' dtype and device, so that fp64, bf16, CUDA graphs
    and `vmap` just work. What else it can do, its `traits` say.

    The engine sets `under_vmap = True` on the copy of a network that it calls under `vmap`,
    for those that also have a kernel that `vmap` refuses.
    """

    def forward(self, batch: Batch) -> Tensor:
        """Return logits: (B, K) for the layout ``last``, (B, N, K) for ``each``,
        (B, N+1, K) for ``prefixes``, (B, M+1, K) for ``decoded``; of a backbone, (B, N, D).
        """  # noqa: D205
        ...


Kept = tuple["Tensor", ...]
"""What a network keeps of strings and of what it has said of them: tensors (B, …)."""


@runtime_checkable
class Stepwise(Protocol):
    """An encoder-decoder that says an answer symbol by symbol without beginning anew each time.

    It must say what `forward` says; the engine calls `forward` of those that are not.
    """

    def begin(self, batch: Batch) -> Kept:
        """Read strings; nothing has been said yet."""
        ...

    def next(self, kept: Kept, said_B: Tensor | None) -> tuple[Tensor, Kept]:
        """Take one more symbol of each answer, and say what may follow.

        Args:
            kept: what `begin` or this returned; rows may be other rows' since, all tensors alike.
            said_B: the symbol; None where nothing has been said.

        Returns:
            The logits of what is next, (B, K), and what to keep.
        """
        ...


@runtime_checkable
class Stateful(Protocol):
    """A network that says how much it keeps of a string in order to read the next symbol."""

    def state_size(self, length: int) -> int:
        """Return how many numbers it keeps of a string with that many symbols."""
        ...


@runtime_checkable
class Traceable(Protocol):
    """A network that can be looked into."""

    def trace(self, batch: Batch) -> dict[str, Tensor]:
        """Return named tensors (attention weights, hidden states), outside training.

        Names are the network's own, but for those that probes read (`formalbench.probes`),
        where it has such a thing:

        * ``….attention`` with four dimensions, (B, H, M, M): the weights of each head, from
          every position (third) to every position (last);
        * ``answer.position``, (B,): the position that a string's one answer is read from;
        * ``first.position``, (B,): the position of a string's first symbol.
        """
        ...
