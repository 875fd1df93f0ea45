"""Register the trackers. Imports none of their libraries, so that listings are instant."""

from __future__ import annotations

from collections.abc import Iterable

from formalbench.contracts.hooks import hookimpl
from formalbench.contracts.specs import TrackerSpec

_HERE = "formalbench_trackers."


@hookimpl
def formalbench_trackers() -> Iterable[TrackerSpec]:
    """Register the trackers of this package."""
    yield TrackerSpec(
        "tensorboard",
        "event files for TensorBoard, one folder per run",
        f"{_HERE}tensorboard:TensorBoardTracker",
        f"{_HERE}tensorboard:TensorBoardConfig",
    )
    yield TrackerSpec(
        "wandb",
        "Weights & Biases, online or offline",
        f"{_HERE}wandb:WandbTracker",
        f"{_HERE}wandb:WandbConfig",
    )
    yield TrackerSpec(
        "mlflow",
        "MLflow: a server, or a folder of files",
        f"{_HERE}mlflow:MlflowTracker",
        f"{_HERE}mlflow:MlflowConfig",
    )
