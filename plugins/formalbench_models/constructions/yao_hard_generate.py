"""A hard-attention generator of D layers for Dyck-(k, D), as Yao et al. claim.

Source: Yao, Peng, Papadimitriou & Narasimhan, "Self-attention networks can process bounded
hierarchical languages" (2021), Corollary A.2, which has no proof ("with some extra effort"); this
is ours, from the pieces of §5.1 (`yao_hard`). The network reads a prefix w_1 … w_i with γ before
it, sees all of it in both directions, and answers at its last token: a generator of this kind is
run anew for each prefix.

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

Corrections of the print: those of `yao_hard` and `yao_tokens`. There is no bound on the length.
"""

from __future__ import annotations

from collections.abc import Sequence

from formalbench_models.constructions.gates import and_gate, negation
from formalbench_models.constructions.vocabulary import (
    ONE,
    Construction,
    FeedForward,
    Form,
    Head,
    HiddenUnit,
    Layer,
    Position,
    add,
    times,
)
from formalbench_models.constructions.yao_hard import (
    compare,
    match,
    neighbour,
    scratch,
    token,
    token_coordinates,
)
from formalbench_models.constructions.yao_tokens import (
    START,
    embedding,
    next_scores,
    position,
    type_names,
)

_RIGHT = ("any_j2", "c_j2", "r_j2")
_LAST = ("r_j3", "open_j4", "d", "full", "may open")
_BRACKET: Form = {"o": 1, START: -1}
"""An opening bracket, not γ."""


def generator(k: int, D: int, alphabet: Sequence[str]) -> Construction:
    """Return the generator for one prefix: D layers, 3 heads, width 3⌈log (k+1)⌉ + 18.

    Args:
        k: the number of bracket types.
        D: the greatest depth.
        alphabet: the brackets, each close after its opening one.
    """
    found = type_names("t", k)
    return Construction(
        coordinates=(*token_coordinates(k), "c", "r", *scratch(k), *_RIGHT, *_LAST),
        symbols=embedding(k, alphabet),
        positions=(Position(position, {"p": 1}),),
        layers=(*(_matching_layer(k, D) for _ in range(D - 1)), _last_layer(k, D)),
        logits=next_scores(found, "may open", k),
        begin=START,
        read="last",
        precision="O(log n) bits: positions 1/n apart",
    )


def _matching_layer(k: int, D: int) -> Layer:
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
    for mine, there in zip(own, left, strict=True):
        top += and_gate(("o", mine), mine) + and_gate((negation("o"), "m", "o_j1", there), mine)
    return Layer(
        (neighbour("left", "future", token("j1", k)), leftmost, unranked),
        (depth, full + top, and_gate((negation("full"),), "may open")),
    )


def _among_the_past(name: str, values: dict[str, Form], key: Form) -> Head:
    return Head(
        name,
        values,
        query=({ONE: 1},),
        key=(key,),
        attention="hard",
        mask="future",
        strict=True,
    )
