"""The options of xLSTM."""

from __future__ import annotations

from formalbench import option

from formalbench_models.families.mlstm.config import MlstmConfig


class XlstmConfig(MlstmConfig):
    """Of blocks of mLSTM and sLSTM; both have the heads and the convolution."""

    feed_forward: int = option(
        4, "hidden units of an sLSTM's MLP per unit of width; 0 for none", minimum=0, maximum=64
    )
    every: int = option(
        2, "blocks of which one, the last, is an sLSTM; 1 for no mLSTM", minimum=1, maximum=64
    )
