"""The models of Chi et al. (2023): as small as a CPU wants them, and as in the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from formalbench.analysis.text import count
from formalbench.contracts.config import Value
from formalbench.contracts.record import Record

from formalbench_papers.framework.tables import PaperModel

_BLOCK: dict[str, Value] = {"width": 256, "heads": 8, "activation": "relu"}


RNN = PaperModel("RNN", "rnn", {}, {"width": 256})
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

REMARKS = (
    "How the learning rate was chosen is not said. Here it is chosen, like the checkpoint, on "
    "strings as long as those trained on, for each model and task.",
    "The text says “trained on sequences of length 40” (50); the code that it builds on "
    "trains on every length up to there, and so do we.",
    "That code (Delétang et al.) leaves the first longer length, 41, out of its average; here it "
    "counts. It matters: a Transformer that has learned cycle navigation up to 40 still answers "
    "at 41, and is at chance beyond; at the scale quick 41 is one of 16 lengths.",
    "At the scale paper, blocks are as in the published code: post-norm, ReLU, no biases in the "
    "projections of attention; the text says “GPT-2”, which is pre-norm with GELU. The "
    "Transformer is causal, as §1 says, and has five layers, as the parameter count says. The "
    "learning rate is constant; no schedule is mentioned.",
    "Of the Transformer of that code (Delétang et al.) are not here: a dropout of 0.1, which stays "
    "on in its tests; embeddings scaled by the root of the width; its initial weights; and an "
    "empty symbol after the string, at which it answers. Here the last symbol is read.",
)


def on_parameters(records: Sequence[Record], titles: Mapping[str, str]) -> str:
    """Say how many parameters the models have, beside what Table 4 prints.

    Args:
        records: of trained models.
        titles: of the models, by our names.
    """
    sizes: dict[str, list[int]] = {}
    for record in records:
        sizes.setdefault(titles[record.model.name], []).append(record.model.parameters)
    here = ", ".join(f"{title} {count(min(n), max(n))}" for title, n in sizes.items())
    return (
        "Table 4 prints 4.3 M parameters, once for all models. That is the five-layer Transformer; "
        f"one shared block of width 256 has 0.79 M. Here: {here or 'nothing was run'}."
    )
