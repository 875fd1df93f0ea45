"""What is announced of Grazzi et al. (2024): numbers, a reproduction, how models are trained."""

from __future__ import annotations

from pathlib import Path

from formalbench.contracts.specs import ReproductionSpec, TableSpec

from formalbench_papers.framework.specs import RULE, protocols

_HERE = Path(__file__).parent

TABLE = TableSpec(
    "grazzi-2024-table-3", "recurrences with negative eigenvalues", _HERE / "published.yaml"
)

TABLES = (TABLE,)

PROTOCOLS = protocols(
    _HERE / "protocols",
    {
        "grazzi-table3-quick": "Grazzi et al., Table 3, on a CPU: 3,000 steps",
        "grazzi-table3": "Grazzi et al., Table 3, on a GPU: 20,000 steps, as there on parity",
    },
)

REPRODUCTIONS = (
    ReproductionSpec(
        name="grazzi-table3",
        summary="Negative eigenvalues let linear recurrences solve parity and count modulo 5",
        reference=(
            "Grazzi, Siems, Zela, Franke, Hutter & Pontil (2024), Unlocking State-Tracking in "
            "Linear RNNs Through Negative Eigenvalues, Table 3"
        ),
        about=(
            "Accuracy on lengths 41-256 after training on 3-40: the best of three seeds, in "
            "percent; ours with the interval of the average and the number of seeds. The paper "
            f"prints scaled accuracies; here both are as they are. {RULE}"
        ),
        factory="formalbench_papers.grazzi.table3:carry_out",
        reduced=(
            "parity, and modular arithmetic without brackets for three models of seven; width 64 "
            "and one head, the paper's code 128, and four in DeltaNet, mLSTM and sLSTM; at most "
            "3,000 steps of 128 strings instead of 20,000 (parity) and 100,000 of 256, half of "
            "them on lengths that grow with success, Adam with a constant rate that decays on "
            "mastery instead of AdamW with a cosine, 16 test lengths with 256 strings each instead "
            "of every one."
        ),
        core_hours=(2.6, None),
        figure=False,
    ),
)
