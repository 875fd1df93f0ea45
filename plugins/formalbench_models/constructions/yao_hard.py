"""Hard attention on Dyck-(k, D): Theorem 4.1 and Corollary A.2 (Yao et al. 2021).

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
of m. SAME needs ∧ in the place of ∨ (see `gates`), γ and ω a code of their own (see `yao`).
Nothing is to the left of γ or to the right of ω: a head that sees nothing answers 0, and neither
uses that answer.

The logit is 2y - 1, y the answer.

Corollary A.2 has no proof ("with some extra effort"); this is ours, from the pieces of §5.1. The
network reads a prefix w_1 … w_i with γ before it, sees all of it in both directions, and answers at
its last token: a generator of this kind is run for each prefix separately.

Type of the next close. If the last token opens (or is γ), its own type. Otherwise it finds the
nearest unmatched token to its left in layer D, where pairs of height up to D - 1 are matched. A
pair of height D stands at depth 0. So if the token is itself still unmatched, or if what it finds
closes, nothing is open and the answer is γ's type; else the type of what it finds.

Whether the depth is D, which can only be if the last token opens. Among the open brackets
u_1 … u_d (= the last token), what stands between u_a and u_{a+1} has height D - a at most. So
layer D - a + 1 shows u_a that its right neighbour is u_{a+1}, and a rank travels to the left:

    c' = o ∧ ¬γ ∧ ¬m ∧ (nothing is on the right ∨ c_j2)        r' = c' · (r_j2 + 1)

All but perhaps u_1 know their rank r, d - a + 1, after layer D - 1. In layer D the last token
finds the greatest rank (the leftmost c), and the nearest unmatched token that has no rank yet.
That one is an opening bracket iff it is u_1, and then the depth is one more.

There is no bound on the length.

Arguments: k bracket types; D, the greatest depth; `alphabet`, each close after its opening bracket.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from formalbench_models.constructions.construction import (
    ONE,
    Construction,
    FeedForward,
    Form,
    Head,
    HiddenUnit,
    Layer,
    Mask,
    Position,
    add,
    rounded,
    times,
)
from formalbench_models.constructions.gates import and_gate, negation, or_gate, same_gate
from formalbench_models.constructions.yao import (
    END,
    START,
    embedding,
    next_scores,
    position,
    to_bits,
    type_names,
    type_values,
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

    Positions are rounded to multiples of 2^-`position_bits`; 0 leaves them as they are. Of tied
    keys the first one is attended to, so with b bits strings of more than 2^b tokens break it
    (Theorem 4.3: Ω(log n) bits are needed).

    With a `sharpness` attention is soft, with η = n·(ln(nD) + sharpness), in the place of hard
    (appendix A asks for Ω(n log nD)). The paper rounds the weights to multiples of 1/(Cn); here a
    feed-forward network rounds the bits that were averaged.
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
    return {**type_values(f"t_{suffix}", k), f"o_{suffix}": {"o": 1}}


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


_RIGHT = ("any_j2", "c_j2", "r_j2")
_LAST = ("r_j3", "open_j4", "d", "full", "may open")

_BRACKET: Form = {"o": 1, START: -1}
"""An opening bracket, not γ."""


def generator(k: int, D: int, alphabet: Sequence[str]) -> Construction:
    """Return the generator for one prefix: D layers, 3 heads, width 3⌈log (k+1)⌉ + 18."""
    found = type_names("t", k)
    return Construction(
        coordinates=(*token_coordinates(k), "c", "r", *scratch(k), *_RIGHT, *_LAST),
        symbols=embedding(k, alphabet),
        positions=(Position(position, {"p": 1}),),
        layers=(*(_generating_layer(k, D) for _ in range(D - 1)), _last_layer(k, D)),
        logits=next_scores(found, "may open", k),
        begin=START,
        read="last",
        precision="O(log n) bits: positions 1/n apart",
    )


def _generating_layer(k: int, D: int) -> Layer:
    right = {**token("j2", k), "any_j2": {ONE: 1}, "c_j2": {"c": 1}, "r_j2": {"r": 1}}
    last = negation(add("any_j2", times(-1, "c_j2")))  # nothing on the right, or it has a rank
    ranked = and_gate((_BRACKET, negation("m"), last), "c")
    # r_j2 + 1 where all three hold, and at most 0 where one does not: r_j2 is less than D.
    missing = add({ONE: 3}, *(times(-1, each) for each in (_BRACKET, negation("m"), last)))
    rank = HiddenUnit(add("r_j2", {ONE: 1}, times(-D, missing)), {"r": 1})
    return Layer(
        (neighbour("left", "future", token("j1", k)), neighbour("right", "past", right)),
        (
            compare(k),
            match("any_j2")
            + ranked
            + FeedForward((rank,), replaces=("c", "r", *scratch(k), *_RIGHT)),
        ),
    )


def _last_layer(k: int, D: int) -> Layer:
    leftmost = _among_the_past("ranked", {"r_j3": {"r": 1}}, {"c": 1, "p": -1})
    unranked = _among_the_past("unranked", {"open_j4": _BRACKET}, {"p": 1, "m": -1, "c": -1})
    # The depth is 1 + max(0, r_j3 - 1) + open_j4, if the last token opens; "d" is one less.
    longer = FeedForward((HiddenUnit({"r_j3": 1, ONE: -1}, {"d": 1}),))
    depth = longer + and_gate(("o", "open_j4"), "d")
    full = and_gate((_BRACKET, {"d": 1, ONE: 2 - D}), "full")
    own, left = type_names("t", k), type_names("t_j1", k)
    top = FeedForward(replaces=own)
    for name, other in zip(own, left, strict=True):
        top += and_gate(("o", name), name) + and_gate((negation("o"), "m", "o_j1", other), name)
    return Layer(
        (neighbour("left", "future", token("j1", k)), leftmost, unranked),
        (depth, full + top, and_gate((negation("full"),), "may open")),
    )


def _among_the_past(name: str, values: dict[str, Form], key: Form) -> Head:
    return Head(
        name, values, query=({ONE: 1},), key=(key,), attention="hard", mask="future", strict=True
    )
