"""The options of LRU."""

from __future__ import annotations

from formalbench import option
from pydantic import model_validator

from formalbench_models.layers.options import RecurrenceConfig


class LruConfig(RecurrenceConfig):
    """Of the linear recurrent unit."""

    states: int = option(64, "complex numbers of the state", minimum=1, maximum=8192)
    slowest: float = option(0.999, "greatest of the moduli at first", minimum=0.001, maximum=0.9999)
    fastest: float = option(0.9, "least of the moduli at first", minimum=0.001, maximum=0.9999)

    @model_validator(mode="after")
    def _the_slowest_is_the_greatest(self) -> LruConfig:
        if self.slowest < self.fastest:
            raise ValueError(f"slowest must be at least fastest: {self.slowest} < {self.fastest}")
        return self
