"""The options of xLSTM."""

from __future__ import annotations

from formalbench import option
from pydantic import model_validator

from formalbench_models.families.mlstm.config import MlstmConfig


class XlstmConfig(MlstmConfig):
    """Of blocks of mLSTM and sLSTM; both have the heads and the convolution."""

    feed_forward: int = option(
        4, "hidden units of an sLSTM's MLP per unit of width; 0 for none", minimum=0, maximum=64
    )
    every: int = option(
        2,
        "every so-many-th block is an sLSTM; 1 for no mLSTM, at most the layers",
        minimum=1,
        maximum=64,
    )

    @model_validator(mode="after")
    def _there_is_an_slstm(self) -> XlstmConfig:
        if self.every > self.layers:
            raise ValueError(
                f"every is {self.every}, of {self.layers} layers: none would be an sLSTM (mlstm "
                "has none)"
            )
        return self
