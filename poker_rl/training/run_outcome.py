"""Outcome of a run, as the command line, sweeps and studies need it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(kw_only=True)
class RunOutcome:
    """Outcome of a run."""

    status: str  # finished, interrupted, diverged, refused (bad input), failed or in use
    exit_code: int = 0  # of `poker-rl train`
    message: str = ""  # one line for the user
    folder: str = ""  # the run folder; empty if there is none
    decisions: int | None = None  # at the last checkpoint or row; set only in a sweep's summary
    metrics: dict[str, float] = field(default_factory=dict)  # the last row
    units: dict[str, str] = field(default_factory=dict)  # of the measurements, by tag
