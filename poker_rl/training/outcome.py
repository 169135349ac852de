"""How a run ended, as the command line, sweeps and searches need it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(kw_only=True)
class Outcome:
    """The end of one run.

    Attributes:
        status: finished, interrupted, diverged, refused, failed or in use.
        exit_code: of `poker-rl train`.
        message: one line for the user; empty if there is nothing to say.
        folder: the run folder; empty if there is none.
        metrics: the last row.
        units: of the metrics that are measurements, by tag.
    """

    status: str
    exit_code: int = 0
    message: str = ""
    folder: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
