"""Learning-rate schedules. The protocol's final decay is applied in addition."""

from __future__ import annotations

import math
from collections.abc import Mapping

from formalbench.contracts.optimiser import Schedule
from formalbench.training.configs import (
    ConstantConfig,
    CosineConfig,
    InverseSqrtConfig,
    LinearConfig,
    PlateauConfig,
)


class ConstantSchedule(Schedule):
    """The run's base rate, after the warm-up."""

    config: ConstantConfig

    def rate(self, step: int, steps: int, base: float, memory: Mapping[str, float]) -> float:
        if step < self.config.warm_up:
            return base * (step + 1) / self.config.warm_up
        return base

    def _done(self, step: int, steps: int) -> float:
        """Return the share of the steps after the warm-up that are done, including this one."""
        warm_up = min(self.config.warm_up, steps - 1)
        return max(0.0, (step + 1 - warm_up) / (steps - warm_up))


class LinearSchedule(ConstantSchedule):
    """After the warm-up the rate falls linearly to its final share at the last step."""

    config: LinearConfig

    def rate(self, step: int, steps: int, base: float, memory: Mapping[str, float]) -> float:
        share = 1.0 + (self.config.final - 1.0) * self._done(step, steps)
        return super().rate(step, steps, base, memory) * share


class CosineSchedule(ConstantSchedule):
    """After the warm-up the rate falls along half a cosine (Loshchilov & Hutter 2017)."""

    config: CosineConfig

    def rate(self, step: int, steps: int, base: float, memory: Mapping[str, float]) -> float:
        wave = (1.0 + math.cos(math.pi * self._done(step, steps))) / 2
        share = self.config.final + (1.0 - self.config.final) * wave
        return super().rate(step, steps, base, memory) * share


class InverseSqrtSchedule(ConstantSchedule):
    """After the warm-up the rate falls as 1/√steps (Vaswani et al. 2017)."""

    config: InverseSqrtConfig

    def rate(self, step: int, steps: int, base: float, memory: Mapping[str, float]) -> float:
        if step < self.config.warm_up:
            return super().rate(step, steps, base, memory)
        return base * math.sqrt(self.config.warm_up / (step + 1))


class PlateauSchedule(ConstantSchedule):
    """After the warm-up the rate falls by a factor whenever a metric stops improving.

    Its memory has the current `share` of the rate and either the metric's `best` value and the
    number of evaluations it has been `waiting` or, with `recent`, the most recent values.
    """

    config: PlateauConfig

    def rate(self, step: int, steps: int, base: float, memory: Mapping[str, float]) -> float:
        return super().rate(step, steps, base, memory) * memory.get("share", 1.0)

    def evaluated(self, memory: dict[str, float], metrics: Mapping[str, float]) -> None:
        """Lower the rate if the metric has not improved for long enough."""
        value = metrics.get(self.config.metric)
        if value is None:
            return
        if self._fell(memory, value) if self.config.recent else self._waited(memory, value):
            share = memory.get("share", 1.0) * self.config.factor
            memory["share"] = max(share, self.config.final)

    def _waited(self, memory: dict[str, float], value: float) -> bool:
        """Store a value; return whether the best one is too old."""
        if "best" not in memory or self._better(value, memory["best"]):
            memory.update(best=value, waiting=0)
            return False
        memory["waiting"] = memory.get("waiting", 0) + 1
        if memory["waiting"] <= self.config.patience:
            return False
        memory["waiting"] = 0
        return True

    def _fell(self, memory: dict[str, float], value: float) -> bool:
        """Store a value; return whether all the recent values before it are better."""
        names = [f"{count} before" for count in range(self.config.recent)]
        before = [memory[name] for name in names if name in memory]
        memory.update(zip(names, (value, *before), strict=False))
        return len(before) == len(names) and all(self._better(one, value) for one in before)

    def _better(self, value: float, best: float) -> bool:
        """Return whether a value is better, and by more than the threshold."""
        room = self.config.threshold * abs(best)
        return value < best - room if self.config.better == "less" else value > best + room
