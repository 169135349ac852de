"""Loggers, such as TensorBoard, that get a run's rows of metrics and its figures.

`logger=[tensorboard,wandb]` on the command line selects two options of the group `conf/logger`. A
logger is a dataclass with the methods of `Logger`, from this package or from a plug-in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from poker_rl.evaluation.result import Result


@dataclass(frozen=True)
class Row:
    """Row of metrics.jsonl, with units and intervals of the measurements.

    Attributes:
        counters: hands, decisions, updates and iterations so far.
        values: metrics by tag, such as "loss/policy" or "eval/current/exploitability".
        measurements: evaluation results with unit, interval and kind, by tag without "eval/", such
            as "current/exploitability".
        headlines: results of the headline player with keys such as "exploitability", without its
            name, so that charts can compare runs whose headline players have different names.
    """

    counters: Mapping[str, int]
    values: Mapping[str, float]
    measurements: Mapping[str, Result]
    headlines: Mapping[str, Result]


class Logger(Protocol):
    """Destination of a run's rows and figures, in rank 0 of a distributed run.

    A method that a subclass leaves out does nothing.
    """

    def start(self, config: Mapping[str, Any], folder: Path, resumed_decisions: int | None) -> None:
        """Start the log of a run.

        Args:
            config: the resolved settings of the run.
            folder: the run folder.
            resumed_decisions: decisions at the last row that a resumed run keeps; later rows are
                logged again. None for a new run.
        """
        return

    def log(self, row: Row, step: int) -> None:
        """Log a row after `step` decisions.

        Raises:
            OSError: if the row can't be written; the run then ends with exit code 1.
            RunInterruptedError: to end the run early.
        """
        return

    def log_figure(self, name: str, path: Path, step: int) -> None:
        """Log a figure after `step` decisions; `path` is its PNG file."""
        return

    def close(self, status: str) -> None:
        """Close the log; `status` is finished, interrupted or failed."""
        return
