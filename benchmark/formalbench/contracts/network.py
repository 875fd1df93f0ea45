"""What a network is given, examples and batches of them, and what it must be.

Legend: B strings, N symbols, M answers generated so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor


class Batch(NamedTuple):
    """Strings of one length, or padded ones with their lengths.

    A named tuple, so that `torch.func.vmap` and `torch.utils._pytree` see its tensors.

    Attributes:
        symbols: (B, N) int64, ids 0 … S-1. Positions at or past a string's own
            length hold 0 and must not change its outputs.
        lengths: (B,) int64 if the strings were padded on the right, else None. Only networks with
            the trait ``padding`` get padded strings.
        decoded: (B, M) int64, the answers generated so far; only for networks with the trait
            ``encoder_decoder``, under the layout ``decoded``.
        asked: (B, N) bool, which answers are scored, if few are and the layout is ``each``. A
            network may ignore it, or return zeros for the other positions
            (`formalbench.read_asked`): with many tokens, the readout costs as much as the layers
            below. It is given in training only and never under `vmap`. In a test it would reveal
            which tokens are scored.
    """

    symbols: Tensor
    lengths: Tensor | None = None
    decoded: Tensor | None = None
    asked: Tensor | None = None


Layout = Literal["last", "each", "prefixes", "decoded"]
"""Where a network answers: ``last`` once per string, (B, K); ``each`` at every symbol,
(B, N, K); ``prefixes`` after every prefix, the empty one first, (B, N+1, K); ``decoded`` after
every prefix of the answer so far, (B, M+1, K), for encoder-decoders, where the last output marks
the end of the answer."""


class Example(NamedTuple):
    """Strings with targets.

    Objectives create it from NumPy arrays; the engine moves it to a device as tensors. A named
    tuple, so that `torch.func.vmap` sees its tensors.

    Attributes:
        inputs: (B, N) symbol ids. Positions at or past a string's own length hold 0.
        targets: correct answers (B, …), in the objective's format.
        scored: bool, which answers are scored: (B,) for the layout ``last``, else (B, answers);
            None for all.
        lengths: (B,) if the strings were padded on the right, else None.
        decoded: (B, M), the answers generated so far, for encoder-decoders, else None.
        known: additional data that metrics need, by the metric's name.
    """

    inputs: Any
    targets: Any
    scored: Any = None
    lengths: Any = None
    decoded: Any = None
    known: Mapping[str, Any] = {}

    @property
    def batch(self) -> Batch:
        """The network's input."""
        return Batch(self.inputs, self.lengths, self.decoded)

    def map(self, change: Callable[[Any], Any]) -> Example:
        """Apply a function to every array; None stays None."""
        plain = [part if part is None else change(part) for part in self[:5]]
        known = {name: change(part) for name, part in self.known.items()}
        return Example._make((*plain, known))

    def fields(self) -> Iterator[tuple[str, Any]]:
        """Yield name and array of each field that is not None, except `known`."""
        for name, part in zip(self._fields[:5], self[:5], strict=True):
            if part is not None:
                yield name, part

    def rows(self, rows: slice | npt.NDArray[Any]) -> Example:
        """Return the example restricted to some strings."""
        return self.map(lambda part: part[rows])

    @property
    def length(self) -> int:
        """Length of the strings; of padded ones, the greatest."""
        return int(self.inputs.shape[1])


def tensors(example: Example, device: Any = None) -> Example:
    """Convert NumPy arrays to tensors on a device, integers to 64 bits."""
    import torch

    def convert(array: npt.NDArray[Any]) -> Tensor:
        tensor = torch.from_numpy(array).to(device)
        return tensor.long() if array.dtype.kind in "iu" else tensor

    return example.map(convert)


def stack(examples: Sequence[Example]) -> Example:
    """Stack examples along a new first dimension (one run each).

    Strings and targets have equal shapes; only answers of the layout ``decoded`` may have different
    lengths and are padded with zeros.
    """
    import numpy as np

    return _combine(examples, lambda parts: np.stack(_pad_arrays(parts)))


def pad(examples: Sequence[Example], layout: Layout) -> Example:
    """Concatenate examples of NumPy arrays, padded with zeros on the right.

    Args:
        examples: each has strings of one length, or is padded already.
        layout: position of the answers; decides which of them are padding.

    Returns:
        An example with `lengths` and with `scored`; for the layout ``last`` only if an example
        has it.
    """
    import numpy as np

    whole = [_with_lengths(example, layout) for example in examples]
    return _combine(whole, lambda parts: np.concatenate(_pad_arrays(parts)))


def _pad_arrays(parts: Sequence[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Pad all axes except the first with zeros to the greatest size."""
    import numpy as np

    if all(part.shape[1:] == parts[0].shape[1:] for part in parts):
        return list(parts)
    most = [max(part.shape[axis] for part in parts) for axis in range(1, parts[0].ndim)]
    return [
        np.pad(part, [(0, 0), *((0, m - n) for m, n in zip(most, part.shape[1:], strict=True))])
        for part in parts
    ]


def split(example: Example, layout: Layout) -> list[Example]:
    """Split padded strings into one example per length, without padding.

    Strings keep their order. Arrays with a value per answer are cut as well. Accepts tensors, too.

    Args:
        example: returned as it is if it has no `lengths`.
        layout: position of the answers.
    """
    if example.lengths is None:
        return [example]
    lengths = [int(length) for length in example.lengths]
    parts = []
    for length in sorted(set(lengths)):
        rows = [row for row, own in enumerate(lengths) if own == length]
        parts.append(_without_padding(example.map(itemgetter(rows)), length, layout))
    return parts


def _without_padding(example: Example, length: int, layout: Layout) -> Example:
    """Cut the padding of strings that all have one length."""
    inputs = example.inputs[:, :length]
    if layout not in ("each", "prefixes"):
        return example._replace(inputs=inputs, lengths=None)
    beyond = layout == "prefixes"  # an answer more than symbols
    places, answers = example.length + beyond, length + beyond

    def cut(part: Any) -> Any:
        return part[:, :answers] if part.ndim > 1 and part.shape[1] == places else part

    scored = None if example.scored is None else example.scored[:, :answers]
    return Example(
        inputs,
        cut(example.targets),
        None if scored is None or bool(scored.all()) else scored,
        known={name: cut(part) for name, part in example.known.items()},
    )


def _with_lengths(example: Example, layout: Layout) -> Example:
    import numpy as np

    count, length = example.inputs.shape
    lengths = example.lengths
    if lengths is None:
        lengths = np.full(count, length, dtype=np.int64)
    scored = example.scored
    if scored is None and layout != "last":
        answers = {
            "each": length,
            "prefixes": length + 1,
            "decoded": 0 if example.decoded is None else example.decoded.shape[1] + 1,
        }[layout]
        scored = np.ones((count, answers), dtype=np.bool_)
    return example._replace(lengths=lengths, scored=scored)


def _with_scored(examples: Sequence[Example]) -> Sequence[Example]:
    """If an example says which answers are scored, let the others say that all of theirs are."""
    import numpy as np

    axes = next((example.scored.ndim for example in examples if example.scored is not None), None)
    if axes is None:
        return examples
    return [
        example._replace(scored=np.ones(example.targets.shape[:axes], dtype=np.bool_))
        if example.scored is None
        else example
        for example in examples
    ]


def _combine(
    examples: Sequence[Example],
    join: Callable[[Sequence[npt.NDArray[Any]]], npt.NDArray[Any]],
) -> Example:
    examples = _with_scored(examples)
    first = examples[0]
    plain = {name: join([getattr(e, name) for e in examples]) for name, _ in first.fields()}
    known = {name: join([e.known[name] for e in examples]) for name in first.known}
    return first._replace(**plain, known=known)


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
    if not isinstance(traits.backbone, int):
        raise TypeError(f"backbone is a {type(traits.backbone).__name__}: pass the width D")
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

        Names are free, except for these, which probes read (`formalbench.training.validation`):

        * ``….attention`` with four dimensions, (B, H, M, M): the weights of each head, from
          every position (third) to every position (last);
        * ``answer.position``, (B,): the position from which a string's only answer is read;
        * ``first.position``, (B,): the position of a string's first symbol.
        """
        ...
