"""Outcome of a training run, for the command line and sweeps, and errors that end a run."""

from __future__ import annotations

from dataclasses import dataclass

from poker_rl.config.input_checks import ConfigError


@dataclass(frozen=True)
class RunOutcome:
    """Status, exit code and message of a training run."""

    # finished, interrupted, diverged, failed or refused (wrong settings); in a sweep also running
    status: str
    exit_code: int = 0
    message: str = ""  # one line for the user; empty if there is nothing to say


class DivergedError(ConfigError):
    """Error raised if a metric, a weight or a probability is not finite."""


class RunInterruptedError(Exception):
    """Error raised after a stop signal, or by a logger to end a run; its message is for the user.

    `number` is the number of the signal, or 0 for a logger; the exit code is 128 + `number`.
    """

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = 128 + number
