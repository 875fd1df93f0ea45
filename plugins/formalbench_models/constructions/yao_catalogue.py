"""Announces the constructions of Yao et al.: static data, no torch, no numpy."""

from __future__ import annotations

from formalbench.contracts.specs import ModelSpec, Option

_YAO = "Yao, Peng, Papadimitriou & Narasimhan 2021, "
_RECOGNISES = ("classify",)
_GENERATES = ("next-symbols", "generate")

_SHARPNESS = Option(
    8.0,
    "of soft attention: tokens that should not be attended to weigh e^-sharpness at most",
    minimum=2.0,
    maximum=1000.0,
)
_MARGIN = Option(
    4.0,
    "|log p - log ε| is at least this, for every next symbol (Definition 3.1)",
    minimum=0.1,
    maximum=100.0,
)
_LONGEST = Option(
    1002,
    "the most brackets a string may have; it bounds what may open near the end, so that members "
    "of the language itself are generated at lengths up to n - 2, and beginnings of members that "
    "are not closed up to n - D - 1, or n/2 - 1",
    minimum=2,
    maximum=1_000_000,
)
_POSITION_BITS = Option(
    0,
    "round positions to so many bits, 0 for no rounding: enough for 2^bits tokens (Theorem 4.3)",
    minimum=0,
    maximum=52,
)


def _model(
    name: str,
    factory: str,
    objectives: tuple[str, ...],
    summary: str,
    reference: str,
    **options: Option,
) -> ModelSpec:
    language = "dyck-{k}-{D}" if name.endswith("{D}") else "dyck-{k}"
    return ModelSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"formalbench_models.constructions.yao:{factory}",
        kind="exact",
        objectives=objectives,
        options=options,
        reference=_YAO + reference,
        task=f"{language}:{objectives[0]}",
    )


YAO: tuple[ModelSpec, ...] = (
    _model(
        "yao-hard-{k}-{D}",
        "hard",
        _RECOGNISES,
        "D+1 hard-attention layers that match innermost brackets first",
        "section 5.1, Theorem 4.1",
        position_bits=_POSITION_BITS,
    ),
    _model(
        "yao-hard-as-soft-{k}-{D}",
        "hard_as_soft",
        _RECOGNISES,
        "yao-hard with soft attention at a temperature of 1/Ω(n log nD)",
        "section 5.1, appendix A",
        sharpness=_SHARPNESS,
    ),
    _model(
        "yao-recognise-{k}-{D}",
        "recognise",
        _RECOGNISES,
        "three soft-attention layers: depth, the matching bracket, any fault",
        "Corollary B.2",
        sharpness=_SHARPNESS,
    ),
    _model(
        "yao-soft-{k}-{D}",
        "soft",
        _GENERATES,
        "two soft-attention layers: depth as an angle, then the top of the stack",
        "section 5.2, appendix B.1 and B.2, Theorem 4.2",
        n=_LONGEST,
        sharpness=_SHARPNESS,
        margin=_MARGIN,
    ),
    _model(
        "yao-soft-{k}",
        "soft_unbounded",
        _GENERATES,
        "yao-soft for any depth: right as far as the precision of n² reaches",
        "appendix B.4, Theorem B.3",
        n=_LONGEST,
        sharpness=_SHARPNESS,
        margin=_MARGIN,
    ),
    _model(
        "yao-hard-generate-{k}-{D}",
        "hard_generate",
        _GENERATES,
        "D hard-attention layers, run on every prefix",
        "Corollary A.2",
        margin=_MARGIN,
    ),
)
"""The exact models of this paper."""
