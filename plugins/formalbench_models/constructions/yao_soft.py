"""Soft attention on Dyck: Theorems 4.2 and B.3, Corollary B.2 (Yao et al. 2021).

Source: Yao, Peng, Papadimitriou & Narasimhan, "Self-attention networks can process bounded
hierarchical languages" (2021), §5.2, Lemma B.1, eq. 6 and 7. Uniform attention to all tokens so
far gives d/i; layer norm without ε turns that and 1/i into a direction that depends on d alone:

    θ(d) = arctan(d / (H + 2 - d)),      H = D

where d counts γ as an open bracket: it is the number of open brackets plus 1, 1 … D + 1 within a
string and 0 after ω. (The text calls the empty stack "d = 0" and compares with θ(D); by its own
eq. 2 and o_γ = 1 that is d = 1 and θ(D+1).) Eq. 7 holds for 0 ≤ d ≤ D + 1: different angles have
a product below 1 - 1/(10 D²).

§5.2, appendix B.1, B.2 and B.4, Theorems 4.2 and B.3: the first layer counts depth and makes it an
angle; in the second, every token attends to the bracket on top of the stack, whose type is that of
the close which may come next. An opening bracket may come next unless that makes the string too
deep, or so long that it cannot be closed in n tokens:

    o = ¬(θ = θ(D+1)) ∧ ¬(θ = θ(D̃)),     D̃ = min(n - i, D + 1)

n is the greatest number of tokens, γ and ω included, and i counts γ; p = i/n.

Corrections of the print, beside those in `yao` and above: with γ counted, the depth is full at
θ(D+1), not θ(D). B.2 has no row for the end; ω is the close of γ, with γ's code, so that ¬(d = 0) ∧
is not needed before z. D̃ is right for even n only (a bracket more and its close make two tokens),
so an odd bound on brackets is rounded down. V_{i,1} = ⌈log k⌉ stands in the rows of the opening
brackets. The head of the second layer is called hard; it is soft, with a temperature, and a
feed-forward network rounds the bits that it averages.

Corollary B.2: the paper gives no proof (and prints "generate" in the corollary, which is about
recognition); this is ours, from the pieces of §5.2. The first layer counts depth d. In the second,
a token asks for the opening bracket at depth d if it opens (it finds itself), and at depth d + 1 if
it closes: the one that it should close. It is wrong if the types differ, or if d is D + 2. Since γ
is open with a type of its own, a close too many finds γ and differs; since ω closes that type, it
differs from anything left open. At the first wrong token all before it is in order, so it is found.
In the third layer ω attends to what is most wrong.

Positions are i/n with n the length of the string (tokens, γ and ω included). The logit is 1 - 2e, e
the error found.

Arguments: k bracket types; D, the greatest depth; `alphabet`, each close after its opening bracket;
n, the greatest number of brackets in a string; `sharpness`, minus the log of the weight that
attention may give to wrong tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from formalbench_models.constructions.construction import (
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
from formalbench_models.constructions.gates import (
    and_gate,
    equal_gate,
    greater_than_gate,
    negation,
    same_gate,
)
from formalbench_models.constructions.yao import (
    END,
    START,
    embedding,
    next_scores,
    position,
    position_of,
    to_bits,
    type_names,
    type_values,
)


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


_ANGLE = ("d/i", "1/i", "sin θ", "cos θ")


def bounded(
    k: int, D: int, alphabet: Sequence[str], *, n: int = 1002, sharpness: float = 8.0
) -> Construction:
    """Return the generator for Dyck-(k, D): 2 layers, 1 head, width 2⌈log (k+1)⌉ + 13."""
    tokens = _tokens(n)
    gap = 1.0 / (D + 2) ** 2  # different sines are 1.5 gaps apart
    left = {ONE: 1.0, "p": -1.0}  # (n - i)/n
    depth = {"d/i": 1.0}
    # min(n - i, D + 1) = D + 1 - max(0, D + 1 - (n - i)): this way without rounding it far away.
    short = HiddenUnit(add({ONE: (D + 1) / tokens}, times(-1, left)), {"short": 1})
    allowed = {ONE: (D + 1) / tokens, "short": -1.0}
    rest = {ONE: 1.0 / tokens, "short": 1.0}
    full = equal_gate("sin θ", {ONE: (D + 1) / math.hypot(D + 1, 1)}, "full", gap, gap / 4)
    late = equal_gate("sin θ", "sin θ(D̃)", "late", gap, gap / 4)
    found, scale = type_names("t_j", k), match_scale(tokens, sharpness)
    head = match_head(type_values("t_j", k), D, {"p": 1}, scale)
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
        constants={"n": float(n), "temperature": scale},
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
    """
    tokens = _tokens(n)
    room = {"n/i": 1.0, ONE: -1.0, "d/i": -1.0}  # (n - i - d)/i
    found, scale = type_names("t_j", k), match_scale(tokens, sharpness)
    head = match_head(type_values("t_j", k), tokens, {"p": float(tokens) ** 2}, scale)
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
        constants={"n": float(n), "temperature": scale},
        lengths=(0, n),
        precision="O(log n) bits: logits of 20 n² to 1/n",
    )


def _tokens(n: int) -> int:
    """Return the greatest number of tokens for strings of at most n brackets, γ and ω included."""
    return n - n % 2 + 2


def recogniser(k: int, D: int, alphabet: Sequence[str], *, sharpness: float = 8.0) -> Construction:
    """Return the recogniser: 3 layers, 1 head, width 2⌈log (k+1)⌉ + 14."""
    found = type_names("t_j", k)

    def match_temperature(n: int) -> float:
        return match_scale(n, sharpness)

    def verdict_temperature(n: int) -> float:
        return 4 * (math.log(n) + sharpness)

    # (d + 1 - o)/i = d/i + max(0, 1/i - o)
    closes = HiddenUnit({"1/i": 1, "o": -1}, {"[closes]/i": 1})
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
                    FeedForward((closes,)),
                    depth_angle({"d/i": 1}, {"1/i": D + 2}),
                    depth_angle(add("d/i", "[closes]/i"), {"1/i": D + 2}, " asked"),
                ),
            ),
            Layer(
                (match_head(type_values("t_j", k), D, {"p": 1}, match_temperature, " asked"),),
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
