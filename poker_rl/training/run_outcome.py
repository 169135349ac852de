"""Outcome of a training run, for the command line and sweeps, and errors that end a run."""

from __future__ import annotations

from dataclasses import dataclass

from poker_rl.config.validation import ConfigError


@dataclass(frozen=True)
class RunOutcome:
    """Status, exit code and message of a training run that has ended."""

    # finished, interrupted, diverged, failed, refused (bad input)
    status: str
    exit_code: int = 0
    message: str = ""  # message of one line for the user; empty if there is none


class DivergedError(ConfigError):
    """Error raised if a metric or a weight is not finite; the last checkpoint remains."""


class RunInterruptedError(Exception):
    """Error raised when a stop signal has ended a run; the message says how to resume it."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = 128 + number
