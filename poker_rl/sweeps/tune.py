"""`poker-rl tune`: run the trials of a study, which searches for good settings.

outputs/tune/<name>/
    study.db, locks               Optuna's study, shared by all processes that run its trials
    <game>/<algo>/trial-N_seed-S  the run folders
    history.png, importances.png, slices.png
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy
from optuna.distributions import CategoricalDistribution
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner
from optuna.samplers import TPESampler
from optuna.trial import TrialState

from poker_rl.config import option_files
from poker_rl.config.compose import UngroupedConfig, compose_plain_config
from poker_rl.config.input_checks import ConfigError, error_prefix
from poker_rl.config.option_files import find_differing_key
from poker_rl.storage.disk import create_writable_folder, exclusive_lock, list_complete_files
from poker_rl.storage.run_files import LOCATION_SETTINGS
from poker_rl.storage.terminal_printing import print_line
from poker_rl.sweeps.study import (
    ObjectiveFunction,
    SearchSpace,
    TuneConfig,
    format_overrides,
    get_run_name,
    parse_search_space,
    run_trials,
)
from poker_rl.training.run_config import build_ungrouped_config
from poker_rl.training.start_run import format_train_command

STUDY_FILE = "study.db"
# Settings that must not change in a resumed study; Optuna keeps them as the attribute `definition`.
DEFINITION_KEYS = ("search_space", "train_overrides", "seeds", "metric", "direction")
SETTINGS_SET_BY_STUDY = {"seed", *LOCATION_SETTINGS}  # a user can't give these settings of runs
SETTINGS_EQUAL_IN_TRIALS = {"budget", "budget_unit", "evaluate_every"}


def tune(config: TuneConfig, option_dirs: Sequence[Path]) -> int:
    """Run the trials of a study, print the best one, save figures, and return the exit code."""
    if config.out is None and config.tune is None:
        raise ConfigError("tune: missing; give tune=NAME, or out=FOLDER and the study's settings")
    search_space = parse_search_space(config.search_space)
    folder = Path(config.out or f"outputs/tune/{config.tune}")
    ungrouped = build_checked_ungrouped_config(config.train_overrides, search_space, option_dirs)
    study = open_or_create_study(folder, config, ungrouped)
    is_new = not study.get_trials(deepcopy=False)
    objective = ObjectiveFunction(folder, config, ungrouped, option_dirs)
    try:
        code = run_trials(study, search_space, objective)
    except ConfigError:
        # Delete a new study whose only trial had wrong settings, to free its name.
        if is_new and len(study.get_trials(deepcopy=False)) == 1:
            shutil.rmtree(folder)
        raise
    print_best_trial(study, objective)
    save_figures(study, objective)
    return code


def build_checked_ungrouped_config(
    train_overrides: Sequence[str], search_space: SearchSpace, option_dirs: Sequence[Path]
) -> UngroupedConfig:
    """Compose a run of the study, and return its settings that belong to no group.

    In this run, each searched key has its lowest value or first choice. Raise ConfigError if a
    value is not allowed, or a key is one that the study has to set.
    """
    for key in map(option_files.extract_override_key, (*train_overrides, *search_space)):
        if key in SETTINGS_SET_BY_STUDY:
            raise ConfigError(f"{key}: the study sets it; leave it out")
    for key in SETTINGS_EQUAL_IN_TRIALS & search_space.keys():
        raise ConfigError(f"{key}: is equal in all trials; give it in train_overrides")
    lowest = {
        key: one.choices[0] if isinstance(one, CategoricalDistribution) else one.low  # type: ignore[attr-defined]
        for key, one in search_space.items()
    }
    words = [*train_overrides, *format_overrides(lowest)]
    return build_ungrouped_config(compose_plain_config(words, option_dirs))


def open_or_create_study(
    folder: Path, config: TuneConfig, ungrouped: UngroupedConfig
) -> optuna.Study:
    """Open or create a study; raise ConfigError if the folder has other files or another study."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    definition = {key: getattr(config, key) for key in DEFINITION_KEYS}
    pruner: BasePruner = NopPruner()
    if config.pruner == "median":
        warmup_steps = round(config.warmup_share * ungrouped.budget)
        pruner = MedianPruner(config.startup_trials, warmup_steps)
    elif config.pruner == "hyperband":
        pruner = HyperbandPruner(ungrouped.evaluate_every, ungrouped.budget * len(config.seeds))
    database, query = str(folder.resolve() / STUDY_FILE), {"timeout": "60"}
    url = sqlalchemy.URL.create("sqlite", database=database, query=query)
    with error_prefix("out"):
        create_writable_folder(folder)
        with exclusive_lock(folder):  # another process may create the same study now
            if list_complete_files(folder) and not (folder / STUDY_FILE).exists():
                raise ConfigError(
                    f"{folder} is no study's folder, there is no {STUDY_FILE}; give a new one"
                )
            study = optuna.create_study(
                study_name="poker-rl",
                storage=url.render_as_string(),
                sampler=TPESampler(n_startup_trials=config.startup_trials),
                pruner=pruner,
                direction=config.direction,
                load_if_exists=True,
            )
            if "definition" not in study.user_attrs:
                study.set_user_attr("definition", definition)
        if key := find_differing_key(definition, study.user_attrs["definition"]):
            raise ConfigError(f"{folder} holds a study with another {key}; give out=FOLDER")
    return study


def print_best_trial(study: optuna.Study, objective: ObjectiveFunction) -> None:
    """Print how many trials ended, the best one, and the command that trains with its settings."""
    config = objective.config
    states = [trial.state for trial in study.get_trials(deepcopy=False)]
    completed, pruned = map(states.count, (TrialState.COMPLETE, TrialState.PRUNED))
    print_line(f"\nstudy {objective.folder}: {completed} completed, {pruned} ended early")
    if not completed:
        return
    best = study.best_trial
    seeds = ",".join(map(str, config.seeds))
    seeds_text = f"the mean of seeds {seeds}" if len(config.seeds) > 1 else f"seed {seeds}"
    paths = [objective.find_run(get_run_name(best, seed)) for seed in config.seeds]
    runs = ", ".join(str(path.relative_to(objective.folder)) for path in paths if path)
    print_line(f"best: trial {best.number}, {config.metric} {best.value:.4g}, {seeds_text}: {runs}")
    # For keys in the search space, the best values replace the overrides.
    parse_key, words = option_files.extract_override_key, config.train_overrides
    words = [word for word in words if parse_key(word) not in best.params]
    words += [*format_overrides(best.params), f"seed={seeds}"]
    sweep = ["-m"] if len(config.seeds) > 1 else []
    print_line(format_train_command([*sweep, *words], objective.option_dirs))


def save_figures(study: optuna.Study, objective: ObjectiveFunction) -> None:
    """Save Optuna's figures of the study, if at least two trials have completed."""
    completed = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    if len(completed) < 2:
        return
    from matplotlib import pyplot, rc_context
    from optuna.visualization import matplotlib as optuna_figures

    from poker_rl.evaluation.plots.plotting import save_figure

    plots: dict[str, Any] = {"history": optuna_figures.plot_optimization_history}
    plots["slices"] = optuna_figures.plot_slice
    if len({trial.value for trial in completed}) > 1:  # otherwise importances are undefined
        plots["importances"] = optuna_figures.plot_param_importances
    # Optuna changes matplotlib's style, which `rc_context` restores.
    with rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # experimental figures, or an axis with only one value
        for name, plot in plots.items():
            plot(study, target_name=objective.config.metric)
            figure = pyplot.gcf()
            figure.set_layout_engine("tight")
            path = objective.folder / f"{name}.png"
            save_figure(figure, path, f"study {objective.folder}: completed trials")
            pyplot.close(figure)
