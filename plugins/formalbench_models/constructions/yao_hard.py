"""The hard-attention recogniser of Yao et al. for Dyck-(k, D).

Source: Yao, Peng, Papadimitriou & Narasimhan, "Self-attention networks can process bounded
hierarchical languages" (2021), §5.1, Theorem 4.1 and appendix A. Each of D equal layers lets every
token look at the nearest unmatched token on either side, j1 and j2, and matches innermost pairs:

    j1 = argmax_{j<i} (j/n - m_j)        j2 = argmax_{j>i} (1 - j/n - m_j)
    s1 = SAME(t_i, t_j2)                 s2 = SAME(t_i, t_j1)
    m' = m ∨ (o ∧ ¬o_j2 ∧ s1) ∨ (¬o ∧ o_j1 ∧ s2)
    e' = e ∨ ¬m ∧ ((o ∧ ¬o_j2 ∧ ¬s1) ∨ (¬o ∧ o_j1 ∧ ¬s2))

The last layer looks for a token in error or unmatched, argmax_j (e_j + 1 - m_j), and answers
¬e ∧ m of what it finds.

Corrections of the print: s1 and s2 are swapped there. Its e' lacks ¬m, so that matched brackets,
which keep looking outwards, report errors (``()`` is rejected if D > 1). Its last layer counts γ
and ω, which are unmatched still if the depth is D: here m ∨ γ ∨ ω ("settled") stands in the place
of m. SAME needs ∧ in the place of ∨ (see `gates`), γ and ω a code of their own (see `yao_tokens`).
Nothing is to the left of γ or to the right of ω: a head that sees nothing answers 0, and neither
uses that answer.

The logit is 2y - 1, y the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from formalbench_models.constructions.codes import rounded
from formalbench_models.constructions.gates import and_gate, negation, or_gate, same_gate
from formalbench_models.constructions.vocabulary import (
    ONE,
    Construction,
    FeedForward,
    Form,
    Head,
    Layer,
    Mask,
    Position,
)
from formalbench_models.constructions.yao_tokens import (
    END,
    START,
    embedding,
    position,
    to_bits,
    type_names,
)

Attention = Literal["hard", "soft"]
Scale = float | Callable[[int], float]


def recogniser(
    k: int,
    D: int,
    alphabet: Sequence[str],
    *,
    position_bits: int = 0,
    sharpness: float | None = None,
) -> Construction:
    """Return the recogniser: D + 1 layers, at most two heads, width 3⌈log (k+1)⌉ + 14.

    Args:
        k: the number of bracket types.
        D: the greatest depth.
        alphabet: the brackets, each close after its opening one.
        position_bits: positions are rounded to multiples of 2^-position_bits; 0 leaves them as
            they are. Of tied keys the first one is attended to, so with b bits strings of more
            than 2^b tokens break it (Theorem 4.3: Ω(log n) bits are needed).
        sharpness: for soft attention with η = n·(ln(nD) + sharpness) in the place of hard
            attention (appendix A asks for Ω(n log nD)). The paper rounds the weights to
            multiples of 1/(Cn); here a feed-forward network rounds the bits that were averaged.
    """
    attention: Attention = "hard" if sharpness is None else "soft"
    scale: Scale = 1.0 if sharpness is None else temperature(D, sharpness)
    code = rounded(position, position_bits) if position_bits else position
    verdict = Head(
        "verdict",
        {"e_j": {"e": 1}, "m_j": {"settled": 1}},
        query=({ONE: 1},),
        key=({"e": 1, ONE: 1, "settled": -1},),
        attention=attention,
        scale=scale,
    )
    clean = to_bits(("e_j", "m_j"))
    answer = and_gate((negation("e_j"), "m_j"), "y")
    return Construction(
        coordinates=(
            *token_coordinates(k),
            *(END, "e"),
            *scratch(k),
            *("settled", "e_j", "m_j", "y"),
        ),
        symbols={**embedding(k, alphabet), END: {END: 1}},
        positions=(Position(code, {"p": 1}),),
        layers=(
            *(_matching_layer(k, attention, scale) for _ in range(D - 1)),
            _matching_layer(k, attention, scale, or_gate(("m", START, END), "settled")),
            Layer((verdict,), (answer,) if attention == "hard" else (clean, answer)),
        ),
        logits=({}, {"y": 2, ONE: -1}),
        begin=START,
        end=END,
        read="last",
        constants=_constants(position_bits, sharpness),
        precision="O(log n) bits: positions 1/n apart",
    )


def temperature(D: int, sharpness: float) -> Callable[[int], float]:
    """Return η as a function of n: keys of tokens that compete are at least 1/n apart."""

    def scale(n: int) -> float:
        return n * (math.log(n * D) + sharpness)

    return scale


def token_coordinates(k: int) -> tuple[str, ...]:
    """Return the coordinates of a token, and whether it is matched."""
    return (*type_names("t", k), "o", START, "p", "m")


def scratch(k: int) -> tuple[str, ...]:
    """Return the coordinates that a matching layer uses and clears."""
    return (*type_names("t_j1", k), "o_j1", *type_names("t_j2", k), "o_j2", "s1", "s2")


def neighbour(
    name: str, mask: Mask, values: dict[str, Form], attention: Attention = "hard", scale: Scale = 1
) -> Head:
    """Return the head that sees the nearest unmatched token: its key is ±j/n - m."""
    key = {"p": 1.0 if mask == "future" else -1.0, "m": -1.0}
    return Head(
        name,
        values,
        query=({ONE: 1},),
        key=(key,),
        attention=attention,
        scale=scale,
        mask=mask,
        strict=True,
    )


def token(suffix: str, k: int) -> dict[str, Form]:
    """Return values by which a head brings a token's t and o."""
    types = zip(type_names(f"t_{suffix}", k), type_names("t", k), strict=True)
    return {**{there: {here: 1.0} for there, here in types}, f"o_{suffix}": {"o": 1}}


def compare(k: int) -> FeedForward:
    """Write s1 and s2."""
    own, left, right = (type_names(prefix, k) for prefix in ("t", "t_j1", "t_j2"))
    return same_gate(own, right, "s1") + same_gate(own, left, "s2")


def match(*more: Form | str) -> FeedForward:
    """Add to m what it lacks: m' = m ∨ …; `more` must hold too for a match on the right."""
    return and_gate(("o", negation("o_j2"), "s1", negation("m"), *more), "m") + and_gate(
        (negation("o"), "o_j1", "s2", negation("m")), "m"
    )


def _find_errors() -> FeedForward:
    fresh = (negation("m"), negation("e"))
    return and_gate(("o", negation("o_j2"), negation("s1"), *fresh), "e") + and_gate(
        (negation("o"), "o_j1", negation("s2"), *fresh), "e"
    )


def _matching_layer(k: int, attention: Attention, scale: Scale, *more: FeedForward) -> Layer:
    heads = (
        neighbour("left", "future", token("j1", k), attention, scale),
        neighbour("right", "past", token("j2", k), attention, scale),
    )
    update = match() + _find_errors() + FeedForward(replaces=scratch(k))
    clean = to_bits([*heads[0].values, *heads[1].values])
    networks = (compare(k), update, *more)
    return Layer(heads, networks if attention == "hard" else (clean, *networks))


def _constants(position_bits: int, sharpness: float | None) -> dict[str, float]:
    if sharpness is not None:
        return {"sharpness": sharpness}
    return {"position_bits": float(position_bits)} if position_bits else {}
