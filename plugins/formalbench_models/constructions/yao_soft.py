"""The soft-attention generators of Yao et al., for Dyck-(k, D) and for Dyck-k.

Source: Yao, Peng, Papadimitriou & Narasimhan, "Self-attention networks can process bounded
hierarchical languages" (2021), §5.2, appendix B.1, B.2 and B.4, Theorems 4.2 and B.3. The first
layer counts depth and makes it an angle (`yao_depth`); in the second, every token attends to the
bracket on top of the stack, whose type is that of the close which may come next. An opening
bracket may come next unless that makes the string too deep, or so long that it cannot be closed
in n tokens:

    o = ¬(θ = θ(D+1)) ∧ ¬(θ = θ(D̃)),     D̃ = min(n - i, D + 1)

n is the greatest number of tokens, γ and ω included, and i counts γ; p = i/n.

Corrections of the print, beside those in `yao_tokens` and `yao_depth`: with γ counted, the depth
is full at θ(D+1), not θ(D). B.2 has no row for the end; ω is the close of γ, with γ's code, so
that ¬(d = 0) ∧ is not needed before z. D̃ is right for even n only (a bracket more and its close
make two tokens), so an odd bound on brackets is rounded down. V_{i,1} = ⌈log k⌉ stands in the
rows of the opening brackets. The head of the second layer is called hard; it is soft, with a
temperature, and a feed-forward network rounds the bits that it averages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from formalbench_models.constructions.gates import and_gate, equal_gate, greater_than_gate, negation
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
from formalbench_models.constructions.yao_depth import (
    angle,
    depth_angle,
    depth_head,
    match_head,
    match_scale,
)
from formalbench_models.constructions.yao_tokens import (
    START,
    embedding,
    next_scores,
    position_of,
    to_bits,
    type_names,
)

_ANGLE = ("d/i", "1/i", "sin θ", "cos θ")


def bounded(
    k: int, D: int, alphabet: Sequence[str], *, n: int = 1002, sharpness: float = 8.0
) -> Construction:
    """Return the generator for Dyck-(k, D): 2 layers, 1 head, width 2⌈log (k+1)⌉ + 13.

    Args:
        k: the number of bracket types.
        D: the greatest depth.
        alphabet: the brackets, each close after its opening one.
        n: the greatest number of brackets in a string.
        sharpness: minus the log of the weight that attention may give to wrong tokens.
    """
    tokens = _tokens(n)
    gap = 1.0 / (D + 2) ** 2  # different sines are 1.5 gaps apart
    left = {ONE: 1.0, "p": -1.0}  # (n - i)/n
    depth = {"d/i": 1.0}
    # min(n - i, D + 1) = D + 1 - max(0, D + 1 - (n - i)): this way without rounding it far away.
    short = HiddenUnit(add({ONE: (D + 1) / tokens}, times(-1, left)), {"short": 1})
    allowed = {ONE: (D + 1) / tokens, "short": -1.0}
    rest = {ONE: 1.0 / tokens, "short": 1.0}
    full = equal_gate("sin θ", {ONE: _sine(D + 1, D)}, "full", gap, gap / 4)
    late = equal_gate("sin θ", "sin θ(D̃)", "late", gap, gap / 4)
    head, found = _top_head(k, D, {"p": 1}, tokens, sharpness)
    return Construction(
        coordinates=(
            *type_names("t", k),
            *("o", START, "p"),
            *_ANGLE,
            *("short", "sin θ(D̃)", "cos θ(D̃)"),
            *found,
            *("full", "late", "may open"),
        ),
        symbols=embedding(k, alphabet),
        positions=(Position(position_of(tokens), {"p": 1}),),
        layers=(
            Layer(
                (depth_head(),),
                (
                    depth_angle(depth, {"1/i": D + 2}),
                    FeedForward((short,)),
                    angle(allowed, rest, "sin θ(D̃)", "cos θ(D̃)"),
                ),
            ),
            Layer(
                (head,),
                (
                    to_bits(found) + full + late,
                    and_gate((negation("full"), negation("late")), "may open"),
                ),
            ),
        ),
        logits=next_scores(found, "may open", k),
        begin=START,
        read="prefixes",
        constants={"n": float(n), "temperature": match_scale(tokens, sharpness)},
        lengths=(0, n),
        precision="O(log n) bits: positions 1/n apart, times 20 D²",
    )


def unbounded(
    k: int, alphabet: Sequence[str], *, n: int = 1002, sharpness: float = 8.0
) -> Construction:
    """Return the generator for Dyck-k: 2 layers, 1 head, width 2⌈log (k+1)⌉ + 12.

    B.4 only outlines it. D becomes n, so angles may be as close as 1/n²; p is i/n³, which the
    query multiplies by n²; γ's embedding holds n, from which the first head makes n/i. Whether a
    bracket may open is asked of a = n - i - d, whether it is 0: the layer norm of (a/i, 1/i)
    tells 0 from 1 for any n, as the angles of B.2 would not.

    Precision is what limits it: logits of 20 n² must be right to 1/n. Verified with k = 2, each
    string with all its prefixes: in fp64 every string of 10 brackets with n = 22 and 1002, random
    members and towers of depth n/2 - 1 up to n = 24002; in fp32 up to n = 72, and not with 82. In
    fp16 20 n² overflows from n = 56 on, and logits are NaN.

    Args:
        k: the number of bracket types.
        alphabet: the brackets, each close after its opening one.
        n: the greatest number of brackets in a string.
        sharpness: minus the log of the weight that attention may give to wrong tokens.
    """
    tokens = _tokens(n)
    room = {"n/i": 1.0, ONE: -1.0, "d/i": -1.0}  # (n - i - d)/i
    head, found = _top_head(k, tokens, {"p": float(tokens) ** 2}, tokens, sharpness)
    words = embedding(k, alphabet)
    words[START] = {**words[START], "n": tokens}
    return Construction(
        coordinates=(
            *type_names("t", k),
            *("o", START, "p", "n"),
            *_ANGLE,
            "n/i",
            *found,
            *("sin room", "cos room", "may open"),
        ),
        symbols=words,
        positions=(Position(position_of(tokens, power=3), {"p": 1}),),
        layers=(
            Layer(
                (depth_head(**{"n/i": {"n": 1.0}}),),
                (depth_angle({"d/i": 1.0}, add("n/i", {"1/i": 2})),),
            ),
            Layer(
                (head,),
                (
                    to_bits(found),
                    angle(room, {"1/i": 1.0}, "sin room", "cos room"),
                    greater_than_gate("sin room", {ONE: 0.25}, "may open", gap=0.5),
                ),
            ),
        ),
        logits=next_scores(found, "may open", k),
        begin=START,
        read="prefixes",
        constants={"n": float(n), "temperature": match_scale(tokens, sharpness)},
        lengths=(0, n),
        precision="O(log n) bits: logits of 20 n² to 1/n",
    )


def _tokens(n: int) -> int:
    """Return the greatest number of tokens for strings of at most n brackets, γ and ω included."""
    return n - n % 2 + 2


def _top_head(
    k: int, height: int, near: Form, tokens: int, sharpness: float
) -> tuple[Head, tuple[str, ...]]:
    """Return the second layer's head, and where it writes the type of the open bracket."""
    found = type_names("t_j", k)
    types = zip(found, type_names("t", k), strict=True)
    values: dict[str, Form] = {there: {here: 1.0} for there, here in types}
    return match_head(values, height, near, match_scale(tokens, sharpness)), found


def _sine(d: int, height: int) -> float:
    return d / math.hypot(d, height + 2 - d)
