"""The record of a run: rows of metrics.jsonl, loggers, figures and the manifest's status.

Rows depend on the run's work alone, `time/...` excepted: a resumed run repeats them to the bit.
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
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from poker_rl.algos.algorithm import Progress
from poker_rl.config.messages import printable
from poker_rl.config.settings import Refused
from poker_rl.evaluation.measurement import Measurement, first_of_each, flatten
from poker_rl.players.opponents import OPPONENTS
from poker_rl.storage.disk import at, check_reaches
from poker_rl.storage.folder import (
    CONFIG,
    FIGURES,
    MANIFEST,
    METRICS,
    is_number,
    read_rows,
    write_manifest,
)
from poker_rl.storage.progress import progress_bar
from poker_rl.storage.ran_on import now, peak_memory
from poker_rl.training.loggers import Logger, Row
from poker_rl.training.signals import Interrupted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class RunInUseError(Refused):
    """Another process is training the run of this folder."""


class RunRecord:
    """Record of a run, written by rank 0: rows, loggers' output, figures and manifest.

    A row holds the means of what `learn` returned since the last row, and the measurements.

    Args:
        folder: the run folder.
        config: the resolved settings of the run.
        manifest: the contents of manifest.json, whose status this record keeps up to date.
        loggers: called with each row after it is on the disk.

    Raises:
        RunInUseError: if another process is writing to this folder.
    """

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, Any],
        manifest: dict[str, Any],
        loggers: Sequence[Logger],
    ) -> None:
        self.folder, self.config, self.manifest, self.loggers = folder, config, manifest, loggers
        self.unit, self.budget = str(config["budget_unit"]), int(config["budget"])
        self.last_step = -1  # of the last row
        self.last_row: dict[str, float] = {}
        self.measurements: Mapping[str, Measurement] = {}  # of the last row of this process
        self.resumed_at: int | None = None  # decisions at the last row before the checkpoint
        self.last_counters = asdict(Progress())  # at the last row
        self.sums: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self.learning_s = 0.0  # since the last row
        self.elapsed_s = 0.0  # in earlier processes
        self.start_time = perf_counter()
        self.bar: Any = None
        self.has_learned = False  # in this process
        self.copies: list[Path] = []  # of opponents
        self.path = folder / METRICS
        self.file = self.path.open("ab")
        try:
            # The kernel drops the lock with the process, however it ends.
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise RunInUseError(f"{folder} is in use: another process is training it") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close everything and write into the manifest how the run ended."""
        # A broken pipe is the end of the reader of our output, as in `poker-rl train | head`.
        is_stop = isinstance(error, Interrupted | KeyboardInterrupt | BrokenPipeError)
        status = "finished" if error is None else "interrupted" if is_stop else "failed"
        if error is None:
            self.close(status)
            return
        if not is_stop:
            self.manifest["error"] = f"{type(error).__name__}: {error}"
        with suppress(OSError):  # what failed may fail again; the first error is raised
            self.close(status)

    def start(self, step: int) -> None:
        """Start the loggers and show the progress bar, `step` of the budget done."""
        for logger in self.loggers:
            logger.start(self.config, self.folder, self.resumed_at)
        done = min(step, self.budget)
        self.bar = progress_bar(self.budget, self.unit, initial=done, unit_scale=True)
        self.copies = list((self.folder / OPPONENTS).glob("*"))

    def state_dict(self) -> dict[str, Any]:
        """Where the rows end and what has been gathered for the next one."""
        return {
            "offset": self.file.tell(),
            "last_step": self.last_step,
            "last": dict(self.last_counters),
            "sums": dict(self.sums),
            "counts": dict(self.counts),
            "learning_s": self.learning_s,
            "elapsed_s": self.elapsed_s + perf_counter() - self.start_time,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a checkpoint. Rows after it stay until `truncate`.

        Raises:
            Refused: if rows from before it are missing.
        """
        offset, sums, counts = state["offset"], state["sums"], state["counts"]
        self.last_row = read_rows(self.path, offset)[-1]
        numbers = [*sums.values(), *counts.values()]
        if sums.keys() != counts.keys() or not all(map(is_number, numbers)):
            raise Refused(f"{self.folder}: its checkpoint is damaged: the sums are no numbers")
        self.file.seek(offset)
        self.last_step, self.last_counters = state["last_step"], dict(state["last"])
        self.resumed_at = self.last_counters["decisions"]
        self.sums, self.counts = dict(sums), dict(counts)
        self.learning_s, self.elapsed_s = state["learning_s"], state["elapsed_s"]

    def truncate(self) -> None:
        """Drop the rows that were written after the checkpoint, or all if there was none."""
        if self.last_step < 0:
            self.file.seek(0)
        self.file.truncate()

    def add(self, metrics: Mapping[str, float], seconds: float, step: int) -> None:
        """Add what one `learn` returned to the row in progress."""
        for tag, value in metrics.items():
            self.sums[tag] = self.sums.get(tag, 0.0) + float(value)
            self.counts[tag] = self.counts.get(tag, 0) + 1
        self.learning_s += seconds
        if not self.has_learned:
            self.bar.unpause()  # the first call compiles, which says nothing of the rate to come
            self.has_learned = True
        self.bar.update(min(step, self.budget) - self.bar.n)

    def write_row(
        self, progress: Progress, measurements: Mapping[str, Measurement], evaluation_s: float
    ) -> None:
        """Write a row, pass it to the loggers and start the next."""
        counters = asdict(progress)
        means = {tag: total / self.counts[tag] for tag, total in self.sums.items()}
        rates = {
            f"time/{name}_per_second": (count - self.last_counters[name]) / self.learning_s
            for name, count in counters.items()
            if count > self.last_counters[name] and self.learning_s > 0
        }
        times = {
            "time/elapsed_s": self.elapsed_s + perf_counter() - self.start_time,
            "time/evaluation_s": evaluation_s,
        }
        values = {**means, **flatten(measurements), **rates, **times}
        self.last_row = {**counters, **values}
        with at(self.path):
            self.file.write(json.dumps(self.last_row, allow_nan=False).encode() + b"\n")
            self.file.flush()
        self.check_files()
        self.last_step, self.last_counters = counters[self.unit], counters
        self.sums, self.counts, self.learning_s = {}, {}, 0.0
        self.measurements = measurements
        self.manifest["measurements"] = {
            f"eval/{tag}": {"unit": m.unit, "kind": m.kind} for tag, m in measurements.items()
        }
        for logger in self.loggers:
            logger.log(Row(counters, values, measurements), progress.decisions)
        headlines = first_of_each(measurements)
        text = ", ".join(f"{tag} {one.under(tag)}" for tag, one in headlines.items())
        self.bar.set_postfix_str(printable(text))

    def save_figures(self, figures: Mapping[str, Figure]) -> None:
        """Save figures as PNG files and pass them to the loggers."""
        from poker_rl.evaluation.drawing import save

        game, seed = self.config["names"]["game"], self.manifest["seed"]
        for name, figure in figures.items():
            path = self.folder / FIGURES / f"{name}.png"
            path.parent.mkdir(exist_ok=True)
            save(figure, path, f"run {self.folder}, {game}, seed {seed}")
            for logger in self.loggers:
                logger.figure(name, path, self.last_counters["decisions"])

    def write_manifest(self, **changes: Any) -> None:
        """Update the manifest and write it."""
        self.manifest |= changes
        write_manifest(self.folder, self.manifest)

    def sync(self) -> None:
        """Flush all rows to the disk, since a checkpoint counts on them."""
        with at(self.path):
            os.fsync(self.file.fileno())

    def check_files(self) -> None:
        """Check that nobody removed the run's files: writing to an open one would not fail.

        Raises:
            OSError: naming the file or the folder.
        """
        for path in (self.folder, self.folder / CONFIG, self.folder / MANIFEST, *self.copies):
            path.stat()
        check_reaches(self.file, self.path)

    def close(self, status: str) -> None:
        """Close all files, even if one of them fails, and write the manifest."""
        memory = max(self.manifest.get("peak_memory_mib") or 0, peak_memory())
        try:
            with at(self.path), ExitStack() as stack:
                stack.callback(self.file.close)
                for logger in self.loggers:
                    stack.callback(logger.close, status)
                if self.bar is not None:
                    with suppress(OSError):  # the terminal may be closed
                        self.bar.close()
        finally:
            self.write_manifest(status=status, end=now(), peak_memory_mib=memory)
