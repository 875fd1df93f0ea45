"""The options of LRU."""

from __future__ import annotations

from formalbench import option

from formalbench_models.layers.options import RecurrenceConfig


class LruConfig(RecurrenceConfig):
    """Of the linear recurrent unit."""

    states: int = option(64, "complex numbers of the state", minimum=1, maximum=8192)
    slowest: float = option(0.999, "greatest of the moduli at first", minimum=0.0, maximum=0.9999)
    fastest: float = option(0.9, "least of the moduli at first", minimum=0.0, maximum=0.9999)
