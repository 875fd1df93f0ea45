"""What is announced of Walker et al. (2025): numbers, a reproduction, how models are trained."""

from __future__ import annotations

from pathlib import Path

from formalbench.contracts.specs import ReproductionSpec, TableSpec

from formalbench_papers.framework.specs import RULE, protocols

_HERE = Path(__file__).parent

TABLE = TableSpec("walker-2025-table-2", "structured linear CDEs", _HERE / "published.yaml")

TABLES = (TABLE,)

PROTOCOLS = protocols(
    _HERE / "protocols",
    {"slice-table2": "SLiCE's Table 2 on a GPU, as in the paper: 100,000 steps, five seeds"},
)

REPRODUCTIONS = (
    ReproductionSpec(
        name="slice-table2",
        summary="Block-diagonal recurrences track states that diagonal ones do not",
        reference=(
            "Walker, Yang, Muca Cirone, Salvi & Lyons (2025), Structured Linear CDEs: Maximally "
            "Expressive and Parallel-in-Time Sequence Models, Table 2"
        ),
        about=(
            "Accuracy on lengths 41-256 after training on 3-40: the average over seeds, in "
            f"percent; ours with its interval and the number of seeds. {RULE}"
        ),
        factory="formalbench_papers.slice_cde.table2:carry_out",
        reduced=(
            "seven of fifteen models on parity and six on cycle navigation; width 64, not 128, "
            "three seeds instead of five; the protocol `grazzi-table3-quick`: at most 3,000 steps "
            "of 128 strings instead of 100,000 of 256, half of them on lengths that grow with "
            "success, Adam with a constant rate that decays on mastery instead of AdamW with a "
            "cosine, 16 test lengths with 256 strings each instead of every one."
        ),
        core_hours=(3.0, None),
        figure=False,
    ),
)
