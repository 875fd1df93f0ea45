"""MLflow: a tracking server, or a folder of files.

formalbench run --model lstm --task parity --tracker mlflow
formalbench run --model lstm --task parity --tracker mlflow --set tracker.uri=http://…
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from formalbench.contracts.config import Config, Value, option
from formalbench.contracts.errors import need_package
from formalbench.contracts.hooks import RunInfo

from formalbench_trackers.tracker import INTERRUPTED, Axis, Tracker, title

_MOST = 100
"""Maximum parameters per request."""

_ENDED = {"finished": "FINISHED", INTERRUPTED: "KILLED"}


class MlflowConfig(Config):
    """The options of the tracker."""

    uri: str = option(
        "", "address of the MLflow store; empty for MLFLOW_TRACKING_URI or the folder mlruns"
    )
    experiment: str = option("formalbench", "experiment of the runs")


class MlflowTracker(Tracker[str]):
    """Logs curves as metrics; the step of test metrics is the string length."""

    def __init__(self, config: MlflowConfig) -> None:
        need_package("--tracker mlflow", "mlflow", "mlflow")
        from mlflow.tracking import MlflowClient

        folder = Path("mlruns").absolute().as_uri()
        uri = config.uri or os.environ.get("MLFLOW_TRACKING_URI") or folder
        if uri.startswith("file:"):  # MLflow refuses folders by default in favour of a database
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        self._client = MlflowClient(tracking_uri=uri)
        self._name = config.experiment
        self._experiment: str | None = None
        super().__init__()

    def begin(self, run: RunInfo, facts: Mapping[str, Value]) -> str:
        """Open a run, and return its id."""
        if self._experiment is None:
            experiment = self._client.get_experiment_by_name(self._name)
            experiment_id = experiment.experiment_id if experiment else None
            self._experiment = experiment_id or self._client.create_experiment(self._name)
        tags = {"train_id": run.train_id, "test_id": run.test_id}
        opened = self._client.create_run(self._experiment, tags=tags, run_name=title(run))
        self._add_params(opened.info.run_id, facts)
        return str(opened.info.run_id)

    def _add_params(self, run_id: str, values: Mapping[str, Value]) -> None:
        from mlflow.entities import Param

        params = [Param(name, str(value)) for name, value in values.items()]
        for start in range(0, len(params), _MOST):
            self._client.log_batch(run_id, params=params[start : start + _MOST])

    def log(self, opened: str, axis: Axis, at: int, numbers: Mapping[str, float]) -> None:
        """Log numbers at a step, or at a length."""
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(name, value, now, at) for name, value in numbers.items()]
        self._client.log_batch(opened, metrics=metrics)

    def conclude(
        self, opened: str, status: str, config: Mapping[str, Value], results: Mapping[str, float]
    ) -> None:
        """Add config and results, and end the run."""
        self._add_params(opened, config)
        self.log(opened, "step", 0, results)
        self._client.set_tag(opened, "status", status)
        self._client.set_terminated(opened, _ENDED.get(status, "FAILED"))
