"""A study of Optuna's in its folder: opening it, taking its trials, drawing it."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Literal

import optuna
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner
from optuna.samplers import TPESampler
from optuna.storages import RDBStorage, fail_stale_trials
from optuna.trial import FrozenTrial, TrialState, create_trial

from poker_rl.runs.trial import DATABASE, Ended, Trials
from poker_rl.storage.disk import alone, tell

NAME = "poker-rl"  # of the one study in a database
LOSSES = "losses"  # a trial's attribute: tries at it before this one that were lost
TRIES = 3  # at a trial whose process was lost or whose machine failed
MISSED = 3  # signs of life, after which a trial counts as lost
WAIT = 60.0  # seconds for another process to let go of the database
FEWEST = 2  # trials that came to their end, for pictures


def open_study(
    folder: Path,
    direction: Literal["minimize", "maximize"],
    startup: int,
    pruner: BasePruner,
    heartbeat: int,
) -> optuna.Study:
    """The study in a folder, begun if there is none.

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
        return optuna.create_study(
            study_name=NAME,
            storage=storage,
            sampler=TPESampler(n_startup_trials=startup),
            pruner=pruner,
            direction=direction,
            load_if_exists=True,
        )


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


def search(study: optuna.Study, trials: Trials, count: int, heartbeat: int) -> int:
    """Take trials until the study has so many that came to an end; the exit code.

    Other processes may take trials of it too. Those that they are at are waited for, and begun
    again here if they give no more signs of life.
    """
    while True:
        states = Counter(trial.state for trial in study.get_trials(deepcopy=False))
        ended = states[TrialState.COMPLETE] + states[TrialState.PRUNED]
        if ended >= count:
            return 0
        if ended + states[TrialState.RUNNING] >= count:
            time.sleep(heartbeat)
            fail_stale_trials(study)
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


def put_back(study: optuna.Study, trial: FrozenTrial, losses: int | None = None) -> None:
    """Have a trial tried again by whoever goes on with the study.

    Args:
        losses: tries at it that were lost; None: as many as before.
    """
    attributes = trial.user_attrs | ({} if losses is None else {LOSSES: losses})
    study.add_trial(
        create_trial(
            state=TrialState.WAITING,
            params=trial.params,
            distributions=trial.distributions,
            user_attrs=attributes,
        )
    )


def put_back_lost(study: optuna.Study, trial: FrozenTrial) -> None:
    """The same for a trial whose process was lost or whose machine failed, unless too often."""
    losses = int(trial.user_attrs.get(LOSSES, 0)) + 1
    if losses < TRIES:
        put_back(study, trial, losses)
    else:
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
