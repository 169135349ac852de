"""Trials of a study; a trial trains runs with the same settings, one run for each seed."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from optuna import TrialPruned
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import RetryHeartbeatStaleTrialCallback
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from poker_rl.config.compose import RootConfig, compose_config, initialize_hydra
from poker_rl.config.validation import ConfigError
from poker_rl.storage.console import print_line
from poker_rl.storage.run_folder import METRICS_FILE, read_manifest, read_metrics_rows
from poker_rl.sweeps.study_config import (
    SearchSpace,
    TuneConfig,
    format_override,
    suggest_settings,
)
from poker_rl.training.loggers import Logger, Row
from poker_rl.training.run_outcome import RunOutcome
from poker_rl.training.signals import RunInterruptedError
from poker_rl.training.train import train

DATABASE = "study.db"


class TrialStoppedError(Exception):
    """Error raised if a signal or a failure of the machine ended a run of a trial."""

    def __init__(self, outcome: RunOutcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


@dataclass
class Objective:
    """Objective function of a study: the mean of the metric over a trial's runs.

    The runs of a trial train one after another. At each evaluation, Optuna gets the mean of the
    metric over the runs so far, and the sum of their steps. It compares trials at equal sums.

    Attributes:
        folder: the folder of the study.
        root: root settings of the runs.
        number: number of the trial that this process started last.
        is_lost: true if another process has put that trial back into the queue.
    """

    folder: Path
    config: TuneConfig
    search_space: SearchSpace
    root: RootConfig
    option_dirs: Sequence[Path]
    number: int | None = None
    is_lost: bool = False

    def __call__(self, trial: Trial) -> float:
        """Train the runs of a trial, and return the mean of their metric.

        Raises:
            TrialPruned: if the trial ends early, diverges, or has settings that are not allowed.
            ConfigError: if settings are not allowed and no trial has completed so far.
            TrialStoppedError: if a signal or a failure of the machine ended a run.
        """
        self.number, self.is_lost = trial.number, False
        settings = suggest_settings(self.search_space, trial)
        overrides = [format_override(key, value) for key, value in settings.items()]
        print_line(f"trial {trial.number}: {' '.join(overrides)}")
        values: list[float] = []
        try:
            for seed in self.config.seeds:
                values.append(self.train_seed(trial, overrides, seed, values))
                with self.handle_database_errors():
                    trial.report(fmean(values), len(values) * self.root.budget)
                if len(values) < len(self.config.seeds) and trial.should_prune():
                    raise TrialPruned(f"after the run of seed {seed}")
        except TrialPruned as error:
            print_line(f"trial {trial.number}: ended early, {error}")
            raise
        print_line(f"trial {trial.number}: {self.config.metric} {fmean(values):.4g}")
        return fmean(values)

    def train_seed(
        self, trial: Trial, overrides: Sequence[str], seed: int, earlier_values: Sequence[float]
    ) -> float:
        """Train or resume the run of a seed, and return its metric at the end.

        `earlier_values` are the metrics of the trial's finished runs.
        """
        frozen_trial = trial.study.get_trials(deepcopy=False)[trial.number]
        name = get_run_name(frozen_trial, seed)
        location = [f"seed={seed}", f"outputs={self.folder}", f"name={name}"]
        words = [*self.config.train_overrides, *overrides, *location]
        run = next(self.folder.glob(f"*/*/{name}"), None)
        # An earlier try of the trial may have begun this run.
        if run is not None and (manifest := read_manifest(run)):
            if manifest.get("status") == "finished":
                return self.get_metric(read_metrics_rows(run / METRICS_FILE)[-1])
            words = [f"resume={run}"]

        logger = TrialLogger(self, trial, earlier_values)
        try:
            with initialize_hydra(self.option_dirs):
                composed = compose_config(words)
        except ConfigError as error:
            outcome = RunOutcome(status="refused", message=str(error))
        else:
            outcome = train(composed, self.option_dirs, [logger])
        if outcome.status == "finished":
            return self.get_metric(outcome.metrics)
        # An exit code above 128 means that a signal ended the run.
        if logger.should_prune and outcome.exit_code <= 128:
            raise TrialPruned(f"within the run of seed {seed}")
        if outcome.status in ("refused", "diverged"):
            completed = trial.study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
            if outcome.status == "refused" and not completed:
                raise ConfigError(outcome.message)
            raise TrialPruned(f"{outcome.status}: {outcome.message}")
        raise TrialStoppedError(outcome)

    @contextmanager
    def handle_database_errors(self) -> Iterator[None]:
        """Convert Optuna's errors in this context.

        Raises:
            RunInterruptedError: if another process has put this trial back into the queue, because
                this process has sent no heartbeat for too long.
            OSError: if the study's database fails.
        """
        try:
            with name_database_in_errors(self.folder):
                yield
        except UpdateFinishedTrialError:
            self.is_lost = True
            raise RunInterruptedError(0, "trial was put back into the queue") from None

    def get_metric(self, row: Mapping[str, float]) -> float:
        """Return the value of the study's metric in a row of metrics.jsonl.

        The metric is a tag of the row, or a measure of the headline player, the first player that
        the row has measurements of.
        """
        metric = self.config.metric
        if metric in row:
            return row[metric]
        headline = next((tag.split("/")[1] for tag in row if tag.startswith("eval/")), "")
        if (tag := f"eval/{headline}/{metric}") not in row:
            recorded = ", ".join(tag for tag in row if not tag.startswith("time/"))
            raise ConfigError(f"metric: a run records no {metric}; it records {recorded}")
        return row[tag]


@dataclass
class TrialLogger(Logger):
    """Logger that reports a run's metric to Optuna, and ends the run if Optuna prunes the trial."""

    objective: Objective
    trial: Trial
    earlier_values: Sequence[float]  # metrics of the trial's finished runs
    should_prune: bool = False

    def log(self, row: Row, step: int) -> None:
        """Report the metric to Optuna; raise RunInterruptedError if Optuna prunes the trial."""
        root = self.objective.root
        done = row.counters[root.budget_unit]
        if done == 0:  # the first row, before training, lacks metrics that `learn` returns
            return
        value = self.objective.get_metric({**row.counters, **row.values})
        if done < root.budget:
            # Runs evaluate after slightly different numbers of steps. The number is rounded down,
            # so that Optuna can compare trials at equal numbers.
            steps = done // root.evaluate_every * root.evaluate_every
            with self.objective.handle_database_errors():
                mean = fmean([*self.earlier_values, value])
                self.trial.report(mean, len(self.earlier_values) * root.budget + steps)
                self.should_prune = self.trial.should_prune()
            if self.should_prune:
                raise RunInterruptedError(0, "ended early")


def get_run_name(trial: FrozenTrial, seed: int) -> str:
    """Return the name of a trial's run, which is the same in every try of the trial."""
    first = RetryHeartbeatStaleTrialCallback.retried_trial_number(trial)
    return f"trial-{trial.number if first is None else int(first)}_seed-{seed}"


@contextmanager
def name_database_in_errors(folder: Path) -> Iterator[None]:
    """Convert errors of the study's database to an OSError that names its file."""
    try:
        yield
    except (StorageInternalError, SQLAlchemyError) as error:
        cause = error.__cause__ if isinstance(error, StorageInternalError) else error
        reason = getattr(cause, "orig", None) or cause or error
        message = f"the study's database fails: {reason}"
        raise OSError(errno.EIO, message, str(folder / DATABASE)) from None
