"""Logger for TensorBoard, which writes its event files.

TensorBoard treats each folder with an event file as a run, and gives each run one color. So each
player has its own event file, in `players/<player>`; all other values are in that of the run
folder.

TensorBoard's own writer is not used, because it only prints errors; here an error of the disk
raises an OSError with the path. TensorBoard is imported at the first row, because this is slow.
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
from poker_rl.storage.disk import name_path_in_errors
from poker_rl.storage.run_folder import flatten_hparams
from poker_rl.training.loggers import Row


@dataclass
class TensorBoard:
    """Logger that writes scalars, figures, hyperparameters and the layout of charts."""

    _files: dict[Path, EventFile] = field(default_factory=dict, init=False, repr=False)

    def start(self, config: Mapping[str, Any], folder: Path, resumed_at: int | None) -> None:
        """Store the arguments; files are opened at the first row."""
        self._config, self._folder, self._resumed_at = config, folder, resumed_at
        self._game = str(config["names"]["game"])

    def log(self, row: Row, step: int) -> None:
        """Write a row as scalars, without half-widths of confidence intervals."""
        values = {tag: value for tag, value in row.values.items() if not tag.startswith("eval/")}
        headlines = {f"eval/{tag}": result for tag, result in row.headlines.items()}
        # TensorBoard's x axis counts decisions, because runs may have different budget units.
        self._open(self._folder, row.measurements.values()).write_scalars(values, headlines, step)
        results: dict[str, dict[str, Result]] = {}
        for result in row.measurements.values():
            tag = to_tensorboard_tag(self._game, result)
            results.setdefault(result.player, {})[tag] = result
        for player, results_by_tag in results.items():
            file = self._open(self._folder / PLAYERS_FOLDER / player)
            file.write_scalars({}, results_by_tag, step)

    def figure(self, name: str, path: Path, step: int) -> None:
        """Copy the PNG file at `path` into the event file."""
        from tensorboard.compat.proto.summary_pb2 import Summary  # type: ignore[import-untyped]

        png = path.read_bytes()
        image = Summary.Image(
            encoded_image_string=png,
            width=int.from_bytes(png[16:20]),
            height=int.from_bytes(png[20:24]),
            colorspace=4,
        )
        summary = Summary(value=[Summary.Value(tag=f"figures/{name}", image=image)])
        self._open(self._folder).write_summary(summary, step)

    def close(self, status: str) -> None:
        """Close the event files."""
        for file in self._files.values():
            file.close()

    def _open(self, folder: Path, results: Iterable[Result] = ()) -> EventFile:
        """Return the event file in a folder, which the first call creates.

        The event file of a new run begins with its settings and the layout of the charts.
        """
        if folder in self._files:
            return self._files[folder]
        from torch.utils.tensorboard import summary

        folder.mkdir(parents=True, exist_ok=True)
        file = self._files[folder] = EventFile(folder, self._resumed_at)
        if self._resumed_at is None and folder == self._folder:
            # Only the second of the three summaries is written, which gives this run its settings.
            # The first would hide settings that TensorBoard's first run lacks, and torch's
            # `add_hparams` would show the three summaries as a separate run.
            hparams = summary.hparams(flatten_hparams(self._config), {})[1]  # type: ignore[no-untyped-call]
            file.write_summary(hparams, 0)
            layout = build_layout(self._game, list(results))
            file.write_summary(summary.custom_scalars(layout), 0)  # type: ignore[no-untyped-call]
        return file


class EventFile:
    """New event file in a folder."""

    def __init__(self, folder: Path, resumed_at: int | None) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog  # type: ignore[import-untyped]
        from tensorboard.summary.writer.record_writer import RecordWriter  # type: ignore[import-untyped]

        # TensorBoard orders the event files in a folder by the times in their names.
        name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
        self._path = folder / name
        self._file = self._path.open("xb")
        self._records = RecordWriter(self._file)
        self._write(Event(file_version="brain.Event:2"))
        # From the step of a START on, TensorBoard ignores the values in older files, which a
        # resumed run writes again. A new run needs a START too, because the first has no effect.
        step = 0 if resumed_at is None else resumed_at + 1
        self._write(Event(step=step, session_log=SessionLog(status=SessionLog.START)))

    def write_scalars(
        self, values: Mapping[str, float], results: Mapping[str, Result], step: int
    ) -> None:
        """Write numbers by tag; TensorBoard shows the unit and kind of `results` beside them."""
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.scalar.metadata import create_summary_metadata  # type: ignore[import-untyped]
        from torch.utils.tensorboard.summary import scalar

        texts = {tag: f"{result.unit}, {result.kind}" for tag, result in results.items()}
        summary = Summary()
        for tag, value in {**values, **{tag: one.value for tag, one in results.items()}}.items():
            one = scalar(tag, value, new_style=True)  # type: ignore[no-untyped-call]
            # Without metadata, which torch omits, TensorBoard's data server ignores a value.
            one.value[0].metadata.CopyFrom(create_summary_metadata("", texts.get(tag, "")))
            summary.value.extend(one.value)
        self.write_summary(summary, step)

    def write_summary(self, summary: Any, step: int) -> None:
        """Write a TensorBoard summary, such as scalars or an image, after `step` decisions."""
        from tensorboard.compat.proto.event_pb2 import Event

        self._write(Event(step=step, summary=summary))

    def close(self) -> None:
        """Close the file."""
        with name_path_in_errors(self._path):
            self._file.close()

    def _write(self, event: Any) -> None:
        event.wall_time = time.time()
        with name_path_in_errors(self._path):
            self._records.write(event.SerializeToString())
            self._file.flush()


def to_tensorboard_tag(game: str, result: Result) -> str:
    """Return a result's tag in TensorBoard; its first part, the game, groups the charts."""
    return f"eval_{game}{'_percentiles' if result.is_percentile else ''}/{result.measure}"


def build_layout(game: str, results: Iterable[Result]) -> dict[str, dict[str, list[Any]]]:
    """Return TensorBoard's layout: a chart for each measure, with a line for each player.

    The first section has the main measure of each player, and the second has all other measures.
    The form is {section: {chart: ["Multiline", [pattern of tags]]}}.
    """
    results = [result for result in results if not result.is_percentile]
    first = {result.measure for result in select_first_results(results)}
    sections: dict[str, dict[str, list[Any]]] = {}
    for result in results:
        section = game if result.measure in first else f"{game}: other measures"
        pattern = f"{re.escape(to_tensorboard_tag(game, result))}$"
        sections.setdefault(section, {})[result.measure] = ["Multiline", [pattern]]
    return sections
