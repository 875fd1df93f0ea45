"""What is announced of Huang et al. (2025): numbers, a reproduction, how models are trained."""

from __future__ import annotations

from pathlib import Path

from formalbench.contracts.specs import ReproductionSpec, TableSpec

from formalbench_papers.framework.specs import RULE, protocols

_HERE = Path(__file__).parent

TABLE = TableSpec(
    "huang-2025-length-generalization", "majority and parity", _HERE / "published.yaml"
)

TABLES = (TABLE,)

PROTOCOLS = protocols(
    _HERE / "protocols",
    {
        "huang-crasp-quick": "Huang et al. on a CPU: lengths up to 50, 3,000 steps",
        "huang-crasp": "Huang et al. on a GPU, as in the paper: 30,000 steps",
    },
)

REPRODUCTIONS = (
    ReproductionSpec(
        name="huang-crasp",
        summary="Transformers go on to longer strings of what C-RASP can say, and of nothing else",
        reference=(
            "Huang et al. (2025), A Formal Framework for Understanding Length Generalization in "
            "Transformers, section 5; the languages from Yang, Veseli et al. (2026)"
        ),
        about=(
            "Accuracy of causal transformers on 51-100 and 101-150 symbols after training on 50 "
            "and less, without positions (NoPE) and with learned ones that begin anywhere (APE): "
            "the average over seeds, in percent; ours with its interval and the number of seeds. "
            "The paper prints numbers of majority and parity alone; claims are also about pairs of "
            f"languages that are alike, of which C-RASP holds one and not the other. {RULE}"
        ),
        factory="formalbench_papers.huang.crasp:carry_out",
        reduced=(
            "two layers of width 64 and at most 3,000 steps, half of them on lengths that grow "
            "with success, instead of the smallest of several sizes and 30,000; one learning "
            "rate; 20 test lengths with 256 strings each instead of every one."
        ),
        core_hours=(1.3, None),
        figure=False,
    ),
)
