"""The language that constructions are written in: coordinates, heads, hidden units, positions.

A construction is data: a residual stream whose coordinates have names, attention heads and
feed-forward layers given by the coordinates they read and write. It reads like its paper, can be
transformed (`transforms`), described, and compiled (`network.HandWritten`).

Every layer *adds* what its heads and feed-forward networks write to the stream, as the residual
connections of a Transformer do; a network without them is one whose feed-forward layer
`replaces` coordinates.

Positions count from 0, added symbols (CLS, BOS, END) too, and n is their number, added ones too.

Each takes i as (M,) int64 and n, both with added symbols, and returns (M,) in fp64: correctly
rounded quotients, and signs instead of cosines of multiples of π. The network rounds them to its
own precision, and nothing else ever does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from formalbench import Traits
from torch import Tensor

Form = Mapping[str, float]
"""A linear form on the stream: coordinate -> coefficient. The key `ONE` is a constant."""

ONE = "one"
"""The constant 1 in a `Form`: a bias. No coordinate may have this name.

A construction that is to survive layer norm uses none: constants do not scale with the rest.
"""

Code = Callable[["Tensor", int], "Tensor"]
"""A position code: (i (M,) int64, n) -> (M,) fp64; the usual ones come last."""

Mask = Literal["none", "future", "past"]
"""What is hidden from a query: nothing, the positions behind it, or those before it."""


def form(what: str | Form) -> Form:
    """Return a coordinate's name as a form; a form as it is."""
    return {what: 1.0} if isinstance(what, str) else what


def add(*forms: str | Form) -> Form:
    """Return the sum of forms."""
    total: dict[str, float] = {}
    for each in forms:
        for name, factor in form(each).items():
            total[name] = total.get(name, 0.0) + factor
    return total


def times(factor: float, what: str | Form) -> Form:
    """Return a form multiplied by a number."""
    return {name: factor * old for name, old in form(what).items()}


@dataclass(frozen=True)
class Position:
    """A position code and the coordinates it is written to.

    Attributes:
        code: the function of (i, n).
        writes: coordinate -> factor.
    """

    code: Code
    writes: Form


@dataclass(frozen=True)
class Head:
    """An attention head: values averaged with weights softmax(scale · query·key), or hardmax.

    There is no hidden division by the square root of a width: query·key is the logit. A query
    from which everything is hidden gets zero.

    Attributes:
        name: for traces.
        values: coordinate written -> the form that is averaged.
        query: a form for each dimension of queries and keys. If none of them reads a coordinate,
            all queries are the same one, and the head costs O(n).
        key: the same for keys, as many. Without queries and keys attention is uniform.
        attention: ``soft``, or ``hard``: of several keys with the (exactly) largest score the
            first one.
        mask: what is hidden from a query.
        strict: whether the query's own position is hidden too (only with a mask).
        scale: multiplies the logits (an inverse temperature); a number or a function of n.
        log_length: whether logits are multiplied by ln of the number of attended positions too
            (Chiang & Cholak 2022, eq. 1).
    """

    name: str
    values: Mapping[str, Form]
    query: tuple[Form, ...] = ()
    key: tuple[Form, ...] = ()
    attention: Literal["soft", "hard"] = "soft"
    mask: Mask = "none"
    strict: bool = False
    scale: float | Callable[[int], float] = 1.0
    log_length: bool = False

    def __post_init__(self) -> None:
        if len(self.query) != len(self.key):
            raise ValueError(f"head {self.name}: {len(self.query)} queries, {len(self.key)} keys")
        if self.strict and self.mask == "none":
            raise ValueError(f"head {self.name}: strict without a mask")

    @property
    def same_for_every_query(self) -> bool:
        """Whether no query reads a coordinate."""
        return all(set(each) <= {ONE} for each in self.query)


@dataclass(frozen=True)
class HiddenUnit:
    """A hidden unit of a feed-forward layer: max(0, reads) · writes.

    Attributes:
        reads: the form before the ReLU.
        writes: coordinate -> factor.
    """

    reads: Form
    writes: Form


@dataclass(frozen=True)
class FeedForward:
    """A two-layer ReLU network; `+` puts two beside each other in one layer.

    Attributes:
        units: the hidden layer.
        constants: coordinate -> what is added to it (the bias of the second layer).
        replaces: coordinates that lose their old value (no residual connection there).
        norm: ε of a layer norm over the hidden units before the ReLU; None for none.
    """

    units: tuple[HiddenUnit, ...] = ()
    constants: Form = field(default_factory=dict)
    replaces: tuple[str, ...] = ()
    norm: float | None = None

    def __add__(self, other: FeedForward) -> FeedForward:
        """Put another network beside this one."""
        if self.norm is not None or other.norm is not None:
            raise ValueError("a layer norm over hidden units sees them all: write one network")
        return FeedForward(
            self.units + other.units,
            add(self.constants, other.constants),
            (*self.replaces, *(name for name in other.replaces if name not in self.replaces)),
        )


@dataclass(frozen=True)
class Layer:
    """Heads side by side, then feed-forward networks one after the other.

    With layer norm, one follows the heads (be there any or not) and one each network.

    Attributes:
        heads: their outputs add up.
        feed_forwards: the papers' blocks have one; a deeper one is several in a row.
    """

    heads: tuple[Head, ...] = ()
    feed_forwards: tuple[FeedForward, ...] = (FeedForward(),)


@dataclass(frozen=True)
class Construction:
    """A whole network.

    Attributes:
        coordinates: the names of the residual stream's coordinates, in order.
        symbols: the embedding: the symbol as people see it, or the name of an added one, ->
            coordinate -> value.
        layers: from the bottom up.
        logits: the output layer, a form for each output. A recogniser with one logit s has
            ``({}, s)``, so that s = 0 is a reject.
        positions: position codes, added to the embedding.
        begin: the symbol added in front of a string; empty for none.
        end: the symbol added behind it; empty for none.
        read: where the output layer looks: at the ``first`` position, the ``last``, at ``each``
            symbol of the string, or at all ``prefixes`` (the added begin symbol, then each).
        norm: ε of the layer norm after every residual connection (γ = 1, β = 0); None for none.
        constants: the constants of the paper's formulas, as they act on the logits.
        lengths: the least and the greatest length of a string, None for no bound.
        precision: what precision it needs, in words.
    """

    coordinates: tuple[str, ...]
    symbols: Mapping[str, Form]
    layers: tuple[Layer, ...]
    logits: tuple[Form, ...]
    positions: tuple[Position, ...] = ()
    begin: str = ""
    end: str = ""
    read: Literal["first", "last", "each", "prefixes"] = "first"
    norm: float | None = None
    constants: Mapping[str, float] = field(default_factory=dict)
    lengths: tuple[int, int | None] = (0, None)
    precision: str = ""

    def __post_init__(self) -> None:
        if ONE in self.coordinates or len(set(self.coordinates)) < len(self.coordinates):
            raise ValueError(f"coordinates: a name twice, or {ONE!r}: {self.coordinates}")

    @property
    def traits(self) -> Traits:
        """What a network built from it is: its notes are heads (the most in a layer), hidden units
        and precision.
        """  # noqa: D205
        heads = [head for layer in self.layers for head in layer.heads]
        networks = [network for layer in self.layers for network in layer.feed_forwards]
        return Traits(
            causal=self.read == "prefixes" and all(head.mask == "future" for head in heads),
            lengths=self.lengths,
            constants=dict(self.constants),
            depth=len(self.layers),
            width=len(self.coordinates),
            notes={
                "heads": max((len(layer.heads) for layer in self.layers), default=0),
                "hidden": max((len(network.units) for network in networks), default=0),
                "precision": self.precision,
            },
        )


def names(prefix: str, which: Sequence[object] | int) -> tuple[str, ...]:
    """Return coordinate names ``prefix.0``, ``prefix.1``, …, or one for each of `which`."""
    each = range(which) if isinstance(which, int) else which
    return tuple(f"{prefix}.{one}" for one in each)


def fraction(i_M: Tensor, n: int) -> Tensor:
    """Return i/n, correctly rounded in fp64."""
    return i_M.double() / n


def alternating(i_M: Tensor, n: int) -> Tensor:
    """Return cos iπ: +1 at even positions, -1 at odd ones."""
    return (1 - 2 * (i_M % 2)).double()


def is_first_symbol(i_M: Tensor, n: int) -> Tensor:
    """Return I[i = 1]: the first symbol behind CLS (Chiang & Cholak 2022, §2.3)."""
    return (i_M == 1).double()


def rounded(code: Code, bits: int) -> Code:
    """Return another code rounded to multiples of 2^-bits."""

    def coarse(i_M: Tensor, n: int) -> Tensor:
        return (code(i_M, n) * 2.0**bits).round() * 2.0**-bits

    return coarse
