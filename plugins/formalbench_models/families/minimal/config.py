"""The options of minGRU and minLSTM."""

from __future__ import annotations

from typing import Literal

from formalbench import option

from formalbench_models.layers.options import RecurrenceConfig, expansion_option


class MinimalConfig(RecurrenceConfig):
    """Of gated recurrences whose gates do not see the state."""

    kind: Literal["gru", "lstm"] = option("gru", "one gate, or an input and a forget gate")
    normalised: bool = option(
        False,
        "of minLSTM: divide its gates by their sum, so that the state is an average and cannot "
        "count; else its forget gate begins near 1",
    )
    expansion: int = expansion_option()
    candidate: Literal["positive", "linear"] = option(
        "positive", "what can be written: positive numbers, as in the paper's logarithms, or any"
    )
