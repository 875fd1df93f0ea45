"""The options of S4D."""

from __future__ import annotations

from formalbench import option

from formalbench_models.layers.options import RecurrenceConfig, no_feed_forward_option


class S4dConfig(RecurrenceConfig):
    """Of the diagonal state space that is the same at every symbol."""

    feed_forward: int = no_feed_forward_option()
    states: int = option(16, "complex numbers that each channel keeps", minimum=1, maximum=1024)
