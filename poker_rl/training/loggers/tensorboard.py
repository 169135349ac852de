"""Logger for TensorBoard, which writes its event files.

TensorBoard treats each folder with an event file as a run, and gives each run one color. So each
player has an event file of its own, in `players/<player>`; everything else is in the run folder.

TensorBoard's own writer uses a thread, whose failures are only printed as tracebacks. Here a
failure raises an OSError with the path. TensorBoard is imported late, after the first row was
written to the disk, because the import is slow.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from poker_rl.evaluation.result import Result, select_first_results
from poker_rl.storage.checkpoint import PLAYERS_FOLDER
from poker_rl.storage.disk import error_path
from poker_rl.storage.run_folder import flatten_hparams
from poker_rl.training.loggers import Row


@dataclass
class TensorBoard:
    """Scalars, figures, hyperparameters and a layout of charts for TensorBoard."""

    _files: dict[Path, EventFile] = field(default_factory=dict, init=False, repr=False)

    def start(self, config: Mapping[str, Any], folder: Path, resumed_at: int | None) -> None:
        """Store the arguments; files are opened at the first row."""
        self._config, self._folder, self._resumed_at = config, folder, resumed_at
        self._game = str(config["names"]["game"])

    def log(self, row: Row, step: int) -> None:
        """Write a scalar for each value, except half-widths of confidence intervals."""
        values = {tag: value for tag, value in row.values.items() if not tag.startswith("eval/")}
        headlines = {f"eval/{tag}": result for tag, result in row.headlines.items()}
        # The step is in decisions, so that runs with different budget units are comparable.
        self._open(self._folder, row.measurements.values()).write_scalars(values, headlines, step)
        results: dict[str, dict[str, Result]] = {}
        for result in row.measurements.values():
            tag = to_tensorboard_tag(self._game, result)
            results.setdefault(result.player, {})[tag] = result
        for player, results_by_tag in results.items():
            file = self._open(self._folder / PLAYERS_FOLDER / player)
            file.write_scalars({}, results_by_tag, step)

    def figure(self, name: str, path: Path, step: int) -> None:
        """Write the PNG file at `path` into the event file, as an image."""
        from tensorboard.compat.proto.summary_pb2 import Summary  # type: ignore[import-untyped]

        png = path.read_bytes()
        image = Summary.Image(
            encoded_image_string=png,
            width=int.from_bytes(png[16:20]),
            height=int.from_bytes(png[20:24]),
            colorspace=4,  # RGBA
        )
        summary = Summary(value=[Summary.Value(tag=f"figures/{name}", image=image)])
        self._open(self._folder).write_summary(summary, step)

    def close(self, status: str) -> None:
        """Close the event files."""
        for file in self._files.values():
            file.close()

    def _open(self, folder: Path, results: Iterable[Result] = ()) -> EventFile:
        """Return the event file in a folder; open it at the first call.

        The event file of a new run begins with its settings and the layout of the charts.
        """
        if folder in self._files:
            return self._files[folder]
        from torch.utils.tensorboard import summary

        folder.mkdir(parents=True, exist_ok=True)
        file = self._files[folder] = EventFile(folder, self._resumed_at)
        if self._resumed_at is None and folder == self._folder:
            # Of the three summaries, only the one for the start of a session is written. The first,
            # of the experiment, would hide settings that TensorBoard's first run lacks; and torch's
            # add_hparams would write all of them as a run of its own.
            hparams = summary.hparams(flatten_hparams(self._config), {})[1]  # type: ignore[no-untyped-call]
            file.write_summary(hparams, 0)
            layout = build_layout(self._game, list(results))
            file.write_summary(summary.custom_scalars(layout), 0)  # type: ignore[no-untyped-call]
        return file


class EventFile:
    """Event file, created in a folder, that TensorBoard reads."""

    def __init__(self, folder: Path, resumed_at: int | None) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog  # type: ignore[import-untyped]
        from tensorboard.summary.writer.record_writer import RecordWriter  # type: ignore[import-untyped]

        # TensorBoard reads the files of a run in the order of the times in their names.
        name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
        self._path = folder / name
        self._file = self._path.open("xb")
        self._records = RecordWriter(self._file)
        self._write(Event(file_version="brain.Event:2"))
        # At a START, TensorBoard drops the values of older files from this step on. It ignores the
        # first START of a run, so a new run needs one too.
        step = 0 if resumed_at is None else resumed_at + 1
        self._write(Event(step=step, session_log=SessionLog(status=SessionLog.START)))

    def write_scalars(
        self, values: Mapping[str, float], results: Mapping[str, Result], step: int
    ) -> None:
        """Write values and results by tag; TensorBoard shows a result's unit and kind beside it."""
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.scalar.metadata import create_summary_metadata  # type: ignore[import-untyped]
        from torch.utils.tensorboard.summary import scalar

        texts = {tag: f"{result.unit}, {result.kind}" for tag, result in results.items()}
        summary = Summary()
        for tag, value in {**values, **{tag: one.value for tag, one in results.items()}}.items():
            one = scalar(tag, value, new_style=True)  # type: ignore[no-untyped-call]
            # TensorBoard's data server skips values without a data class, which torch omits, and
            # values of double precision.
            one.value[0].metadata.CopyFrom(create_summary_metadata("", texts.get(tag, "")))
            summary.value.extend(one.value)
        self.write_summary(summary, step)

    def write_summary(self, summary: Any, step: int) -> None:
        """Write a summary after `step` decisions."""
        from tensorboard.compat.proto.event_pb2 import Event

        self._write(Event(step=step, summary=summary))

    def close(self) -> None:
        """Close the file."""
        with error_path(self._path):
            self._file.close()

    def _write(self, event: Any) -> None:
        event.wall_time = time.time()
        with error_path(self._path):
            self._records.write(event.SerializeToString())
            self._file.flush()


def to_tensorboard_tag(game: str, result: Result) -> str:
    """Return TensorBoard's tag of a result, whose first part is the group of charts.

    Each game has a group of its own, and so have percentiles.
    """
    return f"eval_{game}{'_percentiles' if result.is_percentile else ''}/{result.measure}"


def build_layout(game: str, results: Iterable[Result]) -> dict[str, dict[str, list[Any]]]:
    """Return the layout of charts: one chart for each measure, with a line for each player.

    The first section contains the measure that comes first for some player. The result has the
    form {section: {chart: ["Multiline", [pattern of tags]]}}.
    """
    results = [result for result in results if not result.is_percentile]
    first = {result.measure for result in select_first_results(results)}
    sections: dict[str, dict[str, list[Any]]] = {}
    for result in results:
        section = game if result.measure in first else f"{game}: other measures"
        pattern = f"{re.escape(to_tensorboard_tag(game, result))}$"
        sections.setdefault(section, {})[result.measure] = ["Multiline", [pattern]]
    return sections
