"""Loggers: destinations of a run's rows and figures besides metrics.jsonl.

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
    """One row of metrics.jsonl, with more about its measurements.

    Attributes:
        counters: hands, decisions, updates and iterations so far.
        values: metrics by tag, such as "loss/policy" or "eval/current/exploitability".
        measurements: results with unit, interval and kind of the values whose tags begin with
            "eval/", by tag without "eval/".
        headlines: results of the headline player by a tag that does not contain the player's name,
            see `select_headline_results`. Loggers write them with "eval/" before the tag, so that
            runs whose headline players have different names are in one chart.
    """

    counters: Mapping[str, int]
    values: Mapping[str, float]
    measurements: Mapping[str, Result]
    headlines: Mapping[str, Result]


class Logger(Protocol):
    """Destination of a run's rows and figures; only rank 0 of a distributed run has loggers.

    A method that a subclass leaves out does nothing.
    """

    def start(self, config: Mapping[str, Any], folder: Path, resumed_at: int | None) -> None:
        """Start the log of a run; if the run is resumed, rows after `resumed_at` are logged again.

        Args:
            config: the resolved settings of the run.
            folder: the run folder.
            resumed_at: number of decisions at the last row before the checkpoint from which the
                run is resumed; None for a new run.
        """
        return

    def log(self, row: Row, step: int) -> None:
        """Log a row after `step` decisions.

        Raises:
            OSError: if the row can't be written; the run then ends with exit code 1.
        """
        return

    def figure(self, name: str, path: Path, step: int) -> None:
        """Log a figure after `step` decisions; `path` is its PNG file."""
        return

    def close(self, status: str) -> None:
        """Close the log; `status` is finished, interrupted or failed."""
        return
