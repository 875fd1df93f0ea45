"""The transformers that papers trained, as far as the family's options can say what they were.

`transformer` and `transformer-logn` are this suite's own: of another size, with other positions,
norms and initial weights than any of these. What a paper claims of transformers is asked of its
own. docs/reproductions.md says in what each still differs.
"""

from __future__ import annotations

from collections.abc import Mapping

from formalbench import ModelSpec
from formalbench.contracts.config import Value

TRANSFORMER = "formalbench_models.transformer:Transformer"
TRANSFORMER_CONFIG = "formalbench_models.configs.transformer:TransformerConfig"

_CHIANG_CHOLAK: Mapping[str, Value] = {
    "width": 16,
    "hidden": 64,
    "layers": 2,
    "norm": "post",
    "activation": "relu",
    "init": "library",
    "causal": False,
}


def _of_a_paper(
    name: str, summary: str, reference: str, defaults: Mapping[str, Value], *objectives: str
) -> ModelSpec:
    return ModelSpec(
        name=name,
        version=1,
        summary=summary,
        factory=TRANSFORMER,
        config=TRANSFORMER_CONFIG,
        defaults=defaults,
        objectives=objectives,
        reference=reference,
        by_name=True,
    )


PAPERS = (
    _of_a_paper(
        "transformer-chi",
        "the baseline of RegularGPT's Table 1: five causal post-norm layers of width 256",
        "Chi, Fan, Rudnicky & Ramadge 2023, section 5.1 and Table 4, and the code they build on",
        {
            "width": 256,
            "heads": 8,
            "layers": 5,
            "norm": "post",
            "activation": "relu",
            "bias": False,
            "positions": "relative",
        },
    ),
    _of_a_paper(
        "transformer-deletang",
        "five post-norm layers without a mask, read at an empty symbol behind the string",
        "Delétang et al. 2023, section 4 and appendix A.1, and their code",
        {
            "heads": 8,
            "layers": 5,
            "norm": "post",
            "activation": "relu",
            "bias": False,
            "init": "haiku",
            "embedding_scale": 0.16,  # 0.02 times the root of the width
            "positions": "sinusoidal-from-end",
            "causal": False,
            "marker": "end",
        },
        "classify",
        "transduce",
    ),
    _of_a_paper(
        "transformer-chiang-cholak-first",
        "trained on FIRST: one head, width 16, position code [i=1]",
        "Chiang & Cholak 2022, sections 4.1 and 4.4, and their code",
        {**_CHIANG_CHOLAK, "heads": 1, "positions": "first"},
        "classify",
    ),
    _of_a_paper(
        "transformer-chiang-cholak-parity",
        "trained on PARITY: two heads, width 16, position codes i/n and cos(i pi)",
        "Chiang & Cholak 2022, section 4.1, and their code",
        {**_CHIANG_CHOLAK, "heads": 2, "positions": "parity"},
        "classify",
    ),
)
