"""The layer-norm slide of Steffen, Glaus & Saeedi (2022): Dyck-1 and Dyck-(1, 3)."""

from __future__ import annotations

from formalbench.documents.charts import BLUES, GREEN, GREY, INK, RED
from formalbench.documents.figures import Figure, Panel, Series

from formalbench_papers.framework.bench import Bench
from formalbench_papers.framework.claims import Claim, Findings
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
from formalbench_papers.steffen import SOURCE

LANGUAGES = (
    Recogniser("Dyck-1", "dyck-1", "exact-dyck-1"),
    Recogniser("Dyck-(1, 3)", "dyck-1-3", "exact-dyck-1-3"),
)

PLAIN = CurveVariant("no layer norm", RED)

AS_PRINTED = CurveVariant("ε = 10⁻⁵", BLUES[1], {"norm": True, "eps": 1e-5})

WITH_OUTPUT = CurveVariant(
    "ε = 10⁻⁵, with output layer", BLUES[3], {"norm": True, "eps": 1e-5, "eta": ETA}
)

EXACT = CurveVariant("ε = 0, with output layer", INK, {"norm": True, "eps": 0.0, "eta": ETA})

VARIANTS = (PLAIN, AS_PRINTED, WITH_OUTPUT, EXACT)


@experiment(
    "steffen-layernorm",
    "Dyck-1 and Dyck-(1, 3), with and without layer norm",
    f"{SOURCE} (slides), Layer Normalization",
    about="Accuracy and mean cross-entropy of constructions for two languages of one type of "
    "brackets, of any depth and of depth at most 3, over random strings of length n. "
    "Solid: the mean over the strings; dashed: the worst string.",
    reduced="12 lengths up to 500 instead of 24 up to 2,000, 100 strings at each instead of 1,000.",
    core_hours=(0.002, 0.02),
)
def carry_out(bench: Bench) -> Findings:
    """Measure every variant on both languages, at even lengths."""
    first, last, steps = bench.choose((2, 500, 12), (2, 2000, 24))
    lengths = spread_lengths(first, last, steps, even=True)
    curves = measure_curves(bench, LANGUAGES, VARIANTS, lengths, bench.choose(100, 1000))
    return Findings(curve_rows(curves), _claims(curves), lambda: _draw(curves), _REMARKS)


_REMARKS = (
    "The networks are ours (`exact-dyck-1`, `exact-dyck-1-3`), built after the diagrams of the "
    "slides. The report (§4) has others: their output is a sum over all positions, and the logit "
    "of a member is 1/n, where ours is 1/(2n²). `steffen-learnability` has the report's.",
    "The slides double the activations and stop there (ε = 10⁻⁵). The curves called output layer "
    "add that of Chiang & Cholak's Proposition 2, with η = 0.001 nats.",
    "Half of the strings are members. Of the others three quarters have as many closing as opening "
    "brackets, so that counting does not reveal them; the rest are near misses, edited members and "
    "uniform strings. Only even lengths have members.",
)


def _claims(curves: Curves) -> list[Claim]:
    return [claim for one in LANGUAGES for claim in _claims_on(one.title, curves)]


def _claims_on(language: str, curves: Curves) -> list[Claim]:
    plain, printed = curves[language, PLAIN.name], curves[language, AS_PRINTED.name]
    with_output = curves[language, WITH_OUTPUT.name]
    exact = curves[language, EXACT.name]
    every = [one for variant in VARIANTS for one in curves[language, variant.name]]
    worst = min(one.accuracy for one in every)
    last = plain[-1]
    lower = all(a.mean_bits < b.mean_bits for a, b in zip(printed, plain, strict=True))
    least = all(a.mean_bits <= b.mean_bits for a, b in zip(with_output, printed, strict=True))
    return [
        Claim(
            f"{language}: the construction recognises the language",
            "Conclusions",
            f"accuracy {100 * worst:.1f} % at worst, over all variants and lengths",
            worst == 1.0,
        ),
        Claim(
            f"{language}: without layer norm, the cross-entropy goes to one bit (Hahn's lemma)",
            "Layer Normalization, left",
            f"worst string {last.max_bits:.6f} bits at length {last.length:,}, mean "
            f"{last.mean_bits:.4f}",
            last.max_bits > 0.999 and last.mean_bits > 0.9,
        ),
        Claim(
            f"{language}: layer norm improves the cross-entropy",
            "Conclusions",
            f"{printed[-1].mean_bits:.4f} bits instead of {last.mean_bits:.4f} at length "
            f"{last.length:,}; lower at {'every length' if lower else 'not every length'}",
            lower,
        ),
        Claim(
            f"{language}: the output layer of Proposition 2 improves it further",
            "Chiang & Cholak, §3.2",
            f"{with_output[-1].mean_bits:.4f} bits at length {last.length:,}",
            least,
        ),
        Claim(
            f"{language}: with ε = 0 it is η at every length",
            "Chiang & Cholak, §3.2",
            f"{max(one.max_bits for one in exact):.6f} bits at worst",
            max(abs(one.max_bits - FLOOR) for one in exact) <= 1e-9 * FLOOR,
        ),
    ]


def _draw(curves: Curves) -> Figure:
    return Figure(
        [[_panel(one.title, normed, curves) for normed in (False, True)] for one in LANGUAGES]
    )


def _panel(language: str, normed: bool, curves: Curves) -> Panel:
    shown = [variant for variant in VARIANTS if bool(variant.options) == normed]
    selected = [curves[language, variant.name] for variant in shown]
    lengths = [one.length for one in selected[0]]
    lines = [
        Series(lengths, [one.mean_bits for one in curve], variant.color, variant.name, width=2.4)
        for variant, curve in zip(shown, selected, strict=True)
    ]
    lines += [
        Series(lengths, [one.max_bits for one in curve], variant.color, style="--", width=1.1)
        for variant, curve in zip(shown, selected, strict=True)
    ]
    worst = [min(one.accuracy for one in tests) for tests in zip(*selected, strict=True)]
    lines += [
        Series((), (), GREY, "worst string", "--", width=1.1),
        Series(lengths, worst, GREEN, "accuracy", "o", size=3.5),
    ]
    return Panel(
        lines,
        title=f"{language}, {'with' if normed else 'without'} layer norm",
        x="string length n",
        y="cross-entropy (bits), accuracy",
        level=1.0,
        ylim=(-0.03, 1.08),
        log="x",
    )
