"""Logger for MLflow."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from poker_rl.training.loggers.tracker import Tracker

RUN_STATUSES = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
MAX_PARAM_CHARACTERS = 6000


@dataclass
class MLflow(Tracker):
    """Logger for MLflow, which stores runs on the server `tracking_uri` or in `outputs/mlflow`."""

    package = "mlflow"
    experiment: str
    tags: list[str]
    tracking_uri: str | None

    def open_run(self, config: Mapping[str, Any]) -> None:
        """Create a run in MLflow, or continue the one whose tag `tracker_id` is this run's id."""
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        import mlflow
        from mlflow.entities import Param

        uri = self.tracking_uri or self.files.as_uri()
        mlflow.set_tracking_uri(uri)
        experiment = mlflow.set_experiment(self.experiment).experiment_id
        self._client = mlflow.MlflowClient(uri)
        runs = []
        if self.is_resumed:
            runs = self._client.search_runs([experiment], f"tags.tracker_id = '{self.run_id}'")
        if runs:
            self._id, values = runs[0].info.run_id, runs[0].data.metrics
            self._last_step = int(values.get("decisions", -1))
            self._client.update_run(self._id, status="RUNNING")
            return
        tags = {"tracker_id": self.run_id, **self.names, **dict.fromkeys(self.tags, "true")}
        run = self._client.create_run(experiment, tags=tags, run_name=self.run_name)
        self._id, self._last_step = run.info.run_id, -1
        params = [Param(k, str(v)[:MAX_PARAM_CHARACTERS]) for k, v in self.hparams.items()]
        self._client.log_batch(self._id, params=params)

    def track(self, values: Mapping[str, float], figures: Mapping[str, Path], step: int) -> None:
        """Write values and figures after `step` decisions, except values that MLflow has already.

        The tag `value/seat_0` becomes `value_seat_0` if there is also a tag `value`, because MLflow
        uses tags as paths of files.
        """
        from mlflow.entities import Metric

        metrics, timestamp = [], int(time.time() * 1000)
        for tag, value in values.items() if step > self._last_step else ():
            parent, _, last = tag.rpartition("/")
            key = re.sub(r"[^\w./ -]", "_", f"{parent}_{last}" if parent in values else tag)
            metrics.append(Metric(key, value, timestamp, step))
        self._client.log_batch(self._id, metrics=metrics)
        for path in figures.values():
            self._client.log_artifact(self._id, str(path), "figures")

    def close_run(self, status: str) -> None:
        """Set the final status of the run in MLflow."""
        self._client.set_terminated(self._id, RUN_STATUSES[status])
