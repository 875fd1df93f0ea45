"""The options of the looped transformer: those of the transformer, and how often it loops."""

from __future__ import annotations

from typing import Literal

from formalbench import option

from formalbench_models.configs.transformer import TransformerConfig

Rounds = Literal["log", "length", "fixed"]


class LoopedConfig(TransformerConfig):
    """Of ``looped-transformer``; `layers` is the number of blocks in a round."""

    rounds: Rounds = option(
        "log", "how many: the log to base 2 of the length, the length, or a fixed number"
    )
    times: int = option(1, "so many times that; if fixed, the rounds", minimum=1, maximum=1024)
    inject: bool = option(True, "add the input to the state before each round")
