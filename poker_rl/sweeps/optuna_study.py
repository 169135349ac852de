"""Open an Optuna study in a folder, run its trials and save its figures."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from typing import Any

import optuna
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner
from optuna.samplers import TPESampler
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.trial import FrozenTrial, TrialState, create_trial

from poker_rl.config.compose import RootConfig
from poker_rl.storage.console import print_error
from poker_rl.storage.disk import exclusive_lock
from poker_rl.sweeps.study_config import TuneConfig
from poker_rl.sweeps.study_objective import (
    DATABASE,
    Objective,
    TrialStoppedError,
)

STUDY_NAME = "poker-rl"
MAX_TRIES = 3  # a trial is tried so often if its process is killed or its machine fails
MISSED_HEARTBEATS = 3  # a trial that has missed so many heartbeats counts as lost
DATABASE_TIMEOUT_S = 60.0
MIN_TRIALS_FOR_FIGURES = 2


def open_or_create_study(objective: Objective) -> optuna.Study:
    """Open the study in the folder `objective.folder`; create it if it does not exist."""
    folder, config = objective.folder, objective.config
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    with exclusive_lock(folder):
        storage = RDBStorage(
            f"sqlite:///{(folder / DATABASE).resolve()}",
            engine_kwargs={"connect_args": {"timeout": DATABASE_TIMEOUT_S}},
            heartbeat_interval=config.heartbeat_interval,
            grace_period=MISSED_HEARTBEATS * config.heartbeat_interval,
            heartbeat_stale_trial_callback=requeue_lost_trial,
        )
        return optuna.create_study(
            study_name=STUDY_NAME,
            storage=storage,
            sampler=TPESampler(n_startup_trials=config.startup_trials),
            pruner=create_pruner(config, objective.root),
            direction=config.direction,
            load_if_exists=True,
        )


def create_pruner(config: TuneConfig, root: RootConfig) -> BasePruner:
    """Create an Optuna pruner, which decides whether a trial ends early."""
    if config.pruner == "median":
        warmup_steps = round(config.warmup_share * root.budget)
        return MedianPruner(n_startup_trials=config.startup_trials, n_warmup_steps=warmup_steps)
    if config.pruner == "hyperband":
        total_steps = root.budget * len(config.seeds)
        return HyperbandPruner(min_resource=root.evaluate_every, max_resource=total_steps)
    return NopPruner()


def run_trials(study: optuna.Study, objective: Objective) -> int:
    """Run trials until the study has as many as its setting `trials`; return the exit code.

    Other processes may run trials of the same study; at the end this process waits for them. If
    another process sends no more heartbeats, its trial is put back into the queue.
    """
    heartbeat_interval, goal = objective.config.heartbeat_interval, objective.config.trials
    seen_trials: set[int] = set()
    while True:
        states = Counter(trial.state for trial in study.get_trials(deepcopy=False))
        ended = states[TrialState.COMPLETE] + states[TrialState.PRUNED]
        if ended >= goal:
            return 0
        if ended + states[TrialState.RUNNING] >= goal:
            time.sleep(heartbeat_interval)
            mark_lost_trials_failed(study, seen_trials)
            continue
        try:
            study.optimize(objective, n_trials=1)
        except TrialStoppedError as error:
            outcome, failed = error.outcome, find_failed_trial(study, objective)
            # "in use": a process whose trial counted as lost is still training in the run folder.
            is_in_use = outcome.status == "in use"
            is_stopped = outcome.status == "interrupted"
            if failed is not None:
                (requeue_trial if is_in_use or is_stopped else requeue_lost_trial)(study, failed)
            if not (is_in_use and failed):
                hint = "stopped; to resume, give the same command"
                print_error(hint if is_stopped else outcome.message)
                return outcome.exit_code
            print_error(f"{outcome.message}; next try in {heartbeat_interval} seconds")
            time.sleep(heartbeat_interval)
        except (KeyboardInterrupt, OSError):
            if (failed := find_failed_trial(study, objective)) is not None:
                requeue_trial(study, failed)
            raise
        except Exception:  # Optuna raises an error if the trial of this process counts as lost
            if not objective.is_lost:
                raise
            print_error(
                f"trial {objective.number}: no heartbeat for"
                f" {MISSED_HEARTBEATS * heartbeat_interval} seconds, so another process has put it"
                " back into the queue"
            )


def mark_lost_trials_failed(study: optuna.Study, seen_trials: set[int]) -> None:
    """Mark trials whose processes send no more heartbeats as failed.

    Optuna overlooks a trial that was killed before its first heartbeat. So this function records a
    first heartbeat for each running trial, and then adds the trial to `seen_trials`.
    """
    fail_stale_trials(study)
    for trial in study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
        if trial.number not in seen_trials:
            study._storage.record_heartbeat(trial._trial_id)  # type: ignore[attr-defined]
            seen_trials.add(trial.number)


def find_failed_trial(study: optuna.Study, objective: Objective) -> FrozenTrial | None:
    """Return the latest trial of this process if it failed, else None."""
    if objective.number is None:
        return None
    trial = study.get_trials(deepcopy=False)[objective.number]
    return trial if trial.state == TrialState.FAIL else None


def requeue_trial(study: optuna.Study, trial: FrozenTrial) -> None:
    """Put a trial back into the queue of the study, from which any process may take it."""
    study.add_trial(
        create_trial(
            state=TrialState.WAITING,
            params=trial.params,
            distributions=trial.distributions,
            system_attrs={"failed_trial": trial.number, **trial.system_attrs},
        )
    )


def requeue_lost_trial(study: optuna.Study, trial: FrozenTrial) -> None:
    """Put a trial whose process or machine failed back into the queue, at most twice."""
    losses = len(RetryHeartbeatStaleTrialCallback.retry_history(trial)) + 1
    RetryHeartbeatStaleTrialCallback(max_retry=MAX_TRIES - 1)(study, trial)
    if losses >= MAX_TRIES:
        print_error(f"trial {trial.number}: given up after {losses} lost or failed tries")


def save_figures(study: optuna.Study, objective: Objective) -> None:
    """Save Optuna's figures of the study, if at least two trials have completed."""
    completed = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    if len(completed) < MIN_TRIALS_FOR_FIGURES:
        return
    from matplotlib import pyplot, rc_context
    from optuna.visualization import matplotlib as optuna_figures

    from poker_rl.evaluation.plots.plotting import save_png

    plots: dict[str, Any] = {
        "history": optuna_figures.plot_optimization_history,
        "importances": optuna_figures.plot_param_importances,
        "slices": optuna_figures.plot_slice,
    }
    if len({trial.value for trial in completed}) == 1:
        del plots["importances"]  # if all trials have the same value, importances are undefined
    # Optuna changes matplotlib's style, which `rc_context` restores.
    with rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna warns about an axis with only one value
        for name, plot in plots.items():
            plot(study, target_name=objective.config.metric)
            figure = pyplot.gcf()
            figure.set_layout_engine("tight")
            path = objective.folder / f"{name}.png"
            save_png(figure, path, f"study {objective.folder}: completed trials")
            pyplot.close(figure)
