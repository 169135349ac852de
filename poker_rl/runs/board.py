"""TensorBoard's event file.

TensorBoard's own writer hands everything to a thread, whose failures come out as tracebacks. This
one writes where it is called, and a failure is an OSError that names the file.
"""

from __future__ import annotations

import os
import re
import socket
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import (  # type: ignore[import-untyped]
    Event,
    SessionLog,
)
from tensorboard.summary.writer.record_writer import RecordWriter  # type: ignore[import-untyped]

from poker_rl.storage.disk import at, check_reaches

START = "events.out.tfevents."  # of a file's name, before the time in seconds
OURS = re.compile(rf"{re.escape(START)}(\d+\.\d{{6}})\.")
TICK = Decimal("0.000001")


class Board:
    """A new event file in a run folder.

    Args:
        purge_step: TensorBoard drops what older files of the run hold from this step on.
    """

    def __init__(self, folder: Path, purge_step: int) -> None:
        # The files of a run are read in the order of their names, whatever the clock says.
        older = (OURS.match(path.name) for path in folder.iterdir())
        times = [Decimal(found[1]) + TICK for found in older if found]
        now = max([Decimal(f"{time.time():.6f}"), *times])
        name = f"{START}{now:017.6f}.{socket.gethostname()}.{os.getpid()}"
        self.path = folder / name
        self.file = self.path.open("xb")
        self._records = RecordWriter(self.file)
        self._write(Event(file_version="brain.Event:2"))
        self._write(Event(step=purge_step, session_log=SessionLog(status=SessionLog.START)))

    def add(self, summary: Any, step: int = 0) -> None:
        """Write a Summary of this step, of hyperparameters without one."""
        self._write(Event(step=step, summary=summary))

    def _write(self, event: Any) -> None:
        event.wall_time = time.time()
        with at(self.path):
            self._records.write(event.SerializeToString())
            self.file.flush()

    def check(self) -> None:
        """Check that the events are on the disk.

        Raises:
            OSError: if the file was removed, replaced or cut.
        """
        check_reaches(self.file, self.path)

    def close(self) -> None:
        """Write no more."""
        with at(self.path):
            self.file.close()
