"""Record of a run: rows of metrics.jsonl, loggers, figures and the status in the manifest.

A resumed run writes the same rows as an uninterrupted one, to the bit, except for tags `time/...`.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any, Self

from poker_rl.algos.algorithm import Progress
from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.result import (
    Result,
    flatten_results,
    select_first_results,
    select_headline_results,
)
from poker_rl.storage.console import create_progress_bar, escape_control_characters
from poker_rl.storage.disk import name_path_in_errors
from poker_rl.storage.run_folder import (
    FIGURES_FOLDER,
    METRICS_FILE,
    format_current_time,
    get_peak_memory_mib,
    read_metrics_rows,
    write_manifest,
)
from poker_rl.training.loggers import Logger, Row
from poker_rl.training.signals import RunInterruptedError


class RunRecord:
    """Record of a run, which rank 0 writes: metrics.jsonl, manifest, figures and loggers.

    A row contains the means of the metrics that `learn` has returned since the row before, and the
    measurements of the players. It is written to metrics.jsonl before the loggers get it.

    Raises:
        ConfigError: if another process is writing to the folder.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], loggers: Sequence[Logger]) -> None:
        self.folder, self.config, self.loggers = folder, config, loggers
        self.manifest: dict[str, Any] = {}
        self.unit, self.budget = str(config["budget_unit"]), int(config["budget"])
        self.last_row: dict[str, float] = {}
        self.last_counters = asdict(Progress())
        self.results: Sequence[Result] = ()
        self.resumed_at: int | None = None  # decisions at the last row that a resumed run keeps
        self.sums: dict[str, float] = {}  # sums of metrics since the last row
        self.counts: dict[str, int] = {}
        self.learning_s = 0.0  # seconds spent in `learn` since the last row
        self.elapsed_s = 0.0  # training time before this process, in seconds
        self.start_time = perf_counter()
        self.bar: Any = None
        self.path = folder / METRICS_FILE
        self.file = self.path.open("ab")
        try:
            # This lock ends with the process, even if the process is killed.
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise ConfigError(f"{folder} is in use: another process is training it") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Close all files and loggers, even if one fails, and write the status to the manifest."""
        # BrokenPipeError is no failure: a program that reads the output, such as `head`, has ended.
        is_stop = isinstance(error, RunInterruptedError | KeyboardInterrupt | BrokenPipeError)
        status = "finished" if error is None else "interrupted" if is_stop else "failed"
        if status == "failed":
            self.manifest["error"] = f"{type(error).__name__}: {error}"
        memory = max(self.manifest.get("peak_memory_mib") or 0, get_peak_memory_mib())
        end = format_current_time()
        with ExitStack() as stack:
            if error is not None:  # closing may fail for the same reason; raise the first error
                stack.enter_context(suppress(OSError))
            stack.callback(self.write_manifest, status=status, end=end, peak_memory_mib=memory)
            stack.enter_context(name_path_in_errors(self.path))
            stack.callback(self.file.close)
            for logger in self.loggers:
                stack.callback(logger.close, status)
            if self.bar is not None:
                with suppress(OSError):  # the terminal of the progress bar may have been closed
                    self.bar.close()

    def start(self, step: int) -> None:
        """Start the loggers, and a progress bar that begins at `step`, in the budget's unit."""
        for logger in self.loggers:
            logger.start(self.config, self.folder, self.resumed_at)
        self.bar = create_progress_bar(
            self.budget, self.unit, initial=min(step, self.budget), unit_scale=True
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the length of metrics.jsonl in bytes, and all that the next row depends on."""
        return {
            "offset": self.file.tell(),
            "last": dict(self.last_counters),
            "sums": dict(self.sums),
            "counts": dict(self.counts),
            "learning_s": self.learning_s,
            "elapsed_s": self.elapsed_s + perf_counter() - self.start_time,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load the state from a checkpoint; `truncate` later removes the rows after it."""
        self.last_row = read_metrics_rows(self.path, state["offset"])[-1]
        self.file.seek(state["offset"])
        self.last_counters = dict(state["last"])
        self.resumed_at = self.last_counters["decisions"]
        self.sums, self.counts = dict(state["sums"]), dict(state["counts"])
        self.learning_s, self.elapsed_s = state["learning_s"], state["elapsed_s"]

    def truncate(self) -> None:
        """Remove the rows after the checkpoint from metrics.jsonl; without one, remove all rows."""
        if self.resumed_at is None:
            self.file.seek(0)
        self.file.truncate()

    def add_metrics(self, metrics: Mapping[str, float], seconds: float, step: int) -> None:
        """Add the metrics and the duration of a call of `learn` to the sums for the next row.

        `step` is the progress after the call, in the budget's unit.
        """
        for tag, value in metrics.items():
            self.sums[tag] = self.sums.get(tag, 0.0) + float(value)
            self.counts[tag] = self.counts.get(tag, 0) + 1
        self.learning_s += seconds
        self.bar.update(min(step, self.budget) - self.bar.n)

    def write_row(self, progress: Progress, results: Sequence[Result], evaluation_s: float) -> None:
        """Write a row to metrics.jsonl and the loggers, and reset the sums."""
        counters = asdict(progress)
        rates = {
            f"time/{name}_per_second": (count - self.last_counters[name]) / self.learning_s
            for name, count in counters.items()
            if count > self.last_counters[name] and self.learning_s > 0
        }
        values = {
            **{tag: total / self.counts[tag] for tag, total in self.sums.items()},
            **flatten_results(results),
            **rates,
            "time/elapsed_s": self.elapsed_s + perf_counter() - self.start_time,
            "time/evaluation_s": evaluation_s,
        }
        self.last_row = {**counters, **values}
        with name_path_in_errors(self.path):
            self.file.write(json.dumps(self.last_row, allow_nan=False).encode() + b"\n")
            self.file.flush()
        self.last_counters, self.results = counters, results
        self.sums, self.counts, self.learning_s = {}, {}, 0.0
        measurements = {result.tag: result for result in results}
        self.manifest["measurements"] = {
            f"eval/{tag}": {"unit": m.unit, "kind": m.kind} for tag, m in measurements.items()
        }
        row = Row(counters, values, measurements, select_headline_results(results))
        for logger in self.loggers:
            logger.log(row, progress.decisions)
        headlines = (f"{one.tag} {one}" for one in select_first_results(results))
        self.bar.set_postfix_str(escape_control_characters(", ".join(headlines)))

    def save_figures(self, figures: Mapping[str, Any]) -> None:
        """Save figures of matplotlib as PNG files and pass them to the loggers."""
        from poker_rl.evaluation.plots.plotting import save_figure

        game, seed = self.config["names"]["game"], self.manifest["seed"]
        for name, figure in figures.items():
            path = self.folder / FIGURES_FOLDER / f"{name}.png"
            path.parent.mkdir(exist_ok=True)
            save_figure(figure, path, f"run {self.folder}, {game}, seed {seed}")
            for logger in self.loggers:
                logger.figure(name, path, self.last_counters["decisions"])

    def write_manifest(self, **changes: Any) -> None:
        """Set the given keys of the manifest, and write the manifest to its file."""
        self.manifest |= changes
        write_manifest(self.folder, self.manifest)

    def sync(self) -> None:
        """Flush metrics.jsonl to the disk, because a checkpoint contains its length."""
        with name_path_in_errors(self.path):
            os.fsync(self.file.fileno())
