"""The optimisers and schedules of this package, and their options; listing them needs no torch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from formalbench.contracts.config import Config, option
from formalbench.contracts.specs import OptimiserSpec, ScheduleSpec

_OPTIMISERS = "formalbench.training.optimisers:"

Betas = Annotated[
    tuple[Annotated[float, Field(ge=0, lt=1)], Annotated[float, Field(ge=0, lt=1)]],
    Field(strict=False),  # YAML and JSON have lists instead of tuples
]


class AdamConfig(Config):
    """Options of `Adam`; the weight decay is added to the gradient, like an L2 penalty."""

    betas: Betas = option((0.9, 0.999), "decay rates of the mean and of the square of gradients")
    eps: float = option(1e-8, "added to the denominator", minimum=0.0)
    weight_decay: float = option(
        0.0, "weight decay: this times the parameters is added to the gradient", minimum=0.0
    )


class AdamWConfig(AdamConfig):
    """Options of `AdamW`."""

    weight_decay: float = option(
        0.01,
        "decoupled weight decay: a step subtracts this times the rate times the parameters",
        minimum=0.0,
    )


class SgdConfig(Config):
    """Options of `Sgd`."""

    momentum: float = option(0.0, "momentum", minimum=0.0, maximum=1.0)
    nesterov: bool = option(False, "use Nesterov momentum")
    weight_decay: float = option(
        0.0, "weight decay: this times the parameters is added to the gradient", minimum=0.0
    )


class LionConfig(Config):
    """Options of `Lion`."""

    betas: Betas = option((0.9, 0.99), "decay rates of the momentum in a step and between steps")
    weight_decay: float = option(
        0.0,
        "decoupled weight decay: a step subtracts this times the rate times the parameters",
        minimum=0.0,
    )


class MuonConfig(AdamWConfig):
    """Options of `Muon`; `betas` and `eps` apply to AdamW, which trains the other parameters."""

    momentum: float = option(
        0.95, "decay rate of the mean of a matrix's gradients", minimum=0.0, maximum=1.0
    )
    nesterov: bool = option(True, "use Nesterov momentum")
    iterations: int = option(5, "number of Newton-Schulz iterations", minimum=1)


OPTIMISERS = (
    OptimiserSpec(
        "adam",
        "adaptive moments; weight decay is part of the gradient",
        f"{_OPTIMISERS}Adam",
        AdamConfig,
        "Kingma & Ba 2015",
    ),
    OptimiserSpec(
        "adamw",
        "adaptive moments with decoupled weight decay",
        f"{_OPTIMISERS}AdamW",
        AdamWConfig,
        "Loshchilov & Hutter 2019",
    ),
    OptimiserSpec(
        "sgd",
        "gradient descent with optional momentum",
        f"{_OPTIMISERS}Sgd",
        SgdConfig,
    ),
    OptimiserSpec(
        "lion",
        "sign of the momentum with decoupled weight decay",
        f"{_OPTIMISERS}Lion",
        LionConfig,
        "Chen et al. 2023",
    ),
    OptimiserSpec(
        "muon",
        "orthogonalised momentum for hidden matrices, AdamW for the rest",
        f"{_OPTIMISERS}Muon",
        MuonConfig,
        "Jordan et al. 2024; Liu et al. 2025",
    ),
)
"""The optimisers of this package."""


class ConstantConfig(Config):
    """Options of `ConstantSchedule`."""

    warm_up: int = option(0, "warm-up steps over which the rate rises linearly from 0", minimum=0)


class LinearConfig(ConstantConfig):
    """Options of `LinearSchedule`."""

    final: float = option(0.0, "final rate as a share of the peak", minimum=0.0, maximum=1.0)


class CosineConfig(LinearConfig):
    """Options of `CosineSchedule`."""


class InverseSqrtConfig(ConstantConfig):
    """Options of `InverseSqrtSchedule`."""

    warm_up: int = option(
        4000,
        "warm-up steps over which the rate rises linearly; after n times as many steps it is 1/√n",
        minimum=1,
    )


class PlateauConfig(ConstantConfig):
    """Options of `PlateauSchedule`."""

    metric: str = option("validation/cross-entropy", "the metric that must improve")
    better: Literal["less", "more"] = option(
        "less", "whether a smaller or a larger value is better"
    )
    factor: float = option(
        0.5, "factor on the rate when the metric has not improved", minimum=0.0, maximum=1.0
    )
    patience: int = option(5, "evaluations without an improvement before the rate falls", minimum=0)
    recent: int = option(
        0,
        "instead of patience: the rate falls when a value is worse than each of this many values "
        "before it",
        minimum=0,
        maximum=100,
    )
    threshold: float = option(1e-4, "relative improvement that counts", minimum=0.0)
    final: float = option(0.0, "smallest rate as a share of the peak", minimum=0.0, maximum=1.0)


SCHEDULES = (
    ScheduleSpec("constant", "the rate itself", f"{_OPTIMISERS}ConstantSchedule", ConstantConfig),
    ScheduleSpec(
        "linear",
        "linear warm-up, then linear decay",
        f"{_OPTIMISERS}LinearSchedule",
        LinearConfig,
    ),
    ScheduleSpec(
        "cosine",
        "linear warm-up, then cosine decay",
        f"{_OPTIMISERS}CosineSchedule",
        CosineConfig,
    ),
    ScheduleSpec(
        "inverse-sqrt",
        "linear warm-up, then decay with the inverse square root of the steps",
        f"{_OPTIMISERS}InverseSqrtSchedule",
        InverseSqrtConfig,
    ),
    ScheduleSpec(
        "plateau",
        "reduced whenever validation stops improving",
        f"{_OPTIMISERS}PlateauSchedule",
        PlateauConfig,
    ),
)
"""The schedules of this package."""
