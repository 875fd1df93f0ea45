"""What is announced of PaTH (Yang et al. 2025): numbers, a reproduction, how it is trained."""

from __future__ import annotations

from pathlib import Path

from formalbench.contracts.specs import ReproductionSpec, TableSpec

from formalbench_papers.framework.specs import RULE, protocols

_HERE = Path(__file__).parent

TABLE = TableSpec(
    "yang-2025-path-table-1", "flip-flop language modelling", _HERE / "published.yaml"
)

TABLES = (TABLE,)

PROTOCOLS = protocols(
    _HERE / "protocols",
    {
        "path-flipflop-quick": "PaTH's Table 1 on a CPU: strings of 128 symbols, 3,000 steps",
        "path-flipflop": "PaTH's Table 1 on a GPU: strings of 512 symbols, 10,000 steps",
    },
)

REPRODUCTIONS = (
    ReproductionSpec(
        name="path-flipflop",
        summary="PaTH remembers the last bit written where other attention forgets it",
        reference=(
            "Yang et al. (2025), PaTH Attention: Position Encoding via Accumulating Householder "
            "Transformations, Table 1; the task from Liu et al. (2023)"
        ),
        about=(
            "The share of bits read right, in percent, by one layer of attention with two heads "
            "and width 64, on strings like those trained on (80 % of instructions are ignored), "
            "sparser (98 %) and denser (10 %) ones; the paper prints errors. Averages over seeds, "
            f"ours with an interval and the number of seeds. {RULE}"
        ),
        factory="formalbench_papers.path_attention.flipflop:carry_out",
        reduced=(
            "strings of 128 symbols instead of 512, at most 3,000 steps of 32, one learning rate, "
            "1,024 test strings of each kind instead of 4,096."
        ),
        core_hours=(0.9, None),
        figure=False,
        inside=True,
    ),
)
