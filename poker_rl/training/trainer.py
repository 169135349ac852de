"""Training loop: learn, evaluate, log and save checkpoints.

A run that is killed at any moment and resumed equals the uninterrupted run to the bit, because
neither checkpoints nor evaluations change the algorithm's state.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from time import perf_counter
from typing import Any

from poker_rl.algos.algorithm import Algorithm
from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import flatten_results
from poker_rl.players.player import NonFiniteProbsError
from poker_rl.storage.console import print_line
from poker_rl.storage.run_folder import METRICS_FILE
from poker_rl.training.run_checkpoints import Checkpoints
from poker_rl.training.run_record import RunRecord
from poker_rl.training.signals import RunInterruptedError, StopSignals

MAX_IDLE_CALLS = 10_000  # an error is raised after so many calls of `learn` without progress


class Trainer:
    """Training loop of an algorithm, until its budget is spent or a stop signal arrives.

    All processes of a distributed run execute this loop. Only rank 0 has the run's `record`, and
    only rank 0 evaluates and logs. Every process saves its own part of a checkpoint.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        algorithm: Algorithm,
        evaluator: PlayerEvaluator,
        checkpoints: Checkpoints,
        record: RunRecord | None,
    ) -> None:
        self.config, self.algorithm, self.evaluator = config, algorithm, evaluator
        self.checkpoints, self.record = checkpoints, record
        self.unit, self.budget = str(config["budget_unit"]), int(config["budget"])
        self.evaluate_every = int(config["evaluate_every"])
        self.checkpoint_every = int(config["checkpoint_every"])
        self.signals = StopSignals()

    @property
    def step(self) -> int:
        """Progress so far, in the unit of the budget."""
        return int(getattr(self.algorithm.progress, self.unit))

    def run(self) -> None:
        """Train until the budget is spent; raise RunInterruptedError at a stop signal."""
        with self.signals, self.convert_non_finite_probs():
            is_new = self.checkpoints.last_progress is None
            if self.record is not None:
                if is_new:
                    print_line("measuring the players before training")
                self.record.start(self.step)
            if is_new:
                self.evaluate()
                self.checkpoints.save(self.record, is_regular=True)
            idle_calls = 0
            while self.step < self.budget and not self.signals.exchange_stop_request():
                start = self.step
                self.learn()
                is_exact = is_due(self.evaluator.exact_every, start, self.step)
                if is_exact or is_due(self.evaluate_every, start, self.step):
                    self.evaluate(is_exact)
                if is_due(self.checkpoint_every, start, self.step):
                    self.checkpoints.save(self.record, is_regular=True)
                idle_calls = idle_calls + 1 if self.step == start else 0
                if idle_calls == MAX_IDLE_CALLS:
                    algo = self.config["names"]["algo"]
                    raise ConfigError(f"budget_unit: {algo} does not count {self.unit}")
            if self.step < self.budget:
                self.checkpoints.save(self.record)
                command = f"poker-rl train resume={shlex.quote(str(self.checkpoints.folder))}"
                message = "" if self.record is None else f"stopped; to resume: {command}"
                raise RunInterruptedError(self.signals.number, message)
            self.finish()

    def learn(self) -> None:
        """Call the algorithm's `learn` once, and add the returned metrics to the next row."""
        start = perf_counter()
        metrics = self.algorithm.learn()
        self.check_finite(metrics)
        if self.record is not None:
            self.record.add_metrics(metrics, perf_counter() - start, self.step)

    def evaluate(self, is_exact: bool = False) -> None:
        """Evaluate the players and log a row; ranks above 0 do nothing."""
        if self.record is None:
            return
        start, progress = perf_counter(), self.algorithm.progress
        half_snapshot = self.checkpoints.find_snapshot_before(progress.decisions // 2)
        results = self.evaluator.evaluate(dict(self.algorithm.players()), half_snapshot, is_exact)
        self.check_finite(flatten_results(results))
        self.record.write_row(progress, results, perf_counter() - start)

    def finish(self) -> None:
        """Log the last row, save the last checkpoint and the figures."""
        if self.record is None:
            self.checkpoints.save(None)
            return
        # A run ends with a row even if no evaluation is due. The checkpoint has the state before
        # that row, so that resuming with a larger budget removes the row: a run that had the larger
        # budget from the start has no row here.
        state = self.record.state_dict()
        if self.record.last_counters[self.unit] != self.step:
            self.evaluate()
        self.checkpoints.save(self.record, state)
        if self.config["figures"]:
            metrics = self.checkpoints.folder / METRICS_FILE
            players = dict(self.algorithm.players())
            self.record.save_figures(self.evaluator.build_figures(players, metrics))

    def check_finite(self, values: Mapping[str, float]) -> None:
        """Raise a DivergedError if a metric or a measurement is not finite."""
        for tag, value in values.items():
            if not isfinite(value):
                raise self.checkpoints.create_diverged_error(f"{tag} is {float(value)}")

    @contextmanager
    def convert_non_finite_probs(self) -> Iterator[None]:
        """Convert a NonFiniteProbsError in this context to a DivergedError."""
        try:
            yield
        except NonFiniteProbsError as error:
            raise self.checkpoints.create_diverged_error(str(error)) from error


def is_due(interval: int | None, start: int, end: int) -> bool:
    """Return whether a multiple of the interval is in (start, end]; False without an interval."""
    return interval is not None and end // interval > start // interval
