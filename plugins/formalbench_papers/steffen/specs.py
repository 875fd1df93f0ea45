"""What is announced of Steffen et al. (2022): reproductions and how their models are trained."""

from __future__ import annotations

from pathlib import Path

from formalbench.contracts.specs import ReproductionSpec

from formalbench_papers.framework.specs import protocols

PROTOCOLS = protocols(
    Path(__file__).parent / "protocols",
    {
        **{
            f"steffen-dyck-{length}-quick": f"Dyck at length {length} on a CPU: 3,000 steps of 16"
            for length in (6, 10, 26, 50, 100)
        },
        **{
            f"steffen-dyck-{length}": f"Dyck at length {length}: 15,000 steps of one string"
            for length in (6, 10, 26, 50, 76, 100, 150, 200)
        },
    },
)

_PAPER = (
    "Steffen, Glaus & Saeedi (2022), Evaluating Solutions to Theoretical Limitations of "
    "Self-Attention for DYCK-Languages"
)

REPRODUCTIONS = (
    ReproductionSpec(
        name="steffen-dyck",
        summary=(
            "Transformers trained on Dyck-1, Dyck-(1, 2) and Dyck-2, with soft and hard attention"
        ),
        reference=f"{_PAPER} (slides and report), Reproducing Hahn's Results",
        about=(
            "Cross-entropy and accuracy of transformers with two layers and two heads, trained "
            "to recognise three languages at one string length, against that length. Lines: the "
            "mean over the seeds; dots: each seed; hollow marks: the authors' run; dashed: "
            "chance."
        ),
        factory="formalbench_papers.steffen.dyck:carry_out",
        reduced=(
            "four of the seven lengths, and at most 3,000 updates of 16 strings at the rate "
            "0.001 instead of 15,000 updates of one string at 0.0003: three times the strings, a "
            "fifth of the updates."
        ),
        core_hours=(2.8, 4.2),
    ),
    ReproductionSpec(
        name="steffen-layernorm",
        summary="Dyck-1 and Dyck-(1, 3), with and without layer norm",
        reference=f"{_PAPER} (slides), Layer Normalization",
        about=(
            "Accuracy and mean cross-entropy of constructions for two languages of one type of "
            "brackets, of any depth and of depth at most 3, over random strings of length n. "
            "Solid: the mean over the strings; dashed: the worst string."
        ),
        factory="formalbench_papers.steffen.layer_norm:carry_out",
        reduced=(
            "12 lengths up to 500 instead of 24 up to 2,000, 100 strings at each instead of 1,000."
        ),
        core_hours=(0.002, 0.02),
    ),
    ReproductionSpec(
        name="steffen-learnability",
        summary="Constructions for Dyck-1 and Dyck-(1, 3), trained with and without layer norm",
        reference=f"{_PAPER} (slides and report), report, Figures 3 and 4",
        about=(
            "Cross-entropy and accuracy of constructions that were trained further on strings of "
            "one length, with and without layer norm, against that length. Lines: the mean over "
            "the seeds; hollow marks: the authors' run; dashed: chance."
        ),
        factory="formalbench_papers.steffen.learnability:carry_out",
        reduced=(
            "lengths 50 and 100 instead of six from 26 to 200, and two seeds instead of three."
        ),
        core_hours=(0.25, 1.2),
    ),
)
