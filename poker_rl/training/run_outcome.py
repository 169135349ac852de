"""Outcome of a training run, for the command line and sweeps."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(kw_only=True)
class RunOutcome:
    """Status, exit code, message and last row of a training run that has ended."""

    status: str  # finished, interrupted, diverged, refused (bad input), failed or in use
    exit_code: int = 0
    message: str = ""  # one line for the user; empty if there is nothing to report
    folder: str = ""  # the run folder; empty if the run has none
    decisions: int | None = None  # decisions so far; only set in summaries of sweeps
    metrics: dict[str, float] = field(default_factory=dict)  # the last row of metrics.jsonl
    units: dict[str, str] = field(default_factory=dict)  # unit of each measurement, by tag
