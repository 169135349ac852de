"""Outcome of a run, as the command line, sweeps and studies need it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(kw_only=True)
class RunOutcome:
    """Outcome of a run.

    Attributes:
        status: finished, interrupted, diverged, refused (bad input), failed or in use.
        exit_code: exit code of `poker-rl train`.
        message: one line for the user; empty if there is none.
        folder: the run folder; empty if there is none.
        decisions: decisions at the last checkpoint or row; set only in the summary of a sweep.
        metrics: the last row of metrics.
        units: units of the measurements in `metrics`, by tag.
    """

    status: str
    exit_code: int = 0
    message: str = ""
    folder: str = ""
    decisions: int | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
