"""Loggers for experiment trackers: Weights & Biases, MLflow and Trackio.

A tracker works in its own thread, because its library may wait for a network. If it fails or hangs,
the run continues without it. Rows that a resumed run writes again are not tracked a second time.
"""

from __future__ import annotations

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, ClassVar, Literal

from poker_rl.config.input_checks import ConfigError
from poker_rl.storage.run_files import flatten_hparams, read_manifest
from poker_rl.storage.terminal_printing import print_error
from poker_rl.training.loggers import Logger, Row

# Names in MLflow of the statuses with which a run ends
RUN_STATUSES = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
# Longest wait for a tracker at the end of a run; starting a library takes up to 20 s.
TIMEOUT_S = 60.0


class Tracker(Logger, ABC):
    """Logger for an experiment tracker.

    `open_run`, `track` and `close_run` are called in one thread, and may raise any exception.

    Attributes:
        names: the selected option of each group, such as {"game": "kuhn"}.
        files: folder for the tracker's files, shared by all runs in `outputs`; a run whose folder
            was moved has its own.
    """

    package: ClassVar[str]  # name of the library and of the extra that installs it
    last_step = -1  # step of the tracker's last row; for a resumed run, `open_run` may set it
    _run: Any
    _thread: Thread | None = None
    _is_disabled = False

    def __post_init__(self) -> None:
        if find_spec(self.package) is None:
            raise ConfigError(f"needs more packages: pip install 'poker-rl[{self.package}]'")

    @abstractmethod
    def open_run(self, config: Mapping[str, Any]) -> None:
        """Open a new run in the tracker, or the existing run whose id is `self.run_id`."""

    def track(self, values: Mapping[str, float], figures: Mapping[str, Path], step: int) -> None:
        """Write values or figures after `step` decisions; figures are PNG files."""
        library = import_module(self.package)
        images = {name: library.Image(str(path)) for name, path in figures.items()}
        self._run.log({**values, **images}, step=step)

    def close_run(self, status: str) -> None:
        """End the tracker's run; `status` is finished, interrupted or failed."""
        self._run.finish()

    def start(self, config: Mapping[str, Any], folder: Path, resumed_decisions: int | None) -> None:
        """Start the thread and open the run in it."""
        manifest, folder = read_manifest(folder), folder.resolve()
        self.run_id, self.is_resumed = str(manifest["tracker_id"]), bool(manifest["resumed"])
        self.names, self.hparams = dict(config["names"]), flatten_hparams(config)
        self.run_name = "/".join((self.names["game"], self.names["algo"], folder.name))
        is_in_place = "/".join(folder.parts[-3:]) == self.run_name  # else the run was moved
        self.files = (folder.parents[2] if is_in_place else folder) / self.package
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._calls.put(partial(self.open_run, config))
        self._thread = Thread(target=self._run_calls, daemon=True)
        self._thread.start()

    def log(self, row: Row, step: int) -> None:
        """Track the counters and the values, except half-widths of confidence intervals."""
        headlines = {f"eval/{tag}": result.value for tag, result in row.headlines.items()}
        values = {tag: one for tag, one in row.values.items() if not tag.endswith("/half_width")}
        values = {**row.counters, **headlines, **values}
        self._calls.put(lambda: self.track(values, {}, step) if step > self.last_step else None)

    def log_figure(self, name: str, path: Path, step: int) -> None:
        self._calls.put(partial(self.track, {}, {f"figures/{name}": path}, step))

    def close(self, status: str) -> None:
        """Close the run; wait until everything is tracked, but at most TIMEOUT_S seconds."""
        if self._thread is None:
            return
        self._calls.put(partial(self.close_run, status))
        self._calls.put(None)
        self._thread.join(TIMEOUT_S)
        if self._thread.is_alive():
            self._disable(f"no answer for {TIMEOUT_S:g} s")

    def _run_calls(self) -> None:
        try:
            while (call := self._calls.get()) is not None:
                call()
        except (Exception, SystemExit) as error:
            reason = str(error).strip().partition("\n")[0]
            self._disable(f"{type(error).__name__}: {reason}")

    def _disable(self, reason: str) -> None:
        """Print a warning, if none was printed before, that the tracker gets no more data."""
        if not self._is_disabled:
            self._is_disabled = True
            print_error(f"logger {self.package}: {reason}; the run continues without this logger")


@dataclass
class WandB(Tracker):
    """Logger for Weights & Biases (W&B), whose files are in `outputs/wandb`."""

    package = "wandb"
    project: str
    tags: list[str]
    mode: Literal["offline", "online"]

    def open_run(self, config: Mapping[str, Any]) -> None:
        import wandb

        self.files.mkdir(exist_ok=True)  # W&B would use a temporary folder if this one were missing
        self._run = wandb.init(
            project=self.project,
            id=self.run_id,
            name=self.run_name,
            config=dict(config),
            allow_val_change=True,  # the budget of a resumed run may be larger
            tags=[*map(str, self.names.values()), *self.tags],
            mode=self.mode,
            dir=self.files.parent,
            resume="allow",
            settings=wandb.Settings(
                silent=True,
                console="off",
                init_timeout=TIMEOUT_S,
                finish_timeout=TIMEOUT_S,
                finish_timeout_raises=True,
            ),
        )

    def close_run(self, status: str) -> None:
        self._run.summary["status"] = status
        self._run.finish(exit_code=int(status == "failed"))


@dataclass
class MLflow(Tracker):
    """Logger for MLflow, which stores runs on the server `tracking_uri` or in `outputs/mlflow`."""

    package = "mlflow"
    experiment: str
    tags: list[str]
    tracking_uri: str | None

    def open_run(self, config: Mapping[str, Any]) -> None:
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
            self.last_step = int(values.get("decisions", -1))
            self._client.update_run(self._id, status="RUNNING")
            return
        tags = {"tracker_id": self.run_id, **self.names, **dict.fromkeys(self.tags, "true")}
        run = self._client.create_run(experiment, tags=tags, run_name=self.run_name)
        self._id = run.info.run_id
        # MLflow accepts values of up to 6,000 characters.
        params = [Param(key, str(value)[:6000]) for key, value in self.hparams.items()]
        self._client.log_batch(self._id, params=params)

    def track(self, values: Mapping[str, float], figures: Mapping[str, Path], step: int) -> None:
        from mlflow.entities import Metric

        metrics, timestamp = [], int(time.time() * 1000)
        for tag, value in values.items():
            # MLflow uses tags as file paths, and a path can't be both a file and a folder. So if
            # there is a tag `value`, the tag `value/seat_0` becomes `value_seat_0`.
            parent, _, last = tag.rpartition("/")
            key = re.sub(r"[^\w./ -]", "_", f"{parent}_{last}" if parent in values else tag)
            metrics.append(Metric(key, value, timestamp, step))
        self._client.log_batch(self._id, metrics=metrics)
        for path in figures.values():
            self._client.log_artifact(self._id, str(path), "figures")

    def close_run(self, status: str) -> None:
        self._client.set_terminated(self._id, RUN_STATUSES[status])


@dataclass
class Trackio(Tracker):
    """Logger for Trackio: runs are in the Hugging Face Space `space_id` or in `outputs/trackio`."""

    package = "trackio"
    project: str
    space_id: str | None

    def open_run(self, config: Mapping[str, Any]) -> None:
        os.environ.setdefault("TRACKIO_DIR", str(self.files))
        # Trackio loses values while another thread imports matplotlib, so import matplotlib first.
        import matplotlib.figure  # noqa: F401
        import trackio

        self._run = trackio.init(
            self.project,
            name=f"{self.run_name} {self.run_id}".replace("/", " "),
            group=f"{self.names['game']} {self.names['algo']}",
            space_id=self.space_id,
            config=self.hparams,
            resume="allow",
            embed=False,
        )
        if self.is_resumed:
            self.last_step = self._run._next_step - 1
