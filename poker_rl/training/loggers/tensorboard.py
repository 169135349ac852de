"""Logger for TensorBoard, which writes its event file.

TensorBoard's own writer uses a thread, whose failures are only printed as tracebacks. Here a
failure raises an OSError with the path. TensorBoard is imported after the first row is on the disk.
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

from poker_rl.evaluation.result import PERCENTILE_TAG_PATTERN, Result, first_of_each
from poker_rl.storage.disk import naming_path
from poker_rl.storage.run_folder import flatten_hparams
from poker_rl.training.loggers import Row


@dataclass
class TensorBoard:
    """Scalars, figures, hyperparameters and a layout of charts for TensorBoard."""

    _records: Any = field(default=None, init=False, repr=False)  # open after the first row

    def start(self, config: Mapping[str, Any], folder: Path, resumed_at: int | None) -> None:
        """Remember where to write; see `Logger`."""
        self._config, self._folder, self._resumed_at = config, folder, resumed_at

    def log(self, row: Row, step: int) -> None:
        """Write a scalar for each value, except half-widths of confidence intervals."""
        from tensorboard.compat.proto.summary_pb2 import Summary  # type: ignore[import-untyped]
        from tensorboard.plugins.scalar.metadata import create_summary_metadata  # type: ignore[import-untyped]
        from torch.utils.tensorboard.summary import scalar

        self._open(row.measurements)
        summary = Summary()
        for tag, value in row.values.items():
            if tag.endswith("/half_width"):
                continue
            one = scalar(to_tensorboard_tag(tag), value, new_style=True)  # type: ignore[no-untyped-call]
            measurement = row.measurements.get(tag.removeprefix("eval/"))
            text = "" if measurement is None else f"{measurement.unit}, {measurement.kind}"
            # TensorBoard's data server skips values without a data class, which torch omits, and
            # values of double precision.
            one.value[0].metadata.CopyFrom(create_summary_metadata("", text))
            summary.value.extend(one.value)
        # The step is in decisions, so that runs with different budget units are comparable.
        self._write_summary(summary, step)

    def figure(self, name: str, path: Path, step: int) -> None:
        """Write the PNG file at `path` into the event file, as an image."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._open({})  # a resumed run may have figures without a further row
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
            with naming_path(self._path):
                self._file.close()

    def _open(self, measurements: Mapping[str, Result]) -> None:
        """Open an event file, if none is open; for a new run, write settings and layout first."""
        if self._records is not None:
            return
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog  # type: ignore[import-untyped]
        from tensorboard.summary.writer.record_writer import RecordWriter  # type: ignore[import-untyped]
        from torch.utils.tensorboard import summary

        # TensorBoard reads the files of a run in the order of the times in their names.
        name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
        self._path = self._folder / name
        self._file = self._path.open("xb")
        self._records = RecordWriter(self._file)
        self._write(Event(file_version="brain.Event:2"))
        # At a START, TensorBoard drops the values of older files from this step on. It ignores the
        # first START of a run, so a new run needs one too.
        step = 0 if self._resumed_at is None else self._resumed_at + 1
        self._write(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
        if self._resumed_at is None:
            # Only the session's start is written: torch's add_hparams would make another run, and
            # the experiment summary would hide settings that TensorBoard's first run lacks.
            self._write_summary(summary.hparams(flatten_hparams(self._config), {})[1], 0)  # type: ignore[no-untyped-call]
            self._write_summary(summary.custom_scalars(build_layout(measurements)), 0)  # type: ignore[no-untyped-call]

    def _write_summary(self, summary: Any, step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._write(Event(step=step, summary=summary))

    def _write(self, event: Any) -> None:
        event.wall_time = time.time()
        with naming_path(self._path):
            self._records.write(event.SerializeToString())
            self._file.flush()


def to_tensorboard_tag(tag: str) -> str:
    """Return the tag for TensorBoard, where percentiles are in a group of their own."""
    is_percentile = tag.startswith("eval/") and PERCENTILE_TAG_PATTERN.search(tag)
    return tag.replace("eval/", "eval_percentiles/", 1) if is_percentile else tag


def build_layout(measurements: Mapping[str, Result]) -> dict[str, dict[str, list[Any]]]:
    """Return the layout: a chart per measure, with all players; each player's first measure on top.

    The result has the form {section: {chart: ["Multiline", [pattern of tags]]}}.
    """

    def charts(tags: Iterable[str]) -> dict[str, list[Any]]:
        measures = dict.fromkeys(tag.partition("/")[2] for tag in tags)
        return {
            measure: ["Multiline", [f"eval/[^/]+/{re.escape(measure)}$"]] for measure in measures
        }

    first = charts(result.tag for result in first_of_each(measurements.values()))
    others = charts(
        tag for tag in measurements if to_tensorboard_tag(f"eval/{tag}") == f"eval/{tag}"
    )
    rest = {measure: chart for measure, chart in others.items() if measure not in first}
    return {"headline": first, "other measures": rest} if rest else {"headline": first}
