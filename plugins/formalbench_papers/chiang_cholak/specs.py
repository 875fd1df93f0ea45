"""What is announced of Chiang & Cholak (2022): reproductions and how their models are trained."""

from __future__ import annotations

from pathlib import Path

from formalbench.contracts.specs import ReproductionSpec

from formalbench_papers.framework.specs import protocols

PROTOCOLS = protocols(
    Path(__file__).parent / "protocols",
    {
        f"chiang-cholak-fig4-{length}": f"FIRST trained at length {length}, tested at 1000, 20 runs"
        for length in (10, 30, 100, 300)
    }
    | {
        "chiang-cholak-table1-quick": "translation on a CPU: 2,500 steps, tested with a beam of 4",
        "chiang-cholak-table1": "translation as in the paper: 70,000 steps of 4,096 tokens",
    },
)

_PAPER = "Chiang & Cholak (2022), Overcoming a theoretical limitation of self-attention"

REPRODUCTIONS = (
    ReproductionSpec(
        name="chiang-cholak-fig2",
        summary="Cross-entropy of the exact solutions for PARITY and FIRST",
        reference=f"{_PAPER}, Figure 2",
        about=(
            "Mean cross-entropy over random strings of length n. Without layer norm it goes to "
            "one bit, a coin's. Layer norm with ε > 0 delays that; with ε = 0 it is the same at "
            "every length, and as low as wished."
        ),
        factory="formalbench_papers.chiang_cholak.figure2:carry_out",
        reduced="25 lengths instead of 41, 100 strings at each instead of 1,000.",
        core_hours=(0.02, 0.09),
    ),
    ReproductionSpec(
        name="chiang-cholak-fig3",
        summary="The PARITY solution against one of its entries, and trained from a perturbed one",
        reference=f"{_PAPER}, Figure 3",
        about=(
            "Cross-entropy and accuracy of the exact solution for PARITY (layer norm with ε = 0) "
            "as the entry that computes k/n moves away from 1; and training runs that start from "
            "the solution with that entry perturbed, beside the same network with random "
            "weights, on strings of 1 to 100 symbols and of 100 alone. The dashed line is a coin."
        ),
        factory="formalbench_papers.chiang_cholak.figure3:carry_out",
        reduced=(
            "Lengths up to 100 instead of 300, 200 strings at each instead of 1,000, 41 values "
            "of the entry instead of 81; 1,000 updates instead of 10,000, three seeds instead of "
            "ten."
        ),
        core_hours=(0.04, 0.7),
    ),
    ReproductionSpec(
        name="chiang-cholak-fig4",
        summary=(
            "Training transformers on FIRST, with standard attention and with log-length scaling"
        ),
        reference=f"{_PAPER}, Figure 4, §4.1 and §4.4",
        about=(
            "Transformers of two layers and width 16 are trained on strings of one length n (see "
            "the legend) and tested on strings of length 1000, after every epoch of 100 strings: "
            "cross-entropy, accuracy, and the total weight that CLS gives to position 1 in both "
            "layers, mean of the runs. Left: standard attention. Right: logits scaled by log n."
        ),
        factory="formalbench_papers.chiang_cholak.figure4:carry_out",
        reduced=(
            "5 runs instead of 20; PARITY with standard attention and training lengths 10 and 100 "
            "only. All 10,000 updates are done."
        ),
        core_hours=(0.4, 2.0),
    ),
    ReproductionSpec(
        name="chiang-cholak-table1",
        summary="Translation, with attention logits scaled by log n and without",
        reference=f"{_PAPER}, Table 1 and §4.4",
        about=(
            "BLEU of translations from English to Vietnamese: trained and tested on all texts, and "
            "trained on texts of at most 20 words and tested on longer ones. Numbers of other "
            "texts than the paper's are `approx`: shown, and not judged."
        ),
        factory="formalbench_papers.chiang_cholak.table1:carry_out",
        reduced=(
            "what Debian's programs and LibreOffice's help say (`formalbench corpus fetch "
            "debian-en-vi`) instead of the talks of IWSLT'15; 4,096 tokens instead of 8,000; "
            "networks of width 128 with 4 heads and 2 + 2 blocks instead of 512, 8 and 6 + 6; "
            "without dropout; 2,500 steps of 1,024 tokens, some five passes over these texts, "
            "instead of 70,000 of 4,096; two seeds for the long texts and one for all instead of "
            "three."
        ),
        core_hours=(2.5, 6500),
        figure=False,
    ),
)
