"""Outcome of a training run, for the command line and sweeps."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(kw_only=True)
class RunOutcome:
    """Status, exit code, message and last row of a training run that has ended."""

    # finished, interrupted, diverged, failed, refused (bad input), in use (by another process)
    status: str
    exit_code: int = 0
    message: str = ""  # message of one line for the user; empty if there is none
    folder: str = ""  # the run folder; empty if it was not created
    decisions: int | None = None  # number of decisions; only set in summaries of sweeps
    metrics: dict[str, float] = field(default_factory=dict)  # last row of metrics.jsonl
    units: dict[str, str] = field(default_factory=dict)  # unit of each measurement, by tag
