"""The models of Chi et al. (2023): as small as a CPU wants them, and as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formalbench.contracts.config import Value
from formalbench.contracts.record import Record
from formalbench.documents.reproduction import Scale
from formalbench.documents.text import count

from formalbench_papers.framework.tables import PaperModel

_BLOCK: dict[str, Value] = {"width": 256, "heads": 8, "activation": "relu"}

RNN = PaperModel("RNN", "rnn", {"nonlinearity": "relu"}, {"width": 256, "nonlinearity": "relu"})
TRANSFORMER = PaperModel(
    "Transformer",
    "transformer",
    {"positions": "relative", "causal": True},
    {
        **_BLOCK,
        "positions": "relative",
        "causal": True,
        "layers": 5,
        "norm": "post",
        "bias": False,
    },
)
"""At the scale paper the network of `transformer-chi`, under its family's name."""

REGULARGPT = PaperModel("RegularGPT (C=2)", "regulargpt", {}, {"width": 256})
REGULARGPT_3 = PaperModel("RegularGPT (C=3)", "regulargpt-c3", {}, {"width": 256})

PROTOCOLS: Mapping[Scale, str] = {"quick": "chi-table1-quick", "paper": "chi-table1"}
"""How networks are trained on regular languages."""

SMALLER = (
    "networks of width 64 (the RNN 128) instead of 256, and a Transformer of 2 pre-norm layers "
    "with 4 heads and GELU instead of 5 post-norm ones with 8 and ReLU"
)
"""What the models of the scale ``quick`` have less or otherwise."""

QUICK_PROTOCOL = f"the protocol `chi-table1-quick` instead of `chi-table1`; {SMALLER}."

FEWER_STEPS = (
    "one learning rate, 0.001, instead of three, at most 6,000 steps instead of 100,000, "
    "half of them on lengths that grow as the network learns, 9 strings of every length instead of "
    f"512; {SMALLER}."
)

REMARKS = (
    "§5.1 says of prior work that its maxima are over hyperparameters and seeds; whether the "
    "paper's own are over rates, too, it does not say, and its code has one rate for each task. "
    "Here the rate and the checkpoint are chosen for each model and task, on strings of the "
    "training lengths.",
    "The text says “trained on sequences of length 40” (50); the code trains on every length up to "
    "40 (d12: up to 80). Here networks train on every length up to 40, and up to 50 for D_n and "
    "Tomita.",
    "The code leaves length 41, the first beyond training, out of its average; here it is one of "
    "the 460 lengths that count.",
    "The published code has post-norm blocks with ReLU, 8 heads and no biases in the projections "
    "of attention; the text says “GPT-2”, which is pre-norm with GELU. RegularGPT has the block of "
    "the code at both scales. The Transformer has it at the scale paper; at the scale quick it is "
    "pre-norm, with GELU and 4 heads. At the scale paper it has five layers, which matches the "
    "paper's parameter count. The paper mentions no schedule: at the scale paper the rate is "
    "constant, at quick it falls to 2 % at the end.",
    "The Transformer here is causal, as §1 says; the one in the paper's code is not. This matters "
    "on even pairs: a non-causal Transformer reached 57 to 64 %, the causal one 99.6 %.",
    "The Transformer in the paper's code also scales its embeddings by the square root of the "
    "width and uses haiku's initial weights. The Transformer here has options for both "
    "(`embedding_scale`, `init=haiku`), which this table does not use.",
)


def on_parameters(records: Sequence[Record], titles: Mapping[str, str]) -> str:
    """Return how many parameters the models have, beside what Table 4 prints.

    Args:
        records: of trained models.
        titles: of the models, by our names.
    """
    sizes: dict[str, list[int]] = {}
    for record in records:
        sizes.setdefault(titles[record.model.name], []).append(record.model.parameters)
    counts = ", ".join(f"{title} {count(min(n), max(n))}" for title, n in sizes.items())
    return (
        "Table 4 prints 4.3 M parameters in its only row, whose number of layers is log_C T. One "
        "shared block of width 256 has 0.79 M, a five-layer Transformer 4.28 M, so the number "
        f"seems to be the Transformer's. Here: {counts or 'nothing was run'}."
    )
