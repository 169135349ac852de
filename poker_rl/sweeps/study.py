"""A study of `poker-rl tune`: its settings, its search space and its trials.

A process locks the byte N of the file `locks` while it runs trial N. The lock ends with the
process, even if it is killed. So another process notices that a trial is lost, and puts it back
into the queue; the next try of the trial resumes the runs of the earlier one.
"""

from __future__ import annotations

import fcntl
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, BinaryIO, Literal

from optuna import Study, TrialPruned
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, Trial, TrialState

from poker_rl.config.compose import RootConfig, compose_config, initialize_hydra
from poker_rl.config.validation import (
    ConfigError,
    NonNegativeInt,
    PositiveInt,
    Probability,
    Seed,
    format_value,
)
from poker_rl.storage.console import print_error, print_line
from poker_rl.storage.disk import exclusive_lock
from poker_rl.storage.run_folder import read_last_metrics_row, read_manifest
from poker_rl.training.loggers import Logger, Row
from poker_rl.training.run_outcome import RunOutcome
from poker_rl.training.signals import RunInterruptedError
from poker_rl.training.start_run import train

LOCKS_FILE = "locks"
MAX_TRIES = 5  # a trial is given up if its process was stopped or killed so often
WAIT_S = 1.0  # time between two looks for lost trials, if all remaining trials are running

SearchSpace = dict[str, BaseDistribution]
Value = bool | int | float | str | None
EXAMPLE = "{low: 1e-4, high: 1e-2, log: true}"


@dataclass(kw_only=True, frozen=True)
class TuneConfig:
    """Settings of `poker-rl tune`; conf/tune.yaml explains them."""

    tune: str | None
    train_overrides: list[str]
    search_space: dict[str, Any]
    seeds: list[Seed]
    metric: str
    direction: Literal["minimize", "maximize"]
    trials: PositiveInt
    startup_trials: NonNegativeInt
    pruner: Literal["median", "hyperband", "none"]
    warmup_share: Probability
    out: str | None

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"seeds: {self.seeds}; give at least one, as [0], and each once")


def parse_search_space(config: Mapping[str, Any]) -> SearchSpace:
    """Return Optuna's distribution for each dotted key of the setting `search_space`."""
    if not config:
        raise ConfigError(
            f"search_space: is empty; give keys and values, as {{algo.lr: {EXAMPLE}}}"
        )
    search_space = {}
    for key, values in config.items():
        try:
            search_space[str(key)] = create_distribution(values)
        except ValueError as error:
            raise ConfigError(f"search_space.{key}: {error}") from None
        except (KeyError, TypeError):
            problem = f"search_space.{key}: {format_value(values)}; allowed: {EXAMPLE}"
            raise ConfigError(f"{problem} or {{choices: [a, b]}}") from None
    return search_space


def create_distribution(values: Mapping[str, Any]) -> BaseDistribution:
    """Create Optuna's distribution of settings such as EXAMPLE or {choices: [a, b]}."""
    if "choices" in values:
        return CategoricalDistribution(**values)
    is_integer = isinstance(values["low"], int) and isinstance(values["high"], int)
    return (IntDistribution if is_integer else FloatDistribution)(**values)


def format_overrides(values: Mapping[str, Value]) -> list[str]:
    """Return settings as overrides KEY=VALUE, with all digits of numbers."""
    return [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in values.items()
    ]


class TrialStoppedError(Exception):
    """Error raised if a signal or a failure of the machine ended a run of a trial."""

    def __init__(self, outcome: RunOutcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


@dataclass(frozen=True)
class Objective:
    """Objective function of a study: the mean of the metric over a trial's runs.

    The runs of a trial train one after another. At each evaluation, Optuna gets the mean of the
    metric over the runs so far, and the sum of their steps. It compares trials at equal sums.
    """

    folder: Path  # the folder of the study
    config: TuneConfig
    root: RootConfig  # root settings of the runs
    option_dirs: Sequence[Path]

    def __call__(self, trial: Trial) -> float:
        """Train the runs of a trial, and return the mean of their metric."""
        values: list[float] = []
        for seed in self.config.seeds:
            values.append(self.train_seed(trial, seed, values))
            trial.report(fmean(values), len(values) * self.root.budget)
            if len(values) < len(self.config.seeds) and trial.should_prune():
                raise TrialPruned(f"after the run of seed {seed}")
        return fmean(values)

    def train_seed(self, trial: Trial, seed: int, earlier_values: Sequence[float]) -> float:
        """Train or resume the run of a seed, and return its metric at the end.

        `earlier_values` are the metrics of the trial's finished runs.

        Raises:
            TrialPruned: if the trial ends early, diverges, or has settings that are not allowed.
            ConfigError: if settings are not allowed and no trial has completed so far.
            TrialStoppedError: if a signal or a failure of the machine ended the run.
        """
        name = get_run_name(trial, seed)
        words = [*self.config.train_overrides, *format_overrides(trial.params)]
        words += [f"seed={seed}", f"outputs={self.folder}", f"name={name}"]
        # An earlier try of the trial may have begun this run.
        for run in self.folder.glob(f"*/*/{name}"):
            if (manifest := read_manifest(run)).get("status") == "finished":
                return self.get_metric(read_last_metrics_row(run))
            if manifest:
                words = [f"resume={run}"]
        logger = TrialLogger(self, trial, earlier_values)
        try:
            with initialize_hydra(self.option_dirs):
                composed = compose_config(words)
            outcome = train(composed, self.option_dirs, [logger])
        except ConfigError as error:
            outcome = RunOutcome(status="refused", message=str(error))
        if outcome.status == "finished":
            (run,) = self.folder.glob(f"*/*/{name}")
            return self.get_metric(read_last_metrics_row(run))
        # An exit code above 128 means that a signal ended the run.
        if logger.should_prune and outcome.exit_code <= 128:
            raise TrialPruned(f"within the run of seed {seed}")
        completed = trial.study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
        if outcome.status == "refused" and not completed:
            raise ConfigError(outcome.message)
        if outcome.status in ("refused", "diverged"):
            raise TrialPruned(f"{outcome.status}: {outcome.message}")
        raise TrialStoppedError(outcome)

    def get_metric(self, row: Mapping[str, float]) -> float:
        """Return the value of the study's metric in a row of metrics.jsonl.

        The metric is a tag of the row, or a measure of the headline player, the first player that
        the row has measurements of.
        """
        metric = self.config.metric
        headline = next((tag.split("/")[1] for tag in row if tag.startswith("eval/")), "")
        for tag in (metric, f"eval/{headline}/{metric}"):
            if tag in row:
                return row[tag]
        recorded = ", ".join(tag for tag in row if not tag.startswith("time/"))
        raise ConfigError(f"metric: a run records no {metric}; it records {recorded}")


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
            mean = fmean([*self.earlier_values, value])
            self.trial.report(mean, len(self.earlier_values) * root.budget + steps)
            self.should_prune = self.trial.should_prune()
            if self.should_prune:
                raise RunInterruptedError(0, "ended early")


def run_trials(study: Study, search_space: SearchSpace, objective: Objective) -> int:
    """Run trials until the study has as many as its setting `trials`; return the exit code."""
    with (objective.folder / LOCKS_FILE).open("wb") as locks:
        while (trial := start_trial(study, search_space, objective, locks)) is not None:
            print_line(f"trial {trial.number}: {' '.join(format_overrides(trial.params))}")
            try:
                value = objective(trial)
            except TrialPruned as error:
                print_line(f"trial {trial.number}: ended early, {error}")
                study.tell(trial, state=TrialState.PRUNED)
            except ConfigError:
                study.tell(trial, state=TrialState.FAIL)
                raise
            except TrialStoppedError as error:
                is_stopped = error.outcome.status == "interrupted"
                hint = "stopped; to resume, give the same command"
                print_error(hint if is_stopped else error.outcome.message)
                return error.outcome.exit_code
            else:
                print_line(f"trial {trial.number}: {objective.config.metric} {value:.4g}")
                study.tell(trial, value)
    return 0


def start_trial(
    study: Study, search_space: SearchSpace, objective: Objective, locks: BinaryIO
) -> Trial | None:
    """Start the next trial; return None if the study has enough trials.

    If other processes run all trials that are left, wait until these have ended, or are lost.
    """
    while True:
        with exclusive_lock(objective.folder):  # meanwhile no other process starts a trial
            requeue_lost_trials(study, locks)
            states = Counter(trial.state for trial in study.get_trials(deepcopy=False))
            ended = states[TrialState.COMPLETE] + states[TrialState.PRUNED]
            if ended >= objective.config.trials:
                return None
            if ended + states[TrialState.RUNNING] < objective.config.trials:
                trial = study.ask(search_space)
                fcntl.lockf(locks, fcntl.LOCK_EX, 1, trial.number)
                return trial
        time.sleep(WAIT_S)


def requeue_lost_trials(study: Study, locks: BinaryIO) -> None:
    """Put the running trials whose processes have ended back into the queue."""
    for trial in study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
        try:
            fcntl.lockf(locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, trial.number)
        except BlockingIOError:  # another process runs this trial
            continue
        study.tell(trial.number, state=TrialState.FAIL)
        tries = trial.user_attrs.get("tries", 1)
        if tries < MAX_TRIES:
            first = trial.user_attrs.get("first_try", trial.number)
            study.enqueue_trial(trial.params, {"first_try": first, "tries": tries + 1})
        else:
            print_error(f"trial {trial.number}: given up after {tries} tries")


def get_run_name(trial: Trial | FrozenTrial, seed: int) -> str:
    """Return the name of a trial's run, which is the same in every try of the trial."""
    return f"trial-{trial.user_attrs.get('first_try', trial.number)}_seed-{seed}"
