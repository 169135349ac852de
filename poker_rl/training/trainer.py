"""The training loop: learn, evaluate, log, checkpoint.

A run that is killed at any moment and resumed repeats, to the bit, what it would have done: a
checkpoint holds the algorithm's state, the length of metrics.jsonl and the sums of the row in
progress, and neither evaluation nor checkpoints leave a trace in the algorithm.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from time import perf_counter
from typing import Any

from poker_rl.algos.algorithm import Algorithm
from poker_rl.config.settings import Refused
from poker_rl.evaluation.measurement import Evaluator, flatten
from poker_rl.players.player import NotNumbers
from poker_rl.storage.disk import say
from poker_rl.storage.folder import METRICS
from poker_rl.training.checkpoints import Checkpoints
from poker_rl.training.record import RunRecord
from poker_rl.training.signals import Interrupted, StopSignals

MAX_IDLE_CALLS = 10_000  # of learn() without a step towards the budget: it will never be reached


class Trainer:
    """Train an algorithm until its budget is spent or a signal asks to stop.

    All processes of a distributed run execute this loop. Rank 0 alone has a record, so it alone
    evaluates and logs; at a checkpoint every process saves what is its own.

    Args:
        config: the resolved settings of the run.
        record: what rank 0 writes; None in every other process.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        algorithm: Algorithm,
        evaluator: Evaluator,
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
        """Progress in the unit of the budget."""
        return int(getattr(self.algorithm.progress, self.unit))

    def run(self) -> None:
        """Train to the end of the budget.

        Raises:
            DivergedError: if a metric or a weight is not finite.
            Interrupted: at a signal to stop, after a checkpoint.
        """
        with self.signals:
            is_new = self.checkpoints.saved is None
            if self.record is not None:
                if is_new:  # which may take most of a minute, while the bar stands still
                    say("measuring the players before they learn")
                self.record.start(self.step)
            if is_new:
                self.evaluate()
                self.checkpoints.save(self.record, regular=True)
            idle_calls = 0
            while self.step < self.budget and not self.signals.stop_requested():
                start = self.step
                self.learn()
                exact = is_due(self.evaluator.exact_every, start, self.step)
                if exact or is_due(self.evaluate_every, start, self.step):
                    self.evaluate(exact)
                if is_due(self.checkpoint_every, start, self.step):
                    self.checkpoints.save(self.record, regular=True)
                idle_calls = idle_calls + 1 if self.step == start else 0
                if idle_calls == MAX_IDLE_CALLS:
                    algo = self.config["names"]["algo"]
                    raise Refused(f"budget_unit: {algo} does not count {self.unit}")
            if self.step < self.budget:
                self.checkpoints.save(self.record)
                raise Interrupted(self.signals.number, self.stop_message)
            self.finish()

    @property
    def stop_message(self) -> str:
        """How to resume, said by rank 0 alone."""
        command = f"poker-rl train resume={shlex.quote(str(self.checkpoints.folder))}"
        return "" if self.record is None else f"stopped; to resume: {command}"

    def learn(self) -> None:
        """Call the algorithm once and add its metrics to the row in progress."""
        start = perf_counter()
        with self.detect_divergence():
            metrics = self.algorithm.learn()
        self.check_finite(metrics)
        if self.record is not None:
            self.record.add(metrics, perf_counter() - start, self.step)

    def evaluate(self, exact: bool = False) -> None:
        """Evaluate the players and log a row, on rank 0."""
        if self.record is None:
            return
        start, progress = perf_counter(), self.algorithm.progress
        half = self.checkpoints.snapshot_before(progress.decisions // 2)
        with self.detect_divergence():
            measurements = self.evaluator.evaluate(dict(self.algorithm.players()), half, exact)
        self.check_finite(flatten(measurements))
        self.record.write_row(progress, measurements, perf_counter() - start)
        self.checkpoints.check_files(self.record)

    def finish(self) -> None:
        """Log the last row, save the last checkpoint and draw the figures if the config says so."""
        if self.record is None:
            self.checkpoints.save(None)
            return
        # A longer run has no row here unless evaluation is due, so the checkpoint ignores this one.
        state = self.record.state_dict()
        if self.record.last_step != self.step:
            self.evaluate()
        self.checkpoints.save(self.record, state)
        if self.config["figures"]:
            players, metrics = dict(self.algorithm.players()), self.checkpoints.folder / METRICS
            self.record.save_figures(self.evaluator.figures(players, metrics))
        self.checkpoints.check_files(self.record)

    def check_finite(self, values: Mapping[str, float]) -> None:
        for tag, value in values.items():
            if not isfinite(value):
                raise self.checkpoints.diverged(f"{tag} is {float(value)}")

    @contextmanager
    def detect_divergence(self) -> Iterator[None]:
        """Turn probabilities that are not finite into a DivergedError."""
        try:
            yield
        except NotNumbers as error:
            raise self.checkpoints.diverged(str(error)) from error


def is_due(every: int | None, start: int, end: int) -> bool:
    """Return whether a multiple of `every` lies in (start, end]."""
    return every is not None and end // every > start // every
