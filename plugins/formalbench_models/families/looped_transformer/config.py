"""The options of the looped transformer: those of the transformer, and how often it loops."""

from __future__ import annotations

from typing import Literal

from formalbench import option
from pydantic import model_validator

from formalbench_models.configs.transformer import TransformerConfig

MOST_BLOCKS = 1024
"""That a string may go through for each round that its length asks for."""

Rounds = Literal["log", "length", "fixed"]


class LoopedConfig(TransformerConfig):
    """Of ``looped-transformer``; `layers` is the number of blocks in a round."""

    rounds: Rounds = option(
        "log",
        "how many: the log to base 2 of the length, the length (Fan et al. 2024, section 4, for "
        "parity), or a fixed number",
    )
    times: int = option(1, "so many times that; if fixed, the rounds", minimum=1, maximum=1024)
    inject: bool = option(True, "add the input to the state before each round")
    norm_rounds: bool = option(
        False,
        "the last layer norm after every round (the code of Yang et al. 2024), and not after the "
        "last one alone",
    )

    @model_validator(mode="after")
    def _there_is_a_last_norm(self) -> LoopedConfig:
        if self.norm_rounds and self.norm != "pre":
            raise ValueError(f"norm_rounds goes with norm=pre, not norm={self.norm}")
        return self

    @model_validator(mode="after")
    def _rounds_count_from_the_front(self) -> LoopedConfig:
        if self.marker != "begin":
            raise ValueError(f"marker={self.marker} is for transformers that do not loop")
        return self

    @model_validator(mode="after")
    def _blocks_are_so_many_at_most(self) -> LoopedConfig:
        if self.layers * self.times > MOST_BLOCKS:
            raise ValueError(
                f"layers times times is at most {MOST_BLOCKS}, not {self.layers} * {self.times}"
            )
        return self
