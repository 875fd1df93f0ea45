"""Announces the constructions of Yao et al.: static data, no torch, no numpy."""

from __future__ import annotations

from formalbench import ModelSpec

_YAO = "Yao, Peng, Papadimitriou & Narasimhan 2021, "
_RECOGNISES = ("classify",)
_GENERATES = ("next-symbols", "generate")


def _model(
    name: str,
    factory: str,
    config: str,
    objectives: tuple[str, ...],
    summary: str,
    reference: str,
) -> ModelSpec:
    language = "dyck-{k}-{D}" if name.endswith("{D}") else "dyck-{k}"
    return ModelSpec(
        name=name,
        version=1,
        summary=summary,
        factory=f"formalbench_models.constructions.yao:{factory}",
        config=f"formalbench_models.constructions.yao_configs:{config}",
        kind="exact",
        objectives=objectives,
        reference=_YAO + reference,
        task=f"{language}:{objectives[0]}",
    )


YAO: tuple[ModelSpec, ...] = (
    _model(
        "yao-hard-{k}-{D}",
        "hard",
        "YaoHardConfig",
        _RECOGNISES,
        "D+1 hard-attention layers that match innermost brackets first",
        "section 5.1, Theorem 4.1",
    ),
    _model(
        "yao-hard-as-soft-{k}-{D}",
        "hard_as_soft",
        "YaoRecogniseConfig",
        _RECOGNISES,
        "yao-hard with soft attention at a temperature of 1/Ω(n log nD)",
        "section 5.1, appendix A",
    ),
    _model(
        "yao-recognise-{k}-{D}",
        "recognise",
        "YaoRecogniseConfig",
        _RECOGNISES,
        "three soft-attention layers: depth, the matching bracket, any fault",
        "Corollary B.2",
    ),
    _model(
        "yao-soft-{k}-{D}",
        "soft",
        "YaoSoftConfig",
        _GENERATES,
        "two soft-attention layers: depth as an angle, then the top of the stack",
        "section 5.2, appendix B.1 and B.2, Theorem 4.2",
    ),
    _model(
        "yao-soft-{k}",
        "soft_unbounded",
        "YaoSoftConfig",
        _GENERATES,
        "yao-soft for any depth: right as far as the precision of n² reaches",
        "appendix B.4, Theorem B.3",
    ),
    _model(
        "yao-hard-generate-{k}-{D}",
        "hard_generate",
        "YaoHardGenerateConfig",
        _GENERATES,
        "D hard-attention layers, run on every prefix",
        "Corollary A.2",
    ),
)
"""The exact models of this paper."""
