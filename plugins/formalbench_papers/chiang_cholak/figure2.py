"""Figure 2 of Chiang & Cholak (2022): cross-entropy of the exact solutions against length."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from formalbench.documents.charts import BLUES, INK, RED
from formalbench.documents.figures import Figure, Panel, Series

from formalbench_papers.chiang_cholak import SOURCE
from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Claim, Findings
from formalbench_papers.framework.claims import every as every_of
from formalbench_papers.framework.curves import (
    ETA,
    FLOOR,
    Curves,
    CurveVariant,
    Recogniser,
    curve_rows,
    measure_curves,
    spread_lengths,
)
from formalbench_papers.index import experiment

LANGUAGES = (
    Recogniser("PARITY", "parity", "exact-parity"),
    Recogniser("FIRST", "first", "exact-first"),
)


def _normed(name: str, color: str, epsilon: float) -> CurveVariant:
    return CurveVariant(name, color, {"norm": True, "eps": epsilon, "eta": ETA})


VARIANTS = (
    CurveVariant("no layer norm", RED),
    _normed("ε = 10⁻¹", BLUES[0], 1e-1),
    _normed("ε = 10⁻³", BLUES[1], 1e-3),
    _normed("ε = 10⁻⁵", BLUES[2], 1e-5),
    _normed("ε = 10⁻⁷", BLUES[3], 1e-7),
    _normed("ε = 0", INK, 0.0),
)

NEAR_ONE = 0.9
"""Bits from which a cross-entropy is taken to be on its way to one."""


@experiment(
    "chiang-cholak-fig2",
    "Cross-entropy of the exact solutions for PARITY and FIRST",
    f"{SOURCE}, Figure 2",
    about="Mean cross-entropy over random strings of length n. Without layer norm it approaches "
    "one bit, as for a coin flip. Layer norm with ε > 0 delays that; with ε = 0 it is the "
    "same at every length and can be made as low as desired.",
    reduced="25 lengths instead of 41, 100 strings at each instead of 1,000.",
    core_hours=(0.02, 0.09),
)
def carry_out(bench: Bench) -> Findings:
    """Measure every variant on both languages."""
    lengths = spread_lengths(*bench.choose((1, 10_000, 25), (1, 10_000, 41)))
    curves = measure_curves(bench, LANGUAGES, VARIANTS, lengths, bench.choose(100, 1000))
    rows = curve_rows(curves, eta_nats=ETA)
    return Findings(rows, _claims(curves), lambda: _draw(curves), _REMARKS)


_REMARKS = (
    "Lengths are shown on a logarithmic axis and do not count CLS.",
    "The paper does not say which ε above 0 and which η it used; here η is 0.001 nats (0.00144 "
    "bits). All curves with layer norm use the output layer of Proposition 2.",
    "Where the cross-entropy still grows at the greatest length, it may get to one bit at greater "
    "ones: there the claim that it approaches one bit is “cannot tell”.",
    "Everything is computed in double precision.",
)


def _claims(curves: Curves) -> list[Claim]:
    return [claim for one in LANGUAGES for claim in _claims_on(one.title, curves)]


def _claims_on(language: str, curves: Curves) -> list[Claim]:
    plain = curves[language, "no layer norm"]
    exact = [one.mean_bits for one in curves[language, "ε = 0"]]
    positive = [v for v in VARIANTS if v.options.get("eps")]
    every = [one for v in VARIANTS for one in curves[language, v.name]]
    worst = min(one.accuracy for one in every)
    below = all(
        with_norm.mean_bits < without.mean_bits
        for variant in positive
        for with_norm, without in zip(curves[language, variant.name], plain, strict=True)
    )
    grown = {v.name: [one.mean_bits for one in curves[language, v.name]] for v in positive}
    longest = plain[-1]
    return [
        Claim(
            f"{language}: accuracy is perfect",
            "§2.4",
            f"{100 * worst:.1f} % at worst, over all variants and lengths",
            worst == 1.0,
        ),
        Claim(
            f"{language}: without layer norm, cross-entropy approaches its upper bound of one bit",
            "Figure 2, red",
            f"{longest.mean_bits:.4f} bits at length {longest.length:,}, never above 1",
            longest.mean_bits > 0.99 and max(one.max_bits for one in plain) <= 1 + 1e-12,
        ),
        Claim(
            f"{language}: with ε > 0 it is better",
            "Figure 2",
            "lower at every length" if below else "not lower at every length",
            below,
        ),
        Claim(
            f"{language}: with ε > 0 it still grows with n",
            "Figure 2",
            "; ".join(f"{name}: {bits[0]:.4g} → {bits[-1]:.4g}" for name, bits in grown.items()),
            all(map(_grows, grown.values())),
        ),
        Claim(
            f"{language}: with ε > 0, too, it approaches one bit: {NEAR_ONE} at length "
            f"{longest.length:,}, for every ε",
            "“it still grows with n and approaches 1” (§3.3)",
            "; ".join(f"{name}: {bits[-1]:.4g}" for name, bits in grown.items()),
            # One that grows and is not there yet may come there with longer strings.
            every_of(
                bits[-1] >= NEAR_ONE or ("cannot tell" if _grows(bits) else False)
                for bits in grown.values()
            ),
        ),
        Claim(
            f"{language}: with ε = 0 it does not depend on n, and is η",
            f"{FLOOR:.6f} bits (Proposition 2)",
            f"{min(exact):.6f} to {max(exact):.6f} bits",
            max(abs(bits - FLOOR) for bits in exact) <= 1e-9 * FLOOR,
        ),
    ]


def _grows(bits: Sequence[float]) -> bool:
    """Return whether the last value is above the first, and none below the one before it."""
    # But for rounding, and for the few strings of the shortest lengths.
    return bits[-1] > bits[0] and all(b >= a * (1 - 1e-6) for a, b in pairwise(bits))


def _draw(curves: Curves) -> Figure:
    def line(language: str, variant: CurveVariant) -> Series:
        curve = curves[language, variant.name]
        x, y = [one.length for one in curve], [one.mean_bits for one in curve]
        width = 1.9 if variant.options.get("eps") else 2.4
        return Series(x, y, variant.color, variant.name, width=width)

    panels = [
        Panel(
            [line(one.title, variant) for variant in VARIANTS],
            title=one.title,
            x="string length n",
            y="cross-entropy (bits)",
            level=1.0,
            ylim=(-0.03, 1.08),
            log="x",
        )
        for one in LANGUAGES
    ]
    return Figure([panels])
