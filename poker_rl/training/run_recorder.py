"""Log of a run: rows of metrics.jsonl, loggers, figures and the status in the manifest.

On a CPU, a resumed run writes the rows of an uninterrupted one, bit for bit, except `time/...`.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any, Self

from poker_rl.algos.algorithm import Progress
from poker_rl.evaluation.result import (
    Result,
    results_to_metrics,
    select_first_result_of_each_player,
    select_headline_results,
)
from poker_rl.storage import run_files
from poker_rl.storage.disk import name_path_in_errors, write_text_atomically
from poker_rl.storage.terminal_printing import (
    create_progress_bar,
    escape_control_characters,
    print_line,
)
from poker_rl.training.loggers import Logger, Row
from poker_rl.training.run_outcome import RunInterruptedError


class RunRecorder:
    """Recorder of a run in rank 0: writes metrics.jsonl, manifest and figures, and calls loggers.

    A row has the counters of `Progress`, the means of the metrics that `learn` has returned since
    the previous row, and the measurements of the players.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], loggers: Sequence[Logger]) -> None:
        self.folder, self.config, self.loggers = folder, config, loggers
        self.manifest: dict[str, Any] = {}
        self.unit, self.budget = str(config["budget_unit"]), int(config["budget"])
        self.last_counters = asdict(Progress())
        self.results: Sequence[Result] = ()
        self.resumed_decisions: int | None = None  # at the last row that a resumed run keeps
        # Sum of each metric since the last row, and the number of values in it.
        self.sums: dict[str, tuple[float, int]] = {}
        self.learning_s = 0.0  # seconds spent in `learn` since the last row
        self.start_time = perf_counter()  # a resumed run shifts it, so interruptions don't count
        self.bar: Any = None
        self.path = folder / run_files.METRICS_FILE
        self.file = self.path.open("ab")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Close all files and loggers, even if one fails, and write the status to the manifest."""
        # BrokenPipeError counts as a stop: a program that reads the output, such as `head`, ended.
        is_stop = isinstance(error, RunInterruptedError | KeyboardInterrupt | BrokenPipeError)
        status = "finished" if error is None else "interrupted" if is_stop else "failed"
        if status == "failed":
            self.manifest["error"] = f"{type(error).__name__}: {error}"
        memory = max(self.manifest.get("peak_memory_mib") or 0, _get_peak_memory_mib())
        end = run_files.format_current_time()
        with ExitStack() as stack:
            if error is not None:  # closing may fail for the same reason; raise the first error
                stack.enter_context(suppress(OSError))
            stack.callback(self.update_manifest, status=status, end=end, peak_memory_mib=memory)
            stack.enter_context(name_path_in_errors(self.path))
            stack.callback(self.file.close)
            for logger in self.loggers:
                stack.callback(logger.close, status)
            if self.bar is not None:
                with suppress(OSError):  # the terminal of the progress bar may have been closed
                    self.bar.close()

    def start(self, step: int) -> None:
        """Start the loggers, and a progress bar that begins at `step`, in the budget's unit."""
        print_line(f"run folder: {self.folder}")
        if self.resumed_decisions is None:
            print_line("measuring the players before training")
        for logger in self.loggers:
            logger.start(self.config, self.folder, self.resumed_decisions)
        self.bar = create_progress_bar(
            self.budget, self.unit, initial=min(step, self.budget), unit_scale=True
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the length of metrics.jsonl in bytes, and the values that the next row needs."""
        times = {"learning_s": self.learning_s, "elapsed_s": perf_counter() - self.start_time}
        counters, sums = dict(self.last_counters), dict(self.sums)
        return {"offset": self.file.tell(), "last": counters, "sums": sums} | times

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a checkpoint's state; `truncate` will remove later rows from metrics.jsonl."""
        run_files.read_metrics_rows(self.path, state["offset"])  # raises if rows are missing
        self.file.seek(state["offset"])
        self.last_counters = dict(state["last"])
        self.resumed_decisions = self.last_counters["decisions"]
        self.sums, self.learning_s = dict(state["sums"]), state["learning_s"]
        self.start_time = perf_counter() - state["elapsed_s"]

    def truncate(self) -> None:
        """Remove the rows after the checkpoint from metrics.jsonl, or all rows of a new run."""
        if self.resumed_decisions is None:
            self.file.seek(0)
        self.file.truncate()

    def accumulate_metrics(self, metrics: Mapping[str, float], seconds: float, step: int) -> None:
        """Add metrics and duration of a call of `learn` that ended at `step`, in budget units."""
        for tag, value in metrics.items():
            total, count = self.sums.get(tag, (0.0, 0))
            self.sums[tag] = total + float(value), count + 1
        self.learning_s += seconds
        with suppress(OSError):  # the disk may be full, or the terminal closed
            self.bar.update(min(step, self.budget) - self.bar.n)

    def write_and_log_row(
        self, progress: Progress, results: Sequence[Result], evaluation_s: float
    ) -> None:
        """Write a row to metrics.jsonl and the loggers, and reset the sums."""
        counters = asdict(progress)
        values = {tag: total / count for tag, (total, count) in self.sums.items()}
        values |= results_to_metrics(results)
        for name, count in counters.items():
            if (new := count - self.last_counters[name]) > 0 and self.learning_s > 0:
                values[f"time/{name}_per_second"] = new / self.learning_s
        values |= {"time/elapsed_s": perf_counter() - self.start_time}
        values |= {"time/evaluation_s": evaluation_s}
        line = json.dumps({**counters, **values}, allow_nan=False)
        with name_path_in_errors(self.path):
            self.file.write(line.encode() + b"\n")
            self.file.flush()
        self.last_counters, self.results = counters, results
        self.sums, self.learning_s = {}, 0.0
        measurements = {result.tag: result for result in results}
        self.manifest["measurements"] |= {
            f"eval/{tag}": {"unit": m.unit, "kind": m.kind} for tag, m in measurements.items()
        }
        row = Row(counters, values, measurements, select_headline_results(results))
        for logger in self.loggers:
            logger.log(row, progress.decisions)
        headlines = (f"{one.tag} {one}" for one in select_first_result_of_each_player(results))
        with suppress(OSError):
            self.bar.set_postfix_str(escape_control_characters(", ".join(headlines)))

    def save_figures(self, figures: Mapping[str, Any]) -> None:
        """Save figures of matplotlib as PNG files and pass them to the loggers."""
        from poker_rl.evaluation.plots.plotting import save_figure

        game, seed = self.config["names"]["game"], self.manifest["seed"]
        for name, figure in figures.items():
            path = self.folder / run_files.FIGURES_FOLDER / f"{name}.png"
            path.parent.mkdir(exist_ok=True)
            save_figure(figure, path, f"run {self.folder}, {game}, seed {seed}")
            for logger in self.loggers:
                logger.log_figure(name, path, self.last_counters["decisions"])

    def update_manifest(self, **changes: Any) -> None:
        """Set the given keys of the manifest, and write the manifest to its file."""
        self.manifest |= changes
        text = json.dumps(self.manifest, indent=2) + "\n"
        write_text_atomically(self.folder / run_files.MANIFEST_FILE, text)


def _get_peak_memory_mib() -> int:
    """Return the largest amount of main memory that this process has used, in MiB."""
    bytes_per_unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * bytes_per_unit >> 20
