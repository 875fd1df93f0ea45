"""Examples of a task, and batches of them.

Legend: B strings, N symbols, M answers said so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor


class Batch(NamedTuple):
    """Strings of one length, or padded ones with their lengths.

    A named tuple, so that `torch.func.vmap` and `torch.utils._pytree` see its tensors.

    Attributes:
        symbols: (B, N) int64, ids 0 … S-1. Positions at or past a string's own
            length hold 0 and must not change its outputs.
        lengths: (B,) int64 if the strings were padded on the right, else None. Only
            networks whose traits say ``padding`` are given padded strings.
        decoded: (B, M) int64, the answers that have been said so far; only for networks
            whose traits say ``encoder_decoder``, under the layout ``decoded``.
        asked: (B, N) bool, which answers count, if few do and the layout is ``each``. A network
            may ignore it, or return zeros for the other positions (`formalbench.read_asked`): with
            many tokens, the readout costs as much as the layers below. It is given in training
            only and never under `vmap`. In a test it would reveal which tokens are scored.
    """

    symbols: Tensor
    lengths: Tensor | None = None
    decoded: Tensor | None = None
    asked: Tensor | None = None


Layout = Literal["last", "each", "prefixes", "decoded"]
"""Where a network answers: ``last`` once per string, (B, K); ``each`` at every symbol,
(B, N, K); ``prefixes`` after every prefix, the empty one first, (B, N+1, K); ``decoded`` after
every prefix of what has been said so far, (B, M+1, K), for encoder-decoders; there the last
output says that the answer ends."""


class Example(NamedTuple):
    """Strings, and what is to be answered of them.

    An objective makes it of NumPy arrays; the engine moves it to a device, as tensors. A named
    tuple, so that `torch.func.vmap` sees what is in it.

    Attributes:
        inputs: (B, N) symbol ids. Positions at or past a string's own length hold 0.
        targets: the right answers, (B, …), as the objective has them.
        scored: which answers count, (B,) for the layout ``last`` and else (B, answers) bool;
            None for all of them.
        lengths: (B,) if the strings were padded on the right, else None.
        decoded: (B, M), what has been said so far, for encoder-decoders, else None.
        known: what metrics must know of the strings beside the targets, by the metric's name.
    """

    inputs: Any
    targets: Any
    scored: Any = None
    lengths: Any = None
    decoded: Any = None
    known: Mapping[str, Any] = {}

    @property
    def batch(self) -> Batch:
        """The part of it that a network is given."""
        return Batch(self.inputs, self.lengths, self.decoded)

    def map(self, change: Callable[[Any], Any]) -> Example:
        """Return it with every array changed; what is None stays None."""
        plain = [part if part is None else change(part) for part in self[:5]]
        known = {name: change(part) for name, part in self.known.items()}
        return Example._make((*plain, known))

    def fields(self) -> Iterator[tuple[str, Any]]:
        """Yield name and array of each of its parts that is there, but for what is known."""
        for name, part in zip(self._fields[:5], self[:5], strict=True):
            if part is not None:
                yield name, part

    def rows(self, rows: slice | npt.NDArray[Any]) -> Example:
        """Return some of its strings."""
        return self.map(lambda part: part[rows])

    @property
    def length(self) -> int:
        """The length of the strings; the longest, if they were padded."""
        return int(self.inputs.shape[1])


def tensors(example: Example, device: Any = None) -> Example:
    """Return an example of NumPy arrays as tensors on a device, integers in 64 bits."""
    import torch

    def moved(array: npt.NDArray[Any]) -> Tensor:
        tensor = torch.from_numpy(array).to(device)
        return tensor.long() if array.dtype.kind in "iu" else tensor

    return example.map(moved)


def stack(examples: Sequence[Example]) -> Example:
    """Return examples as one with a new first dimension (a run each).

    Their strings and targets have equal shapes; only the answers of the layout ``decoded`` may be
    of different lengths, and are padded with zeros.
    """
    import numpy as np

    return _joined(examples, lambda parts: np.stack(_alike(parts)))


def pad(examples: Sequence[Example], layout: Layout) -> Example:
    """Return examples of NumPy arrays as one, padded with zeros on the right.

    Args:
        examples: each of strings of one length, or padded already.
        layout: says where answers stand, and so which of them are padding.

    Returns:
        One with `lengths` and, unless the layout is ``last``, with `scored`.
    """
    import numpy as np

    whole = [_with_lengths(example, layout) for example in examples]
    return _joined(whole, lambda parts: np.concatenate(_alike(parts)))


def _alike(parts: Sequence[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Return arrays padded with zeros to the greatest shape among them, but for the first axis."""
    import numpy as np

    if all(part.shape[1:] == parts[0].shape[1:] for part in parts):
        return list(parts)
    most = [max(part.shape[axis] for part in parts) for axis in range(1, parts[0].ndim)]
    return [
        np.pad(part, [(0, 0), *((0, m - n) for m, n in zip(most, part.shape[1:], strict=True))])
        for part in parts
    ]


def split(example: Example, layout: Layout) -> list[Example]:
    """Return padded strings as one example for each length, without padding.

    Strings keep their order. Targets, and what is known of strings, are cut if they have a place
    for every answer. It takes tensors, too.

    Args:
        example: returned as it is if it has no `lengths`.
        layout: says where answers stand.
    """
    if example.lengths is None:
        return [example]
    of_string = [int(length) for length in example.lengths]
    parts = []
    for length in sorted(set(of_string)):
        rows = [row for row, own in enumerate(of_string) if own == length]
        parts.append(_without_padding(example.map(itemgetter(rows)), length, layout))
    return parts


def _without_padding(example: Example, length: int, layout: Layout) -> Example:
    """Return strings that all have one length without what is behind them."""
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


def _joined(
    examples: Sequence[Example],
    join: Callable[[Sequence[npt.NDArray[Any]]], npt.NDArray[Any]],
) -> Example:
    first = examples[0]
    plain = {name: join([getattr(e, name) for e in examples]) for name, _ in first.fields()}
    known = {name: join([e.known[name] for e in examples]) for name in first.known}
    return first._replace(**plain, known=known)
