"""Outcome of a training run, for the command line and sweeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunOutcome:
    """Status, exit code and message of a training run that has ended."""

    # finished, interrupted, diverged, failed, refused (bad input)
    status: str
    exit_code: int = 0
    message: str = ""  # message of one line for the user; empty if there is none
