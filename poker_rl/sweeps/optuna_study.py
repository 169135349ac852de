"""Optuna's study in its folder: open and check it, run its trials, save its figures."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from math import isfinite
from pathlib import Path
from typing import Any

import optuna
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner
from optuna.samplers import TPESampler
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from poker_rl.config.root_config import RootConfig
from poker_rl.storage.disk import exclusive_lock, print_error
from poker_rl.sweeps.study_trials import DATABASE, Trials, TrialStoppedError
from poker_rl.sweeps.tune_config import TuneConfig

STUDY_NAME = "poker-rl"  # name of the study in its database
MAX_TRIES = 3  # for a trial whose process was killed or whose machine failed
MISSED_HEARTBEATS = 3  # number after which a trial counts as lost
DATABASE_TIMEOUT_S = 60.0  # time to wait for another process's lock
HISTORY_ATTRIBUTE = "retry_history"  # lists the earlier tries of a trial
OPTUNA_ATTRIBUTES = ("failed_trial", HISTORY_ATTRIBUTE, "completed_rung_")
RUN_DEPTH = 3  # folders from the study's folder to a run: game/algo/trial-0_seed-0
MIN_TRIALS_FOR_FIGURES = 2


def open_study(trials: Trials) -> tuple[optuna.Study, RDBStorage]:
    """Open the study of these trials, or create it, and return it with its database."""
    folder, config = trials.folder, trials.config
    heartbeat_interval = config.heartbeat_interval
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)  # trials print their own messages
    with exclusive_lock(folder):
        storage = RDBStorage(
            f"sqlite:///{(folder / DATABASE).resolve()}",
            engine_kwargs={"connect_args": {"timeout": DATABASE_TIMEOUT_S}},
            heartbeat_interval=heartbeat_interval,
            grace_period=MISSED_HEARTBEATS * heartbeat_interval,
            heartbeat_stale_trial_callback=requeue_lost_trial,
        )
        study = optuna.create_study(
            study_name=STUDY_NAME,
            storage=storage,
            sampler=TPESampler(n_startup_trials=config.startup_trials),
            pruner=create_pruner(config, trials.root),
            direction=config.direction,
            load_if_exists=True,
        )
        return study, storage


def check_study(study: optuna.Study, trials: Trials) -> None:
    """Check the contents of a study before they are used, as its file may be from a stranger.

    Raises:
        ValueError: if a trial does not fit the search space, seeds and direction.
    """
    if study.directions != [StudyDirection[trials.config.direction.upper()]]:
        raise ValueError(f"its direction is not {trials.config.direction}")
    for number, trial in enumerate(study.get_trials(deepcopy=False)):
        if trial.number != number:
            raise ValueError(f"trial {number} is missing")
        create_trial(  # raises a ValueError if the parts do not fit together
            state=trial.state,
            values=trial.values,
            params=trial.params,
            distributions=trial.distributions,
        )
        if any(trials.search_space.get(key) != one for key, one in trial.distributions.items()):
            raise ValueError(f"trial {number} is of another search space")
        if not all(map(isfinite, [*(trial.values or ()), *trial.intermediate_values.values()])):
            raise ValueError(f"trial {number} has a value that is not finite")
        for key, value in trial.system_attrs.items():
            is_known = key.startswith(OPTUNA_ATTRIBUTES) and isinstance(value, int | float | list)
            if not is_known or isinstance(value, list) != (key == HISTORY_ATTRIBUTE):
                raise ValueError(f"trial {number} has unknown attributes")
        for seed in trials.config.seeds:
            run = trial.user_attrs.get(f"run of seed {seed}")
            has_run = run is not None or trial.state == TrialState.COMPLETE
            if has_run and not (isinstance(run, str) and is_own_run(trials.folder, run)):
                raise ValueError(f"trial {number} names a run that is not in the study's folder")


def is_own_run(folder: Path, run: str) -> bool:
    """Return whether `run` is the relative path of a run in the study's folder, without links."""
    path = folder.resolve() / run
    is_inside = path.is_relative_to(folder.resolve()) and len(Path(run).parts) == RUN_DEPTH
    return is_inside and path.resolve() == path


def create_pruner(config: TuneConfig, root: RootConfig) -> BasePruner:
    """Return Optuna's pruner, which decides whether a trial ends early."""
    if config.pruner == "median":
        warmup_steps = round(config.warmup_share * root.budget)
        return MedianPruner(n_startup_trials=config.startup_trials, n_warmup_steps=warmup_steps)
    if config.pruner == "hyperband":
        total_steps = root.budget * len(config.seeds)
        return HyperbandPruner(min_resource=root.evaluate_every, max_resource=total_steps)
    return NopPruner()


def run_trials(study: optuna.Study, trials: Trials, storage: RDBStorage) -> int:
    """Run trials until `trials.config.trials` trials have ended; return the exit code.

    Other processes may run trials of the same study. At the end this process waits for them, and
    takes over their trials if their heartbeats stop.
    """
    heartbeat_interval = trials.config.heartbeat_interval
    waits: Counter[int] = Counter()  # rounds of waiting, by number of another process's trial
    while True:
        states = Counter(trial.state for trial in study.get_trials(deepcopy=False))
        ended = states[TrialState.COMPLETE] + states[TrialState.PRUNED]
        if ended >= trials.config.trials:
            return 0
        if ended + states[TrialState.RUNNING] >= trials.config.trials:
            time.sleep(heartbeat_interval)
            fail_stale_trials(study)
            for trial in study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
                waits[trial.number] += 1
                if waits[trial.number] == 2:
                    # Optuna ignores a trial without any heartbeat, or with one in the future. This
                    # heartbeat makes it count the time from now on.
                    storage.record_heartbeat(trial._trial_id)
            continue
        try:
            study.optimize(trials, n_trials=1)
        except TrialStoppedError as error:
            outcome = error.outcome
            is_stopped = outcome.status == "interrupted"
            failed = find_failed_trial(study, trials)
            if outcome.status == "in use" and failed is not None:
                requeue_trial(study, failed)  # a process that counted as lost still trains it
                print_error(f"{outcome.message}; next try in {heartbeat_interval} seconds")
                time.sleep(heartbeat_interval)
                continue
            print_error(
                "stopped; to resume, give the same command" if is_stopped else outcome.message
            )
            if failed is not None:
                (requeue_trial if is_stopped else requeue_lost_trial)(study, failed)
            return outcome.exit_code
        except (KeyboardInterrupt, OSError):
            if (failed := find_failed_trial(study, trials)) is not None:
                requeue_trial(study, failed)
            raise
        except Exception:  # Optuna raises an error of its own for a lost trial
            if not trials.is_lost:
                raise
            seconds = MISSED_HEARTBEATS * heartbeat_interval
            print_error(
                f"trial {trials.number}: no heartbeat for {seconds} seconds, so another process"
                " has put it back into the queue"
            )


def find_failed_trial(study: optuna.Study, trials: Trials) -> FrozenTrial | None:
    """Return the trial that this process started last, if it failed."""
    if trials.number is None:
        return None
    trial = study.get_trials(deepcopy=False)[trials.number]
    return trial if trial.state == TrialState.FAIL else None


def requeue_trial(study: optuna.Study, trial: FrozenTrial) -> None:
    """Put a trial back into the queue of the study, for any process to try again."""
    study.add_trial(
        create_trial(
            state=TrialState.WAITING,
            params=trial.params,
            distributions=trial.distributions,
            user_attrs=trial.user_attrs,
            system_attrs=trial.system_attrs,
        )
    )


def requeue_lost_trial(study: optuna.Study, trial: FrozenTrial) -> None:
    """Put a trial whose process or machine failed back into the queue, at most twice."""
    losses = len(RetryHeartbeatStaleTrialCallback.retry_history(trial)) + 1
    RetryHeartbeatStaleTrialCallback(max_retry=MAX_TRIES - 1)(study, trial)
    if losses >= MAX_TRIES:
        print_error(f"trial {trial.number}: given up after {losses} lost or failed tries")


def save_figures(study: optuna.Study, trials: Trials) -> None:
    """Save Optuna's figures of the completed trials, if there are enough."""
    completed = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    if len(completed) < MIN_TRIALS_FOR_FIGURES:
        return
    from matplotlib import pyplot, rc_context
    from matplotlib.ticker import LogLocator, NullLocator
    from optuna.visualization import matplotlib as optuna_figures

    from poker_rl.evaluation.plots.plotting import save_png

    plots: dict[str, Any] = {
        "history": optuna_figures.plot_optimization_history,
        "importances": optuna_figures.plot_param_importances,
        "slices": optuna_figures.plot_slice,
    }
    if len({trial.value for trial in completed}) == 1:
        del plots["importances"]  # there are no differences to explain
    with rc_context(), warnings.catch_warnings():  # Optuna changes matplotlib's style
        warnings.simplefilter("ignore")  # about axes along which all values are the same
        for name, plot in plots.items():
            plot(study, target_name=trials.config.metric)
            figure = pyplot.gcf()
            # The colour bar beside a single panel does not fit into a constrained layout.
            is_single = name == "slices" and len(completed[0].params) == 1
            figure.set_layout_engine("tight" if is_single else "constrained")
            for ax in figure.axes:
                if ax.get_xscale() == "log":
                    ax.xaxis.set_major_locator(LogLocator(numticks=3))
                    ax.xaxis.set_minor_locator(NullLocator())
            path = trials.folder / f"{name}.png"
            save_png(figure, path, f"study {trials.folder}: completed trials")
            pyplot.close(figure)
