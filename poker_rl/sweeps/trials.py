"""A trial of a study: runs of `poker-rl train` with the same settings, one for each seed."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from optuna import TrialPruned
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.trial import Trial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from poker_rl.config.root import Root
from poker_rl.config.settings import Refused
from poker_rl.storage.checkpoint import STATE
from poker_rl.storage.disk import say
from poker_rl.storage.folder import METRICS, read_folder, read_rows
from poker_rl.sweeps.search_space import Space, drawn, override
from poker_rl.training.loggers import Row
from poker_rl.training.outcome import Outcome
from poker_rl.training.signals import Interrupted
from poker_rl.training.train import train

DATABASE = "study.db"
SIGNAL = 128  # an exit code above tells of a signal


class Ended(Exception):
    """A run ended through no fault of its settings: by a signal, or because the machine failed."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.message)
        self.outcome = outcome


class Trials:
    """What Optuna calls for each trial; the value is the metric's mean over the seeds.

    Values on the way are those after so many steps of all the trial's runs, which come one after
    another: the mean of the runs that have ended and of the one that is training.

    Args:
        folder: of the study.
        train: overrides of every run.
        root: root settings of a run, of which the budget and its rows are looked at.
        conf: the folders of the options.
    """

    def __init__(
        self,
        folder: Path,
        train: Sequence[str],
        space: Space,
        seeds: Sequence[int],
        metric: str,
        root: Root,
        conf: Sequence[Path],
    ) -> None:
        self.folder, self.train, self.space, self.seeds = folder, train, space, seeds
        self.metric, self.root, self.conf = metric, root, conf
        self.number: int | None = None  # of the trial that was begun last
        self.lost = False  # whether another process took that one for lost

    def __call__(self, trial: Trial) -> float:
        """The value of a trial.

        Raises:
            TrialPruned: if it ends early, diverges or its settings are refused.
            Refused: if settings are refused before any trial has come to its end.
            Ended: if a run was stopped or failed.
        """
        self.number, self.lost = trial.number, False
        words = [override(key, value) for key, value in drawn(self.space, trial).items()]
        say(f"trial {trial.number}: {' '.join(words)}")
        try:
            value = self.mean(trial, words)
        except TrialPruned as error:
            say(f"trial {trial.number}: ended early, {error}")
            raise
        say(f"trial {trial.number}: {self.metric} {value:.4g}")
        return value

    def mean(self, trial: Trial, words: Sequence[str]) -> float:
        """The value of a trial, whose settings are given as overrides."""
        values: list[float] = []
        for seed in self.seeds:
            values.append(self.value(trial, words, seed, values))
            with self._at_database():
                trial.report(fmean(values), len(values) * self.root.budget)
            if len(values) < len(self.seeds) and trial.should_prune():
                raise TrialPruned(f"after the run of seed {seed}")
        return fmean(values)

    def value(
        self, trial: Trial, words: Sequence[str], seed: int, before: Sequence[float]
    ) -> float:
        """The metric at the end of the run of a seed.

        Args:
            before: that of the runs of other seeds.
        """
        from poker_rl.config.compose import compose, opened  # late: they import hydra

        name = f"trial-{trial.number}_seed-{seed}"
        place = [f"seed={seed}", f"outputs={quoted(self.folder)}", f"name={name}"]
        asked = [*self.train, *words, *place]
        if (begun := trial.user_attrs.get(f"run of seed {seed}")) is not None:  # a second try
            run = self.folder / begun
            if (run / STATE).exists():
                if read_folder(run)[1]["status"] == "finished":
                    return self.metric_of(read_rows(run / METRICS)[-1])
                asked = [f"resume={quoted(run)}"]

        watcher = TrialLogger(self, trial, seed, before)
        try:
            with opened(self.conf):
                composed = compose(asked)
        except Refused as error:  # a combination, such as a network for an algorithm without
            outcome = Outcome(status="refused", message=str(error))
        else:
            outcome = train(composed, self.conf, [watcher])
        if outcome.status == "finished":
            return self.metric_of(outcome.metrics)
        if watcher.should_prune and outcome.exit_code <= SIGNAL:
            raise TrialPruned(f"within the run of seed {seed}")
        if outcome.status in ("refused", "diverged"):
            finished = trial.study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
            if outcome.status == "refused" and not finished:
                raise Refused(outcome.message)
            raise TrialPruned(f"{outcome.status}: {outcome.message}")
        raise Ended(outcome)

    @contextmanager
    def _at_database(self) -> Iterator[None]:
        """What fails in this context is told as `database` tells it.

        Raises:
            Interrupted: if this process was still for so long that another one put the trial back.
        """
        try:
            with database(self.folder):
                yield
        except UpdateFinishedTrialError:
            self.lost = True
            raise Interrupted(0, "taken for lost") from None

    def metric_of(self, row: Mapping[str, float]) -> float:
        """The metric in a row: a tag, or a measure of the headline player, who comes first.

        Raises:
            Refused: if it is not there.
        """
        if self.metric in row:
            return row[self.metric]
        headline = next((tag.split("/")[1] for tag in row if tag.startswith("eval/")), "")
        if (tag := f"eval/{headline}/{self.metric}") not in row:
            recorded = ", ".join(tag for tag in row if not tag.startswith("time/"))
            raise Refused(f"metric: a run records no {self.metric}; it records {recorded}")
        return row[tag]


@dataclass
class TrialLogger:
    """Report the rows of a trial's run to Optuna, and end the run early if it should be pruned.

    Args:
        before: the metric at the end of the runs of earlier seeds.
    """

    trials: Trials
    trial: Trial
    seed: int
    before: Sequence[float]
    should_prune: bool = False

    def start(self, config: Mapping[str, Any], folder: Path, resumed_at: int | None) -> None:
        """Remember the run's folder in the study."""
        run = str(folder.relative_to(self.trials.folder))
        with self.trials._at_database():
            self.trial.set_user_attr(f"run of seed {self.seed}", run)

    def log(self, row: Row, step: int) -> None:
        """Report the metric; raise Interrupted if the trial should be pruned."""
        root = self.trials.root
        done = row.counters[root.budget_unit]
        if done == 0:  # some metrics exist only after the first step
            return
        value = self.trials.metric_of({**row.counters, **row.values})
        if done < root.budget:
            # Rows differ in their place by a step of learning; trials are compared at one place.
            steps = done // root.evaluate_every * root.evaluate_every
            with self.trials._at_database():
                mean = fmean([*self.before, value])
                self.trial.report(mean, len(self.before) * root.budget + steps)
                self.should_prune = self.trial.should_prune()
            if self.should_prune:
                raise Interrupted(0, "ended early")

    def figure(self, name: str, path: Path, step: int) -> None:
        """Leave figures to the run's own record."""

    def close(self, status: str) -> None:
        """Leave the end to the run's outcome."""


def quoted(path: Path) -> str:
    """A path as the value of an override."""
    return "'" + str(path).replace("'", r"\'") + "'"


@contextmanager
def database(folder: Path) -> Iterator[None]:
    """What fails in this context at the study's database is told with its path.

    Raises:
        OSError: in its place.
    """
    try:
        yield
    except (StorageInternalError, SQLAlchemyError) as error:
        cause = error.__cause__ if isinstance(error, StorageInternalError) else error
        why = getattr(cause, "orig", None) or cause or error
        raise OSError(
            errno.EIO, f"the study's database fails: {why}", str(folder / DATABASE)
        ) from None
