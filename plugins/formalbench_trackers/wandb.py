"""Weights & Biases, online or offline.

    formalbench run --model lstm --task parity --tracker wandb --set tracker.mode=offline
    wandb sync wandb/offline-run-*

Its own settings (``WANDB_MODE``, ``WANDB_DIR``, ``WANDB_ENTITY`` …) apply where no option is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from formalbench.contracts.config import Config, Value, option
from formalbench.contracts.errors import RequestError, need_package
from formalbench.contracts.hooks import RunInfo

from formalbench_trackers.tracker import INTERRUPTED, Axis, Tracker, title

if TYPE_CHECKING:
    from wandb import Run


class WandbConfig(Config):
    """The options of the tracker."""

    project: str = option("formalbench", "project of the runs")
    mode: Literal["", "online", "offline"] = option(
        "", "online or offline; empty for WANDB_MODE or online"
    )


class WandbTracker(Tracker["Run"]):
    """Logs training metrics over ``step``, test metrics over ``length``, results as the summary."""

    def __init__(self, config: WandbConfig) -> None:
        need_package("--tracker wandb", "wandb", "wandb")
        self._config = config
        self._log_in()
        super().__init__()

    def _log_in(self) -> None:
        """Log in before training, so that no prompt interrupts it."""
        import wandb

        if (self._config.mode or wandb.setup().settings.mode) != "online":
            return
        try:
            wandb.login(verify=False)
        except wandb.errors.UsageError:
            raise RequestError(
                "--tracker wandb: nobody is logged in: run `wandb login`, or add "
                "--set tracker.mode=offline"
            ) from None

    def begin(self, run: RunInfo, facts: Mapping[str, Value]) -> Run:
        """Open a run; several can be open at a time."""
        import wandb

        opened = wandb.init(
            project=self._config.project,
            name=title(run),
            config=dict(facts),
            tags=[run.train_id, run.test_id],
            mode=self._config.mode or None,
            reinit="create_new",
            settings=wandb.Settings(console="off", silent=True),
        )
        opened.define_metric("train/*", step_metric="step")
        opened.define_metric("validation/*", step_metric="step")
        opened.define_metric("test/*", step_metric="length")
        return opened

    def log(self, opened: Run, axis: Axis, at: int, numbers: Mapping[str, float]) -> None:
        """Log a row; steps are a column, since they start again when a run is retried."""
        opened.log({axis: at, **numbers})

    def conclude(
        self, opened: Run, status: str, config: Mapping[str, Value], results: Mapping[str, float]
    ) -> None:
        """Add config and results, and end the run; it is marked failed if it did not finish."""
        opened.config.update({**config, "status": status})
        opened.summary.update(dict(results))
        opened.finish(exit_code=0 if status == "finished" else 130 if status == INTERRUPTED else 1)
