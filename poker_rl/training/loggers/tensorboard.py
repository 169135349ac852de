"""TensorBoard's event file, written where it is called.

TensorBoard's own writer hands everything to a thread, whose failures become tracebacks there. Here
a failure is an OSError that names the file. Heavy imports wait until the first row is on the disk.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from poker_rl.evaluation.measurement import PERCENTILE, Measurement, first_of_each
from poker_rl.storage.disk import at, check_reaches
from poker_rl.storage.folder import hparams
from poker_rl.training.loggers import Row

PREFIX = "events.out.tfevents."  # of a file's name, before the time in seconds
EVENT_FILE = re.compile(rf"{re.escape(PREFIX)}(\d+\.\d{{6}})\.")
TICK = Decimal("0.000001")


@dataclass
class TensorBoard:
    """Scalars, figures, hyperparameters and a layout of charts for TensorBoard."""

    _records: Any = field(default=None, init=False, repr=False)  # open after the first row

    def start(self, config: Mapping[str, Any], folder: Path, resumed_at: int | None) -> None:
        """Remember where to write; see `Logger`."""
        self._config, self._folder, self._resumed_at = config, folder, resumed_at

    def log(self, row: Row, step: int) -> None:
        """Write a scalar for each value but half widths, which the figures draw."""
        from tensorboard.compat.proto.summary_pb2 import Summary  # type: ignore[import-untyped]
        from tensorboard.plugins.scalar.metadata import create_summary_metadata  # type: ignore[import-untyped]
        from torch.utils.tensorboard.summary import scalar

        self._open(row.measurements)
        summary = Summary()
        for tag, value in row.values.items():
            if tag.endswith("/half_width"):
                continue
            one = scalar(board_tag(tag), value, new_style=True)  # type: ignore[no-untyped-call]
            measurement = row.measurements.get(tag.removeprefix("eval/"))
            text = "" if measurement is None else f"{measurement.unit}, {measurement.kind}"
            # torch leaves out the data class, and TensorBoard's data server skips values without
            # it, or of double precision.
            one.value[0].metadata.CopyFrom(create_summary_metadata("", text))
            summary.value.extend(one.value)
        # Budgets are counted in several units; runs are comparable by decisions.
        self._write_summary(summary, step)

    def figure(self, name: str, path: Path, step: int) -> None:
        """Write the PNG file as an image."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._open({})  # after a resume there may be figures and no further row
        png = path.read_bytes()
        image = Summary.Image(
            encoded_image_string=png,
            width=int.from_bytes(png[16:20]),
            height=int.from_bytes(png[20:24]),
            colorspace=4,  # RGBA
        )
        self._write_summary(
            Summary(value=[Summary.Value(tag=f"figures/{name}", image=image)]), step
        )

    def close(self, status: str) -> None:
        """Close the event file."""
        if self._records is not None:
            with at(self._path):
                check_reaches(self._file, self._path)
                self._file.close()

    def _open(self, measurements: Mapping[str, Measurement]) -> None:
        """Open an event file in the run folder, once; a new run's begins with its settings."""
        if self._records is not None:
            return
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog  # type: ignore[import-untyped]
        from tensorboard.summary.writer.record_writer import RecordWriter  # type: ignore[import-untyped]
        from torch.utils.tensorboard import summary

        # The files of a run are read in the order of their names, whatever the clock says.
        older = (EVENT_FILE.match(path.name) for path in self._folder.iterdir())
        times = [Decimal(found[1]) + TICK for found in older if found]
        start = max([Decimal(f"{time.time():.6f}"), *times])
        self._path = self._folder / f"{PREFIX}{start:017.6f}.{socket.gethostname()}.{os.getpid()}"
        self._file = self._path.open("xb")
        self._records = RecordWriter(self._file)
        self._write(Event(file_version="brain.Event:2"))
        # TensorBoard drops what older files of the run hold from the step of a START on. It takes
        # the first START that it reads for no restart, so a new run needs one too.
        step = 0 if self._resumed_at is None else self._resumed_at + 1
        self._write(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
        if self._resumed_at is None:
            # Only the start of the session: torch's add_hparams would make a run of its own, and
            # the experiment summary would hide settings that the first run on the board lacks.
            self._write_summary(summary.hparams(hparams(self._config), {})[1], 0)  # type: ignore[no-untyped-call]
            self._write_summary(summary.custom_scalars(layout(measurements)), 0)  # type: ignore[no-untyped-call]

    def _write_summary(self, summary: Any, step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._write(Event(step=step, summary=summary))

    def _write(self, event: Any) -> None:
        event.wall_time = time.time()
        with at(self._path):
            self._records.write(event.SerializeToString())
            self._file.flush()
            check_reaches(self._file, self._path)


def board_tag(tag: str) -> str:
    """Return the tag in TensorBoard, where percentiles have a group below that of the means."""
    is_percentile = tag.startswith("eval/") and PERCENTILE.search(tag)
    return tag.replace("eval/", "eval_percentiles/", 1) if is_percentile else tag


def layout(measurements: Mapping[str, Measurement]) -> dict[str, dict[str, list[Any]]]:
    """Return the custom scalars: a chart a measure with all players, the headline's first."""

    def charts(tags: Iterable[str]) -> dict[str, list[Any]]:
        measures = dict.fromkeys(tag.partition("/")[2] for tag in tags)
        return {
            measure: ["Multiline", [f"eval/[^/]+/{re.escape(measure)}$"]] for measure in measures
        }

    first = charts(first_of_each(measurements))
    others = charts(tag for tag in measurements if board_tag(f"eval/{tag}") == f"eval/{tag}")
    rest = {measure: chart for measure, chart in others.items() if measure not in first}
    return {"headline": first, "other measures": rest} if rest else {"headline": first}
