"""Dyck-1 and Dyck-(1, D) by counting.

Source: Steffen, Glaus & Saeedi, "Evaluating solutions to theoretical limitations of
self-attention for Dyck languages" (slides, 2022), who adapt Chiang & Cholak's transformers with
positional masking and an output layer. The weights here are our own; those of the report (§4),
whose output is a sum over all positions, are in `formalbench_papers.steffen.learnability`.

n counts CLS, position 0; d_i is the depth after symbol i, opening minus closing brackets.
"""

from __future__ import annotations

from formalbench_models.constructions.construction import (
    Construction,
    FeedForward,
    Form,
    Head,
    HiddenUnit,
    Layer,
)

_BRACKETS: Form = {"(": 1, ")": -1}


def dyck(most: int | None = None) -> Construction:
    """Return a recogniser of Dyck-1: two layers, two heads, width 10 (11 with a bound).

    In the first layer a head from which the future is hidden finds the depth d_i/(i+1), and one
    that sees everything finds d_N/n, and 1/n. The feed-forward network marks faults: a depth below
    0 and, if depth is bounded, one above D, which is compared with (D + 1/2)/(i+1) so that
    rounding errors are no faults. Each fault is at least 1/(i+1). In the second layer CLS averages
    the faults and, as a threshold, what only CLS itself holds, 1/n: the logit is

        1/(2n²) - mean of the faults - |d_N|/n.

    A member has no fault and ends at depth 0: its logit is 1/(2n²). Otherwise |d_N| ≥ 1, or some
    i ≤ n - 2 has a fault: then the logit is below -1/(2n²). No constants are used: it survives
    layer norm.

    Args:
        most: D ≥ 1, the greatest depth; None for no bound.
    """
    below = HiddenUnit({"depth": -1}, {"fault": 1})
    above = HiddenUnit({"depth": 1, "1/(i+1)": -((most or 0) + 0.5)}, {"fault": 2})
    inverse: dict[str, Form] = {"1/(i+1)": {"CLS": 1}}
    return Construction(
        coordinates=(
            *("(", ")", "CLS", "depth", "d_N/n", "1/n", "fault", "|d_N|/n", "1/n at CLS", "s"),
            *(() if most is None else inverse),
        ),
        symbols={name: {name: 1} for name in ("(", ")", "CLS")},
        layers=(
            Layer(
                heads=(
                    Head(
                        "depth",
                        {"depth": _BRACKETS, **({} if most is None else inverse)},
                        mask="future",
                    ),
                    Head("total", {"d_N/n": _BRACKETS, "1/n": {"CLS": 1}}),
                ),
                feed_forwards=(
                    FeedForward(
                        (
                            below,
                            *(() if most is None else (above,)),
                            HiddenUnit({"d_N/n": 1}, {"|d_N|/n": 1}),
                            HiddenUnit({"d_N/n": -1}, {"|d_N|/n": 1}),
                            HiddenUnit({"1/n": 1, "(": -1, ")": -1}, {"1/n at CLS": 1}),
                        )
                    ),
                ),
            ),
            Layer(heads=(Head("read", {"s": {"1/n at CLS": 0.5, "fault": -1}}),)),
        ),
        logits=({}, {"s": 1, "|d_N|/n": -1}),
        begin="CLS",
        precision="O(log n) bits: counts up to n, logits of 1/(2n²)",
    )
