"""TensorBoard: a folder of event files for each run.

formalbench run --model lstm --task parity --tracker tensorboard --set tracker.folder=events
tensorboard --logdir events
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from formalbench.contracts.config import Config, Value, option
from formalbench.contracts.errors import need_package
from formalbench.contracts.hooks import RunInfo

from formalbench_trackers.tracker import Axis, Tracker

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class TensorBoardConfig(Config):
    """The options of the tracker."""

    folder: str = option("runs", "folder of the event files, with a folder per run")


class TensorBoardTracker(Tracker["SummaryWriter"]):
    """Writes scalars over steps and over lengths, and the config as hyperparameters."""

    def __init__(self, config: TensorBoardConfig) -> None:
        need_package("--tracker tensorboard", "tensorboard", "tensorboard")
        self._folder = Path(config.folder).absolute()
        super().__init__()

    def begin(self, run: RunInfo, facts: Mapping[str, Value]) -> SummaryWriter:
        """Open a run's folder; hide the data of an earlier attempt."""
        from formalbench.store import safe_name
        from torch.utils.tensorboard import SummaryWriter

        leaf = f"seed-{run.seed}-{run.test_id}"
        place = self._folder / safe_name(run.model) / safe_name(run.task) / leaf
        writer = SummaryWriter(str(place), purge_step=0)
        for name, value in facts.items():
            writer.add_text(f"config/{name}", str(value))
        return writer

    def log(self, opened: SummaryWriter, axis: Axis, at: int, numbers: Mapping[str, float]) -> None:
        """Add scalars; the step of test metrics is the string length."""
        for name, value in numbers.items():
            opened.add_scalar(name, value, at)

    def conclude(
        self,
        opened: SummaryWriter,
        status: str,
        config: Mapping[str, Value],
        results: Mapping[str, float],
    ) -> None:
        """Add the config and the results as a row of hyperparameters."""
        opened.add_text("status", status)
        if config:
            opened.add_hparams({**config, "status": status}, {**results}, run_name=".")
        opened.close()
