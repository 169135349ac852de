"""A study of `poker-rl tune`: its settings, its search space and its trials.

While a process runs trial N, it locks byte N of the file `locks`. If the process ends or is killed,
the lock is released. So another process can notice that this trial is lost, and put it back into
the queue. The next try of the trial resumes the runs of the lost try.
"""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any, BinaryIO, Literal

from optuna import Study, TrialPruned, distributions
from optuna.trial import FrozenTrial, Trial, TrialState

from poker_rl.config import input_checks
from poker_rl.config.compose import UngroupedConfig, compose_config, initialize_hydra
from poker_rl.config.input_checks import ConfigError
from poker_rl.storage.disk import exclusive_lock
from poker_rl.storage.run_files import read_last_metrics_row, read_manifest
from poker_rl.storage.terminal_printing import print_error, print_line, print_notice_if_compiling
from poker_rl.training.loggers import Logger, Row
from poker_rl.training.run_outcome import DivergedError, RunInterruptedError
from poker_rl.training.start_run import build_and_train

LOCKS_FILE = "locks"
MAX_TRIES = 5  # a trial is given up once its process was stopped or killed this many times
WAIT_S = 1.0  # seconds between searches for lost trials, while other processes run all that remain

SearchSpace = dict[str, distributions.BaseDistribution]
EXAMPLE = "{low: 1e-4, high: 1e-2, log: true}"


@dataclass(kw_only=True, frozen=True)
class TuneConfig:
    """Settings of `poker-rl tune`; conf/tune.yaml explains them."""

    tune: str | None
    train_overrides: list[str]
    search_space: dict[str, Any]
    seeds: list[input_checks.Seed]
    metric: str
    direction: Literal["minimize", "maximize"]
    trials: input_checks.PositiveInt
    startup_trials: input_checks.NonNegativeInt
    pruner: Literal["median", "hyperband", "none"]
    warmup_share: input_checks.Probability
    out: str | None

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"seeds: {self.seeds}; give at least one, as [0], and each once")


def parse_search_space(config: Mapping[str, Any]) -> SearchSpace:
    """Return Optuna's distribution of each key of `search_space`; raise ConfigError if invalid."""
    if not config:
        raise ConfigError(f"search_space: missing; give search_space={{algo.lr: {EXAMPLE}}}")
    search_space: SearchSpace = {}
    for key, values in config.items():
        kind: type[Any] = distributions.FloatDistribution
        try:
            if not isinstance(key, str):
                raise TypeError
            if "choices" in values:
                if not isinstance(values["choices"], list):
                    raise TypeError
                if any(isinstance(choice, list | dict) for choice in values["choices"]):
                    raise ValueError("a choice may be text, as '[64,64]', but no list")
                kind = distributions.CategoricalDistribution
            elif not all(map(isfinite, (values["low"], values["high"]))):
                raise ValueError("low and high have to be finite")
            elif isinstance(values["low"], int) and isinstance(values["high"], int):
                kind = distributions.IntDistribution
            search_space[key] = kind(**values)
        except ValueError as error:
            raise ConfigError(f"search_space.{key}: {error}") from None
        except (KeyError, TypeError):
            problem = f"search_space.{key}: {input_checks.format_value(values)}; allowed: {EXAMPLE}"
            raise ConfigError(f"{problem} or {{choices: [a, b]}}") from None
    return search_space


def format_overrides(values: Mapping[str, Any]) -> list[str]:
    """Return an override KEY=VALUE for each setting in `values`; numbers keep all their digits."""
    return [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in values.items()
    ]


@dataclass
class ObjectiveFunction(Logger):
    """Objective function of a study: the mean of the metric over the runs of a trial.

    The runs of a trial, one per seed, train one after another. This object is also their logger. At
    each evaluation, it reports two numbers to Optuna: the mean of the metric over the runs so far,
    and the sum of their steps in the budget's unit. Optuna compares trials at equal sums.
    """

    folder: Path  # the folder of the study
    config: TuneConfig
    ungrouped: UngroupedConfig  # settings of the runs that belong to no group
    option_dirs: Sequence[Path]

    def __call__(self, trial: Trial) -> float:
        """Train the runs of a trial, and return the mean of their metric.

        Raise TrialPruned if the trial ends early, diverges, or has settings that are not allowed.
        If no trial has completed so far, such settings raise a ConfigError instead.
        """
        self.trial, self.should_prune = trial, False
        self.values: list[float] = []  # metrics of the trial's finished runs
        for seed in self.config.seeds:
            self.values.append(self.train_seed(seed))
            trial.report(fmean(self.values), len(self.values) * self.ungrouped.budget)
            if len(self.values) < len(self.config.seeds) and trial.should_prune():
                raise TrialPruned(f"after the run of seed {seed}")
        return fmean(self.values)

    def train_seed(self, seed: int) -> float:
        """Train or resume a seed's run; return its final metric, or raise as `__call__` does."""
        name = get_run_name(self.trial, seed)
        words = [*self.config.train_overrides, *format_overrides(self.trial.params)]
        words += [f"seed={seed}", f"outputs={self.folder}", f"name={name}"]
        if run := self.find_run(name):  # an earlier try of the trial has started this run
            if read_manifest(run)["status"] == "finished":
                return self.get_metric(read_last_metrics_row(run))
            words = [f"resume={run}"]
        try:
            with initialize_hydra(self.option_dirs):
                composed = compose_config(words)
            with print_notice_if_compiling():
                build_and_train(composed, self.option_dirs, [self])
        except RunInterruptedError as error:
            if self.should_prune and error.exit_code <= 128:  # above 128, a signal ended the run
                raise TrialPruned(f"within the run of seed {seed}") from None
            raise
        except ConfigError as error:
            has_diverged = isinstance(error, DivergedError)
            states = [one.state for one in self.trial.study.get_trials(deepcopy=False)]
            if not has_diverged and TrialState.COMPLETE not in states:
                raise
            raise TrialPruned(f"{'diverged' if has_diverged else 'refused'}: {error}") from None
        run = self.find_run(name)
        assert run is not None
        return self.get_metric(read_last_metrics_row(run))

    def find_run(self, name: str) -> Path | None:
        """Return the folder of the study's run with this name; None if it does not exist."""
        return next((run for run in self.folder.glob(f"*/*/{name}") if read_manifest(run)), None)

    def get_metric(self, row: Mapping[str, float]) -> float:
        """Return the study's metric from a row of metrics.jsonl; raise ConfigError if missing."""
        metric = self.config.metric
        headline = next((tag.split("/")[1] for tag in row if tag.startswith("eval/")), "")
        for tag in (metric, f"eval/{headline}/{metric}"):
            if tag in row:
                return row[tag]
        recorded = ", ".join(tag for tag in row if not tag.startswith("time/"))
        raise ConfigError(f"metric: a run records no {metric}; it records {recorded}")

    def log(self, row: Row, step: int) -> None:
        """Report the metric to Optuna; raise RunInterruptedError if Optuna prunes the trial."""
        done, values = row.counters[self.ungrouped.budget_unit], {**row.counters, **row.values}
        if done == 0:  # no metrics of `learn` yet, so a tag such as "loss/policy" can't be checked
            if "/" not in self.config.metric:
                self.get_metric(values)
            return
        value = self.get_metric(values)
        if done < self.ungrouped.budget:
            # Runs evaluate after slightly different numbers of steps. Round these down to multiples
            # of `evaluate_every`, so that Optuna can compare trials at equal numbers.
            steps = done // self.ungrouped.evaluate_every * self.ungrouped.evaluate_every
            mean = fmean([*self.values, value])
            self.trial.report(mean, len(self.values) * self.ungrouped.budget + steps)
            self.should_prune = self.trial.should_prune()
            if self.should_prune:
                raise RunInterruptedError(0, "ended early")


def run_trials(study: Study, search_space: SearchSpace, objective: ObjectiveFunction) -> int:
    """Run trials until the study has completed or pruned `trials` of them; return the exit code."""
    with (objective.folder / LOCKS_FILE).open("wb") as locks:
        while (trial := start_next_trial(study, search_space, objective, locks)) is not None:
            print_line(f"trial {trial.number}: {' '.join(format_overrides(trial.params))}")
            try:
                value = objective(trial)
            except TrialPruned as error:
                print_line(f"trial {trial.number}: ended early, {error}")
                study.tell(trial, state=TrialState.PRUNED)
            except ConfigError:
                study.tell(trial, state=TrialState.FAIL)
                raise
            except RunInterruptedError as error:
                print_error("stopped; to resume, give the same command")
                return error.exit_code
            else:
                print_line(f"trial {trial.number}: {objective.config.metric} {value:.4g}")
                study.tell(trial, value)
    return 0


def start_next_trial(
    study: Study, search_space: SearchSpace, objective: ObjectiveFunction, locks: BinaryIO
) -> Trial | None:
    """Start the next trial; return None once enough trials are completed or pruned.

    While other processes run all trials that are still missing, wait: one of these may get lost.
    """
    while True:
        with exclusive_lock(objective.folder):  # no other process may start a trial now
            requeue_lost_trials(study, locks)
            states = [trial.state for trial in study.get_trials(deepcopy=False)]
            missing = objective.config.trials
            missing -= sum(map(states.count, (TrialState.COMPLETE, TrialState.PRUNED)))
            if missing <= 0:
                return None
            if missing > states.count(TrialState.RUNNING):
                trial = study.ask(search_space)
                fcntl.lockf(locks, fcntl.LOCK_EX, 1, trial.number)
                return trial
        time.sleep(WAIT_S)


def requeue_lost_trials(study: Study, locks: BinaryIO) -> None:
    """Put trials whose process was lost back into the queue, up to `MAX_TRIES` tries of each."""
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
