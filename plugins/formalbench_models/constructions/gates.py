"""Logic and comparison gates as feed-forward pieces of one hidden layer each.

Source: Yao et al., "Self-attention networks can process bounded hierarchical languages" (2021),
Lemma A.1. Put several gates into one layer with `+`; a gate that reads another's output belongs
to the next. Inputs are coordinates or forms, so `negation` costs nothing. Outputs are *added* to
their coordinate: it must hold 0 before, or be replaced. Gates that exclude one another may share
an output, which then is their OR.

In print, SAME joins the bits with ∨; it must be ∧ (tests show why). The lemma composes SAME of
other gates; here the bits are read as a binary number and compared once, so that one hidden layer
does it. EQUAL and GREATERTHAN are 0 or 1 outside a gap, and a ramp within.
"""

from __future__ import annotations

from collections.abc import Sequence

from formalbench_models.constructions.construction import (
    ONE,
    FeedForward,
    Form,
    HiddenUnit,
    add,
    form,
    times,
)

Input = str | Form


def negation(what: Input) -> Form:
    """Return 1 - x, NOT of a bit, as a form for other gates to read."""
    return add({ONE: 1.0}, times(-1.0, what))


def and_gate(inputs: Sequence[Input], to: str) -> FeedForward:
    """Write AND of m bits: max(0, x_1 + … + x_m - m + 1)."""
    total = add(*inputs, {ONE: 1.0 - len(inputs)})
    return FeedForward((HiddenUnit(total, {to: 1.0}),))


def or_gate(inputs: Sequence[Input], to: str) -> FeedForward:
    """Write OR of bits: 1 - max(0, 1 - x_1 - … - x_m)."""
    return FeedForward((HiddenUnit(negation(add(*inputs)), {to: -1.0}),), constants={to: 1.0})


def greater_than_gate(x: Input, y: Input, to: str, gap: float = 1.0) -> FeedForward:
    """Write 1 if x ≥ y + gap, 0 if x ≤ y: (max(0, x-y) - max(0, x-y-gap)) / gap."""
    difference = add(x, times(-1.0, y))
    return _ramp(difference, to, 0.0, gap, 1.0)


def equal_gate(x: Input, y: Input, to: str, gap: float = 1.0, slack: float = 0.0) -> FeedForward:
    """Write 1 if |x - y| ≤ slack, 0 if |x - y| ≥ gap.

    Args:
        x: any number.
        y: any number.
        to: the coordinate written.
        gap: the least distance of different numbers.
        slack: the greatest distance of equal ones (their errors).
    """
    difference = add(x, times(-1.0, y))
    above = _ramp(difference, to, slack, gap, -1.0)
    below = _ramp(times(-1.0, difference), to, slack, gap, -1.0)
    return above + below + FeedForward(constants={to: 1.0})


def same_gate(xs: Sequence[Input], ys: Sequence[Input], to: str) -> FeedForward:
    """Write 1 if two vectors of bits are equal, else 0; without bits, 1."""
    if len(xs) != len(ys):
        raise ValueError(f"SAME compares vectors of one length, not {len(xs)} and {len(ys)}")
    return equal_gate(binary_number(xs), binary_number(ys), to)


def binary_number(bits: Sequence[Input]) -> Form:
    """Return x_0 + 2 x_1 + 4 x_2 + … as a form."""
    return add(*(times(2.0**power, bit) for power, bit in enumerate(bits)))


def copy_gate(what: Input, to: str, factor: float = 1.0) -> FeedForward:
    """Write factor · x, of either sign: max(0, x) - max(0, -x)."""
    plus = HiddenUnit(form(what), {to: factor})
    return FeedForward((plus, HiddenUnit(times(-1.0, what), {to: -factor})))


def clear_gate(*coordinates: str) -> FeedForward:
    """Set coordinates to 0 by subtracting their values in the residual connection."""
    cleared = FeedForward()
    for name in coordinates:
        cleared += copy_gate(name, name, -1.0)
    return cleared


def _ramp(what: Form, to: str, start: float, stop: float, height: float) -> FeedForward:
    """Write 0 up to `start`, `height` from `stop` on, and a line between."""
    if not start < stop:
        raise ValueError(f"a ramp from {start} to {stop}")
    slope = height / (stop - start)
    return FeedForward(
        (
            HiddenUnit(add(what, {ONE: -start}), {to: slope}),
            HiddenUnit(add(what, {ONE: -stop}), {to: -slope}),
        )
    )
