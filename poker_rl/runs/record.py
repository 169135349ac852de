"""The rows of a run: metrics.jsonl, TensorBoard and the progress bar.

Rows depend on the run's work alone, `time/...` excepted: a resumed run repeats them to the bit.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from poker_rl.algos.algorithm import Progress
from poker_rl.config.settings import Refused
from poker_rl.evaluation.measurement import PERCENTILE, Measurement
from poker_rl.storage.disk import at
from poker_rl.storage.folder import FIGURES, METRICS, is_number, read_rows
from poker_rl.storage.progress import progress_bar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from poker_rl.runs.board import Board


class InUse(Refused):
    """Another process is training the run of this folder."""


class Recorder:
    """Writes the rows of a run.

    A row holds the means of what `learn` returned since the last row, and the measurements.

    Raises:
        InUse: if another process is writing to this folder.
    """

    def __init__(self, folder: Path, unit: str, budget: int, settings: dict[str, Any]) -> None:
        self.folder, self.unit, self.budget = folder, unit, budget
        self.settings: dict[str, Any] | None = settings
        # TensorBoard drops what a restart repeats, but takes the first start that it reads of for
        # no restart: a new run has to tell of its start too.
        self.purge_step = 0
        self.last_step = -1  # of the last row
        self.last = asdict(Progress())  # counters at the last row
        self.sums: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self.learning_s = 0.0  # since the last row
        self.elapsed_s = 0.0  # before this process
        self.began = perf_counter()
        self.bar: Any = None
        self.learned = False  # anything in this process
        self.measurements: Mapping[str, Measurement] = {}
        self.path = folder / METRICS
        self.file = self.path.open("ab")
        try:
            # The kernel drops the lock with the process, however it ends.
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise InUse(f"{folder} is in use: another process is training it") from None

    @cached_property
    def board(self) -> Board:
        """TensorBoard's file, opened after the first row is on the disk: the import takes long."""
        from torch.utils.tensorboard import summary

        from poker_rl.runs.board import Board

        board = Board(self.folder, self.purge_step)
        if self.settings is not None:
            # Only the start of the session: torch's add_hparams would make a run of its own, and
            # the experiment summary would hide the settings that the first run on the board lacks.
            hparams: Any = summary.hparams
            board.add(hparams(self.settings, {})[1])
            custom_scalars: Any = summary.custom_scalars
            board.add(custom_scalars(layout(self.measurements)))
        return board

    def start_over(self) -> None:
        """Forget the rows of a run that was killed before its first checkpoint."""
        self.file.seek(0)  # else `drop_the_rest` would fill the file with zeros up to where it was
        self.file.truncate()

    def begin(self, step: int) -> None:
        """Show the progress bar, `step` of the budget done."""
        done = min(step, self.budget)
        self.bar = progress_bar(self.budget, self.unit, initial=done, unit_scale=True)

    def state_dict(self) -> dict[str, Any]:
        """Where the rows end and what has been gathered for the next one."""
        return {
            "offset": self.file.tell(),
            "last_step": self.last_step,
            "last": dict(self.last),
            "sums": dict(self.sums),
            "counts": dict(self.counts),
            "learning_s": self.learning_s,
            "elapsed_s": self.elapsed_s + perf_counter() - self.began,
        }

    def load_state_dict(self, state: dict[str, Any]) -> dict[str, float]:
        """Go on from a checkpoint; the last row. Rows after it are there until `drop_the_rest`.

        Raises:
            Refused: if rows from before it are missing.
        """
        offset, sums, counts = state["offset"], state["sums"], state["counts"]
        rows = read_rows(self.path, offset)
        numbers = [*sums.values(), *counts.values()]
        if sums.keys() != counts.keys() or not all(map(is_number, numbers)):
            raise Refused(f"{self.folder}: its checkpoint is damaged: the sums are no numbers")
        self.file.seek(offset)
        self.last_step, self.last = state["last_step"], dict(state["last"])
        self.sums, self.counts = dict(state["sums"]), dict(state["counts"])
        self.learning_s, self.elapsed_s = state["learning_s"], state["elapsed_s"]
        self.purge_step = self.last["decisions"] + 1
        self.settings = None  # TensorBoard has them from the first time
        return rows[-1]

    def drop_the_rest(self) -> None:
        """Drop the rows that were written after the checkpoint."""
        self.file.truncate()

    def add(self, metrics: Mapping[str, float], seconds: float, step: int) -> None:
        """Gather what one `learn` returned."""
        for tag, value in metrics.items():
            self.sums[tag] = self.sums.get(tag, 0.0) + float(value)
            self.counts[tag] = self.counts.get(tag, 0) + 1
        self.learning_s += seconds
        if not self.learned:
            self.bar.unpause()  # what was compiled on the way is not the rate to come
            self.learned = True
        self.bar.update(min(step, self.budget) - self.bar.n)

    def row(
        self, progress: Progress, measurements: Mapping[str, Measurement], evaluation_s: float
    ) -> dict[str, float]:
        """Write a row and begin to gather the next."""
        counters = asdict(progress)
        means = {tag: total / self.counts[tag] for tag, total in self.sums.items()}
        rates = {
            f"time/{name}_per_second": (count - self.last[name]) / self.learning_s
            for name, count in counters.items()
            if count > self.last[name] and self.learning_s > 0
        }
        times = {
            "time/elapsed_s": self.elapsed_s + perf_counter() - self.began,
            "time/evaluation_s": evaluation_s,
        }
        values = {**means, **flatten(measurements), **rates, **times}
        row = {**counters, **values}
        with at(self.path):
            self.file.write(json.dumps(row, allow_nan=False).encode() + b"\n")
            self.file.flush()
        self.last_step, self.last = counters[self.unit], counters
        self.sums, self.counts, self.learning_s = {}, {}, 0.0
        self.measurements = measurements
        self._scalars(values, measurements)
        told = first_of_each(measurements)
        self.bar.set_postfix_str(", ".join(f"{tag} {one.under(tag)}" for tag, one in told.items()))
        return row

    def _scalars(
        self, values: Mapping[str, float], measurements: Mapping[str, Measurement]
    ) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary  # type: ignore[import-untyped]
        from tensorboard.plugins.scalar.metadata import create_summary_metadata  # type: ignore[import-untyped]
        from torch.utils.tensorboard import summary

        scalar: Any = summary.scalar
        row = Summary()
        for tag, value in values.items():
            if tag.endswith("/half_width"):
                continue  # a chart of its own, of no use without its match; figures draw both
            one = scalar(board_tag(tag), value, new_style=True)
            measurement = measurements.get(tag.removeprefix("eval/"))
            about = "" if measurement is None else f"{measurement.unit}, {measurement.kind}"
            # torch leaves out the data class, and TensorBoard's data server skips values without
            # it, or of double precision.
            one.value[0].metadata.CopyFrom(create_summary_metadata("", about))
            row.value.extend(one.value)
        # Learners and solvers count their budgets differently, and can be compared by decisions.
        self.board.add(row, self.last["decisions"])

    def figure(self, name: str, figure: Figure, origin: str) -> None:
        """Keep a figure as PNG and in TensorBoard; `origin` says whose numbers it shows."""
        from poker_rl.evaluation.drawing import save

        path = self.folder / FIGURES / f"{name}.png"
        path.parent.mkdir(exist_ok=True)
        save(figure, path, origin)
        # The same file for TensorBoard: writer.add_figure would draw everything once more.
        from tensorboard.compat.proto.summary_pb2 import Summary

        png = path.read_bytes()
        image = Summary.Image(
            encoded_image_string=png,
            width=int.from_bytes(png[16:20]),
            height=int.from_bytes(png[20:24]),
            colorspace=4,  # RGBA
        )
        value = Summary.Value(tag=f"figures/{name}", image=image)
        self.board.add(Summary(value=[value]), self.last["decisions"])

    def sync(self) -> None:
        """Put all rows on the disk: a checkpoint counts on them."""
        with at(self.path):
            os.fsync(self.file.fileno())

    def close(self) -> None:
        """Close all files, those that can be even if one can't."""
        with at(self.path), ExitStack() as stack:
            stack.callback(self.file.close)
            if "board" in self.__dict__:  # opened at all
                stack.callback(self.board.close)
            if self.bar is not None:
                with suppress(OSError):  # whoever looked at it has left
                    self.bar.close()


def flatten(measurements: Mapping[str, Measurement]) -> dict[str, float]:
    """Measurements as tags and values, sampled ones but percentiles with their half width."""
    values = {}
    for tag, measurement in measurements.items():
        values[f"eval/{tag}"] = float(measurement.value)
        if measurement.half_width is not None and not PERCENTILE.search(tag):
            values[f"eval/{tag}/half_width"] = float(measurement.half_width)
    return values


def board_tag(tag: str) -> str:
    """The tag in TensorBoard: percentiles have a group of their own, below that of the means."""
    measured = tag.startswith("eval/") and PERCENTILE.search(tag)
    return tag.replace("eval/", "eval_percentiles/", 1) if measured else tag


def layout(measurements: Mapping[str, Measurement]) -> dict[str, dict[str, list[Any]]]:
    """TensorBoard's custom scalars: a chart a measure with all players, the headline's first."""

    def charts(tags: Iterable[str]) -> dict[str, list[Any]]:
        measures = dict.fromkeys(tag.partition("/")[2] for tag in tags)
        return {
            measure: ["Multiline", [f"eval/[^/]+/{re.escape(measure)}$"]] for measure in measures
        }

    first = charts(first_of_each(measurements))
    others = charts(tag for tag in measurements if board_tag(f"eval/{tag}") == f"eval/{tag}")
    rest = {measure: chart for measure, chart in others.items() if measure not in first}
    return {"headline": first, "other measures": rest} if rest else {"headline": first}


def first_of_each(measurements: Mapping[str, Measurement]) -> dict[str, Measurement]:
    """The first measurement of each player, that of the headline player first."""
    tags: dict[str, str] = {}
    for tag in measurements:
        tags.setdefault(tag.partition("/")[0], tag)
    return {tag: measurements[tag] for tag in tags.values()}
