"""The options of the optimisers and schedules of this package; listing them needs no torch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from formalbench.contracts.config import Config, option

Betas = Annotated[
    tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]],
    Field(strict=False),  # YAML and JSON have lists
]


class AdamConfig(Config):
    """Of `Adam`; the weight decay is added to the gradient, as an L2 penalty's would be."""

    betas: Betas = option((0.9, 0.999), "how slowly the mean and the square of gradients change")
    eps: float = option(1e-8, "added to the root of the square", minimum=0.0)
    weight_decay: float = option(0.0, "times the parameters, added to the gradient", minimum=0.0)


class AdamWConfig(Config):
    """Of `AdamW`."""

    betas: Betas = option((0.9, 0.999), "how slowly the mean and the square of gradients change")
    eps: float = option(1e-8, "added to the root of the square", minimum=0.0)
    weight_decay: float = option(
        0.01, "times the rate: the share of the parameters that a step takes away", minimum=0.0
    )


class SgdConfig(Config):
    """Of `Sgd`."""

    momentum: float = option(0.0, "share of the last step's direction", minimum=0.0, maximum=1.0)
    nesterov: bool = option(False, "look ahead along the momentum")
    weight_decay: float = option(0.0, "times the parameters, added to the gradient", minimum=0.0)


class LionConfig(Config):
    """Of `Lion`."""

    betas: Betas = option(
        (0.9, 0.99), "weight of the momentum in a step, and in the momentum of the next step"
    )
    weight_decay: float = option(
        0.0, "times the rate: the share of the parameters that a step takes away", minimum=0.0
    )


class MuonConfig(AdamWConfig):
    """Of `Muon`; `betas` and `eps` are those of AdamW, for all but the hidden matrices."""

    momentum: float = option(
        0.95, "how slowly the mean of a matrix's gradients changes", minimum=0.0, maximum=1.0
    )
    nesterov: bool = option(True, "look ahead along the momentum")
    iterations: int = option(5, "of Newton and Schulz, which make a step orthogonal", minimum=1)


class ConstantConfig(Config):
    """Of `ConstantSchedule`."""

    warm_up: int = option(0, "steps over which the rate rises linearly from 0", minimum=0)


class LinearConfig(ConstantConfig):
    """Of `LinearSchedule`."""

    final: float = option(0.0, "share of the rate at the last step", minimum=0.0, maximum=1.0)


class CosineConfig(ConstantConfig):
    """Of `CosineSchedule`."""

    final: float = option(0.0, "share of the rate at the last step", minimum=0.0, maximum=1.0)


class InverseSqrtConfig(ConstantConfig):
    """Of `InverseSqrtSchedule`."""

    warm_up: int = option(
        4000,
        "steps over which the rate rises linearly; after n times as many it is 1/√n",
        minimum=1,
    )


class PlateauConfig(ConstantConfig):
    """Of `PlateauSchedule`."""

    metric: str = option(
        "validation/cross-entropy", "which must get better, as in the progress of a run"
    )
    better: Literal["less", "more"] = option("less", "what is better of the metric")
    factor: float = option(
        0.5, "times the rate, where nothing got better", minimum=0.0, maximum=1.0
    )
    patience: int = option(5, "evaluations without a better one that are borne", minimum=0)
    recent: int = option(
        0,
        "in the place of patience: the rate falls where a value is worse than each of so many "
        "before it",
        minimum=0,
        maximum=100,
    )
    threshold: float = option(1e-4, "share of the best by which a better one differs", minimum=0.0)
    final: float = option(0.0, "least share of the rate", minimum=0.0, maximum=1.0)
