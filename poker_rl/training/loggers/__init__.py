"""Loggers: where the rows and figures of a run go beside metrics.jsonl.

`logger=[tensorboard,...]` on the command line chooses options of the group `conf/logger`; each is a
dataclass with the methods of `Logger`, from this package or from a plug-in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from poker_rl.evaluation.measurement import Measurement


@dataclass(frozen=True)
class Row:
    """One row of metrics.

    Attributes:
        counters: hands, decisions, updates and iterations so far.
        values: metrics by tag, such as "loss/policy" or "eval/current/exploitability".
        measurements: unit, interval and kind of those below "eval/", by their tag without it.
    """

    counters: Mapping[str, int]
    values: Mapping[str, float]
    measurements: Mapping[str, Measurement]


class Logger(Protocol):
    """A place that rows and figures are sent to. Only rank 0 of a distributed run has loggers."""

    def start(self, config: Mapping[str, Any], folder: Path, resumed_at: int | None) -> None:
        """Begin a run, or resume one: what was logged after `resumed_at` is logged again.

        Args:
            config: the resolved settings of the run.
            folder: the run folder.
            resumed_at: decisions at the last row before the checkpoint; None for a new run.
        """

    def log(self, row: Row, step: int) -> None:
        """Log a row after `step` decisions.

        Raises:
            OSError: if it can't be written; the run ends with exit code 1.
        """

    def figure(self, name: str, path: Path, step: int) -> None:
        """Log a figure, which is saved as a PNG file."""

    def close(self, status: str) -> None:
        """End with the run's status: finished, interrupted or failed."""
