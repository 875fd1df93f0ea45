"""The options of Mamba."""

from __future__ import annotations

from formalbench import option

from formalbench_models.layers.options import (
    Eigenvalues,
    RecurrenceConfig,
    convolution_option,
    eigenvalues_option,
    expansion_option,
    no_feed_forward_option,
)


class MambaConfig(RecurrenceConfig):
    """Of selective state spaces with a diagonal for every channel."""

    feed_forward: int = no_feed_forward_option()
    expansion: int = expansion_option()
    states: int = option(16, "numbers that each channel keeps", minimum=1, maximum=1024)
    convolution: int = convolution_option()
    eigenvalues: Eigenvalues = eigenvalues_option()
