"""A study of Optuna's in its folder: opening it, taking its trials, drawing it."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from math import isfinite
from pathlib import Path
from typing import Literal

import optuna
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner
from optuna.samplers import TPESampler
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback, fail_stale_trials
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from poker_rl.storage.disk import alone, tell
from poker_rl.sweeps.trials import DATABASE, Ended, Trials

NAME = "poker-rl"  # of the one study in a database
TRIES = 3  # at a trial whose process was lost or whose machine failed
MISSED = 3  # signs of life, after which a trial counts as lost
WAIT = 60.0  # seconds for another process to let go of the database
HISTORY = "retry_history"  # of a trial: those before it that were lost
OPTUNAS = ("failed_trial", HISTORY, "completed_rung_")  # attributes that Optuna sets
RUN = Path("game", "algo", "trial-0_seed-0")  # where a run is in the study's folder
FEWEST = 2  # trials that came to their end, for pictures


def open_study(
    folder: Path,
    direction: Literal["minimize", "maximize"],
    startup: int,
    pruner: BasePruner,
    heartbeat: int,
) -> tuple[optuna.Study, RDBStorage]:
    """The study in a folder, begun if there is none, and the database that it is in.

    Args:
        startup: trials that are drawn by chance.
        heartbeat: seconds between two signs of life of a trial.
    """
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)  # what matters is told in our words
    with alone(folder):
        storage = RDBStorage(
            f"sqlite:///{(folder / DATABASE).resolve()}",
            engine_kwargs={"connect_args": {"timeout": WAIT}},
            heartbeat_interval=heartbeat,
            grace_period=MISSED * heartbeat,
            heartbeat_stale_trial_callback=put_back_lost,
        )
        study = optuna.create_study(
            study_name=NAME,
            storage=storage,
            sampler=TPESampler(n_startup_trials=startup),
            pruner=pruner,
            direction=direction,
            load_if_exists=True,
        )
        return study, storage


def check_study(study: optuna.Study, trials: Trials, direction: str) -> None:
    """Check a study that others may have written to, once, before any of it is used.

    Raises:
        ValueError: saying what a study with this space, seeds and direction does not hold.
    """
    if study.directions != [StudyDirection[direction.upper()]]:
        raise ValueError(f"its direction is not {direction}")
    for number, trial in enumerate(study.get_trials(deepcopy=False)):
        if trial.number != number:
            raise ValueError(f"trial {number} is missing")
        create_trial(  # refuses what does not fit together
            state=trial.state,
            values=trial.values,
            params=trial.params,
            distributions=trial.distributions,
        )
        if any(trials.space.get(key) != one for key, one in trial.distributions.items()):
            raise ValueError(f"trial {number} is of another space")
        if not all(map(isfinite, [*(trial.values or ()), *trial.intermediate_values.values()])):
            raise ValueError(f"trial {number} has a value that is not finite")
        for key, value in trial.system_attrs.items():
            known = key.startswith(OPTUNAS) and isinstance(value, int | float | list)
            if known and isinstance(value, list) == (key == HISTORY):
                continue
            raise ValueError(f"trial {number} has attributes that no trial is given")
        for seed in trials.seeds:
            run = trial.user_attrs.get(f"run of seed {seed}")
            begun = run is not None or trial.state == TrialState.COMPLETE
            if begun and not (isinstance(run, str) and is_own_run(trials.folder, run)):
                raise ValueError(f"trial {number} names a run that is not in the study's folder")


def is_own_run(folder: Path, run: str) -> bool:
    """Return whether a path leads to where a study has its runs, and over no link."""
    path = folder.resolve() / run
    within = path.is_relative_to(folder.resolve()) and len(Path(run).parts) == len(RUN.parts)
    return within and path.resolve() == path


def pruner_of(name: str, startup: int, warmup: int, every: int, steps: int) -> BasePruner:
    """What ends trials early.

    Args:
        startup: trials that run to their end before the median ends any.
        warmup: steps before which the median ends none.
        every: steps between two values of a trial.
        steps: of a whole trial, all its runs together.
    """
    if name == "median":
        return MedianPruner(n_startup_trials=startup, n_warmup_steps=warmup)
    if name == "hyperband":
        return HyperbandPruner(min_resource=every, max_resource=steps)
    return NopPruner()


def search(
    study: optuna.Study, trials: Trials, count: int, heartbeat: int, storage: RDBStorage
) -> int:
    """Take trials until the study has so many that came to an end; the exit code.

    Other processes may take trials of it too. Those that they are at are waited for, and begun
    again here if they give no more signs of life.
    """
    waits: Counter[int] = Counter()  # for each trial of another process
    while True:
        states = Counter(trial.state for trial in study.get_trials(deepcopy=False))
        ended = states[TrialState.COMPLETE] + states[TrialState.PRUNED]
        if ended >= count:
            return 0
        if ended + states[TrialState.RUNNING] >= count:
            time.sleep(heartbeat)
            fail_stale_trials(study)
            for trial in study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
                waits[trial.number] += 1
                if waits[trial.number] == 2:
                    # Optuna never takes a trial for lost that has given no sign of life yet, or
                    # whose last one is in the future. From this one on it does.
                    storage.record_heartbeat(trial._trial_id)
            continue
        try:
            study.optimize(trials, n_trials=1)
        except Ended as error:
            stopped = error.outcome.status == "interrupted"
            failed = begun_last(study, trials)
            if error.outcome.status == "in use" and failed is not None:
                put_back(study, failed)  # who has its run was taken for lost, and is not
                again = f"tried again in {heartbeat} seconds"
                tell(f"{error.outcome.message}; {again}")
                time.sleep(heartbeat)
                continue
            what = "stopped; the same command goes on" if stopped else error.outcome.message
            tell(what)
            if failed is not None:
                (put_back if stopped else put_back_lost)(study, failed)
            return error.outcome.exit_code
        except (KeyboardInterrupt, OSError):
            if (failed := begun_last(study, trials)) is not None:
                put_back(study, failed)
            raise
        except Exception:  # Optuna's own, in place of what is raised in a trial that is lost
            if not trials.lost:
                raise
            still = f"no sign of life for {MISSED * heartbeat} seconds"
            what = f"trial {trials.number}: {still}, so it was put back for whoever is free"
            tell(what)


def begun_last(study: optuna.Study, trials: Trials) -> FrozenTrial | None:
    """The trial that this process began last, if it failed."""
    if trials.number is None:
        return None
    trial = study.get_trials(deepcopy=False)[trials.number]
    return trial if trial.state == TrialState.FAIL else None


def put_back(study: optuna.Study, trial: FrozenTrial) -> None:
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


def put_back_lost(study: optuna.Study, trial: FrozenTrial) -> None:
    """The same for a trial whose process was lost or whose machine failed, unless too often."""
    losses = len(RetryHeartbeatStaleTrialCallback.retry_history(trial)) + 1
    RetryHeartbeatStaleTrialCallback(max_retry=TRIES - 1)(study, trial)
    if losses >= TRIES:
        what = f"trial {trial.number}: given up, as it was lost or failed {losses} times"
        tell(what)


def draw(study: optuna.Study, folder: Path, metric: str) -> None:
    """Write Optuna's pictures of the trials that came to their end, if there are some."""
    ended = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    if len(ended) < FEWEST:
        return
    from matplotlib import pyplot, rc_context
    from matplotlib.ticker import MaxNLocator, NullLocator
    from optuna.visualization import matplotlib as pictures

    from poker_rl.evaluation.drawing import Decades, Numbers, save

    settled = len({trial.value for trial in ended}) == 1  # there is nothing to explain
    with rc_context(), warnings.catch_warnings():  # Optuna sets a style of its own
        warnings.simplefilter("ignore")  # of axes along which all values are the same
        for name, picture in (
            ("history", pictures.plot_optimization_history),
            ("importances", pictures.plot_param_importances),
            ("slices", pictures.plot_slice),
        ):
            if settled and name == "importances":
                continue
            picture(study, target_name=metric)
            figure = pyplot.gcf()
            # Optuna's colour bar beside a single panel has no room that `constrained` knows.
            one = name == "slices" and len(ended[0].params) == 1
            figure.set_layout_engine("tight" if one else "constrained")
            for ax in figure.axes:
                if ax.get_xscale() == "log":
                    ax.xaxis.set_major_locator(Decades(3))
                    ax.xaxis.set_minor_locator(NullLocator())
                    ax.xaxis.set_major_formatter(Numbers())
                elif name == "history":
                    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
                elif ax.get_ylabel() == "Trial":  # the bar of colours
                    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
            save(figure, folder / f"{name}.png", f"study {folder}: trials that came to their end")
            pyplot.close(figure)
