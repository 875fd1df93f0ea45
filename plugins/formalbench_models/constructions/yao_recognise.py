"""A soft-attention recogniser of three layers for Dyck-(k, D), as Yao et al. claim.

Source: Yao, Peng, Papadimitriou & Narasimhan, "Self-attention networks can process bounded
hierarchical languages" (2021), Corollary B.2. The paper gives no proof (and prints "generate" in
the corollary, which is about recognition); this is ours, from the pieces of §5.2.

The first layer counts depth d (`yao_depth`). In the second, a token asks for the opening bracket
at depth d if it opens (it finds itself), and at depth d + 1 if it closes: the one that it
should close. It is wrong if the types differ, or if d is D + 2. Since γ is open with a type of its
own, a close too many finds γ and differs; since ω closes that type, it differs from anything left
open. At the first wrong token all before it is in order, so it is found. In the third layer ω
attends to what is most wrong.

Positions are i/n with n the length of the string (tokens, γ and ω included). The logit is 1 - 2e,
e the error found. Corrections of the print: see `yao_tokens` and `yao_depth`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from formalbench_models.constructions.gates import greater_than_gate, same_gate
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
)
from formalbench_models.constructions.yao_depth import (
    depth_angle,
    depth_head,
    match_head,
    match_scale,
)
from formalbench_models.constructions.yao_tokens import (
    END,
    START,
    embedding,
    position,
    to_bits,
    type_names,
)


def recogniser(k: int, D: int, alphabet: Sequence[str], *, sharpness: float = 8.0) -> Construction:
    """Return the recogniser: 3 layers, 1 head, width 2⌈log (k+1)⌉ + 14.

    Args:
        k: the number of bracket types.
        D: the greatest depth.
        alphabet: the brackets, each close after its opening one.
        sharpness: minus the log of the weight that attention may give to wrong tokens.
    """
    found = type_names("t_j", k)
    types = zip(found, type_names("t", k), strict=True)
    values: dict[str, Form] = {there: {here: 1.0} for there, here in types}

    def match_temperature(n: int) -> float:
        return match_scale(n, sharpness)

    def verdict_temperature(n: int) -> float:
        return 4 * (math.log(n) + sharpness)

    # (d + 1 - o)/i = d/i + max(0, 1/i - o)
    asked = HiddenUnit({"1/i": 1, "o": -1}, {"[closes]/i": 1})
    # cos θ(D+2) is 0, and cos θ(D+1) is more than 1/(D+2).
    deep = greater_than_gate({ONE: 1 / (D + 2)}, "cos θ", "deep", gap=0.5 / (D + 2))
    wrong = HiddenUnit({"same": 1, "deep": -1}, {"e": -1})  # NOT same OR deep
    return Construction(
        coordinates=(
            *type_names("t", k),
            *("o", START, "p", "d/i", "1/i", "[closes]/i"),
            *("sin θ", "cos θ", "sin θ asked", "cos θ asked"),
            *found,
            *("same", "deep", "e", "e_j"),
        ),
        symbols=embedding(k, alphabet),
        positions=(Position(position, {"p": 1}),),
        layers=(
            Layer(
                (depth_head(),),
                (
                    FeedForward((asked,)),
                    depth_angle({"d/i": 1}, {"1/i": D + 2}),
                    depth_angle(add("d/i", "[closes]/i"), {"1/i": D + 2}, " asked"),
                ),
            ),
            Layer(
                (match_head(values, D, {"p": 1}, match_temperature, " asked"),),
                (
                    to_bits(found) + deep,
                    same_gate(type_names("t", k), found, "same"),
                    FeedForward((wrong,), constants={"e": 1}),
                ),
            ),
            Layer(
                (
                    Head(
                        "verdict",
                        {"e_j": {"e": 1}},
                        query=({ONE: 1},),
                        key=({"e": 1},),
                        scale=verdict_temperature,
                    ),
                ),
                (to_bits(("e_j",)),),
            ),
        ),
        logits=({}, {ONE: 1, "e_j": -2}),
        begin=START,
        end=END,
        read="last",
        constants={"sharpness": sharpness},
        precision="O(log n) bits: positions 1/n apart, times 20 D²",
    )
