"""Depth by soft attention, as an angle: the pieces of Yao et al. §5.2.

Source: Yao, Peng, Papadimitriou & Narasimhan, "Self-attention networks can process bounded
hierarchical languages" (2021), §5.2, Lemma B.1, eq. 6 and 7. Uniform attention to all tokens so
far gives d/i; layer norm without ε turns that and 1/i into a direction that depends on d alone:

    θ(d) = arctan(d / (H + 2 - d)),      H = D

where d counts γ as an open bracket: it is the number of open brackets plus 1, 1 … D + 1 within a
string and 0 after ω. (The text calls the empty stack "d = 0" and compares with θ(D); by its own
eq. 2 and o_γ = 1 that is d = 1 and θ(D+1).) Eq. 7 holds for 0 ≤ d ≤ D + 1: different angles have
a product below 1 - 1/(10 D²).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from formalbench_models.constructions.vocabulary import (
    ONE,
    FeedForward,
    Form,
    Head,
    HiddenUnit,
    add,
    times,
)
from formalbench_models.constructions.yao_tokens import START


def depth_head(**more: Form) -> Head:
    """Return Att^d, which counts: d/i, and 1/i from γ alone; `more` has further values."""
    values = {"d/i": {"o": 2, ONE: -1}, "1/i": {START: 1}, **more}
    return Head("depth", values, mask="future")


def angle(opposite: Form, adjacent: Form, sine: str, cosine: str) -> FeedForward:
    """Write the sine and the cosine of arctan(opposite / adjacent), both 0 or more (Lemma B.1).

    The layer norm, with ε = 0, is over the hidden layer (-a, -b, a, b): its mean is 0 and its
    norm is divided by √((a² + b²)/2). The ReLU keeps the second half. (In print the third line
    has one entry too many, and eq. 6 has the cosine first where B.2 compares with the sine.)
    """
    half = math.sqrt(0.5)
    units = (
        HiddenUnit(times(-1, opposite), {}),
        HiddenUnit(times(-1, adjacent), {}),
        HiddenUnit(opposite, {sine: half}),
        HiddenUnit(adjacent, {cosine: half}),
    )
    return FeedForward(units, norm=0.0)


def depth_angle(depth: Form, height: Form, suffix: str = "") -> FeedForward:
    """Write θ of a depth, all divided by i: sin θ and cos θ of d/i and (H + 2)/i."""
    return angle(depth, add(height, times(-1, depth)), f"sin θ{suffix}", f"cos θ{suffix}")


def match_head(
    values: dict[str, Form],
    height: int,
    near: Form,
    scale: float | Callable[[int], float],
    suffix: str = "",
) -> Head:
    """Return Att^match: the latest opening bracket (or γ) whose depth is the one asked for.

    Its logit is 20 H² θ_i·θ_j + j/n + 2 o_j. By eq. 7 a token that does not qualify is at least
    1 below all that do, and those are 2/n apart.

    Args:
        values: what it brings.
        height: H, in the place of D.
        near: j/n.
        scale: the inverse temperature.
        suffix: which angle the query has; keys have θ itself.
    """
    steep = 20.0 * height * height
    return Head(
        "match",
        values,
        query=({f"sin θ{suffix}": steep}, {f"cos θ{suffix}": steep}, {ONE: 1}, {ONE: 2}),
        key=({"sin θ": 1}, {"cos θ": 1}, near, {"o": 1}),
        mask="future",
        scale=scale,
    )


def match_scale(n: int, sharpness: float) -> float:
    """Return the inverse temperature Ω(n log n) that tells j/n from (j-2)/n.

    All wrong tokens together weigh at most about exp(-sharpness).
    """
    return n * (math.log(n) + sharpness) / 2
