"""Training loop: learn, evaluate, log and save checkpoints.

On a CPU, a run that is killed at any moment and resumed equals the uninterrupted run bit for bit:
a checkpoint holds the whole state of the algorithm, and evaluations do not change this state.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from math import isfinite
from time import perf_counter
from typing import Any

from poker_rl.algos.algorithm import Algorithm
from poker_rl.config.input_checks import ConfigError
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import results_to_metrics
from poker_rl.players.player import NonFiniteProbsError
from poker_rl.storage.checkpoint import STATE_FILE
from poker_rl.storage.run_files import METRICS_FILE
from poker_rl.training.run_checkpoints import Checkpoints
from poker_rl.training.run_outcome import DivergedError, RunInterruptedError
from poker_rl.training.signals import StopSignals

MAX_IDLE_CALLS = 10_000  # calls of `learn` without progress before an error is raised


class Trainer:
    """Training loop, which each process of a run executes; only rank 0 evaluates and logs."""

    def __init__(
        self,
        config: Mapping[str, Any],
        algorithm: Algorithm,
        evaluator: PlayerEvaluator,
        checkpoints: Checkpoints,
    ) -> None:
        self.config, self.algorithm, self.evaluator = config, algorithm, evaluator
        self.checkpoints = checkpoints
        self.recorder = checkpoints.recorder  # None in ranks above 0
        self.unit, self.budget = str(config["budget_unit"]), int(config["budget"])
        self.signals = StopSignals()

    @property
    def units_done(self) -> int:
        """Progress so far, in the unit of the budget."""
        return int(getattr(self.algorithm.progress, self.unit))

    def run(self) -> None:
        """Train until the budget is spent; raise RunInterruptedError at a stop signal."""
        try:
            with self.signals:
                if self.recorder is not None:
                    self.recorder.start(self.units_done)
                if self.checkpoints.last_progress is None:  # a new run
                    self.evaluate()
                    self.checkpoints.save(is_regular=True)
                self.train_until_budget()
                self.finish()
        except (FloatingPointError, NonFiniteProbsError) as error:
            last = "there was no checkpoint yet"
            if progress := self.checkpoints.last_progress:
                path, decisions = self.checkpoints.folder / STATE_FILE, progress["decisions"]
                last = f"the last good checkpoint is {path} ({decisions:,} decisions)"
            now = f"after {self.algorithm.progress.decisions:,} decisions"
            raise DivergedError(f"{error} {now}; {last}") from error

    def train_until_budget(self) -> None:
        """Learn until the budget is spent; evaluate and save checkpoints whenever they are due."""
        idle_calls = 0
        while self.units_done < self.budget and not self.signals.exchange_stop_request():
            start, start_time = self.units_done, perf_counter()
            metrics = self.algorithm.learn()
            check_finite(metrics)
            if self.recorder is not None:
                self.recorder.accumulate_metrics(
                    metrics, perf_counter() - start_time, self.units_done
                )
            is_exact = is_due(self.evaluator.exact_every, start, self.units_done)
            if is_exact or is_due(self.config["evaluate_every"], start, self.units_done):
                self.evaluate(is_exact)
            if is_due(self.config["checkpoint_every"], start, self.units_done):
                self.checkpoints.save(is_regular=True)
            idle_calls = idle_calls + 1 if self.units_done == start else 0
            if idle_calls == MAX_IDLE_CALLS:
                raise ConfigError(f"budget_unit: the algorithm does not count {self.unit}")
        if self.units_done < self.budget:
            self.checkpoints.save()
            command = f"poker-rl train resume={shlex.quote(str(self.checkpoints.folder))}"
            message = "" if self.recorder is None else f"stopped; to resume: {command}"
            raise RunInterruptedError(self.signals.number, message)

    def evaluate(self, is_exact: bool = False) -> None:
        """Evaluate the players and log a row; ranks above 0 do nothing.

        With `is_exact`, a game that is too large to enumerate is also evaluated exactly, on its
        public tree.
        """
        if self.recorder is None:
            return
        start, progress = perf_counter(), self.algorithm.progress
        halfway_snapshot = self.checkpoints.find_regular_snapshot_until(progress.decisions // 2)
        results = self.evaluator.evaluate(
            dict(self.algorithm.players()), halfway_snapshot, is_exact
        )
        check_finite(results_to_metrics(results))
        self.recorder.write_and_log_row(progress, results, perf_counter() - start)

    def finish(self) -> None:
        """Log the last row, save the last checkpoint and the figures."""
        if self.recorder is None:
            self.checkpoints.save()
            return
        # A row is logged after the last step even if no evaluation is due. A run with a larger
        # budget would not log this row. So the checkpoint has the recorder's state before the row,
        # and a resumed run removes the row.
        state = self.recorder.state_dict()
        if self.recorder.last_counters[self.unit] != self.units_done:
            self.evaluate()
        self.checkpoints.save(recorder_state=state)
        if self.config["figures"]:
            metrics = self.checkpoints.folder / METRICS_FILE
            players = dict(self.algorithm.players())
            self.recorder.save_figures(self.evaluator.build_figures(players, metrics))


def check_finite(values: Mapping[str, float]) -> None:
    """Raise a FloatingPointError if a metric or a measurement is not finite."""
    for tag, value in values.items():
        if not isfinite(value):
            raise FloatingPointError(f"{tag} is {float(value)}")


def is_due(interval: int | None, start: int, end: int) -> bool:
    """Return whether a multiple of the interval is in (start, end]; False without an interval."""
    return interval is not None and end // interval > start // interval
