"""What `poker-rl tune` does once settings are read: trials of a study until there are enough.

outputs/tune/<name>/
    tune.yaml                     what is searched: a study that goes on is asked for the same
    study.db                      Optuna's study, shared by all processes that take trials of it
    <game>/<algo>/trial-N_seed-S  the run folders
    history.png, importances.png, slices.png
"""

from __future__ import annotations

import shlex
import shutil
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import optuna
import torch
import yaml  # type: ignore[import-untyped]
from optuna.exceptions import ExperimentalWarning, OptunaError, StorageInternalError
from optuna.storages import fail_stale_trials

from poker_rl.algos.load import build_algorithm
from poker_rl.config.build import build_as, convert_fields
from poker_rl.config.horizons import resolved
from poker_rl.config.messages import shown
from poker_rl.config.options import demand_once, key_of, of_the_user, option, plain, read
from poker_rl.config.root import Root
from poker_rl.config.settings import Count, Natural, Probability, Range, Refused, Seed, about
from poker_rl.games.game import Game
from poker_rl.storage.checkpoint import MISFITS
from poker_rl.storage.disk import (
    alone,
    demand_own,
    lacking,
    make_folder,
    names_in,
    remove_made,
    say,
)
from poker_rl.storage.folder import PLACE, write_text
from poker_rl.sweeps.search_space import Space, override, samples, space_of
from poker_rl.sweeps.study import check_study, draw, open_study, pruner_of, search
from poker_rl.sweeps.trials import DATABASE, Trials, database
from poker_rl.training.launch_workers import torchrun_count
from poker_rl.training.run_config import first_difference
from poker_rl.training.train import root_settings

PLAN = "tune.yaml"
DECIDING = ("train", "seeds", "metric", "direction")  # beside the space: what a study is
OURS = {"seed", *PLACE}  # settings of a run that a study gives itself
ALIKE = {"budget", "budget_unit", "evaluate_every"}  # and of those that trials are compared by


@dataclass(kw_only=True, frozen=True)
class Tune:
    """The settings of `poker-rl tune`, the space aside."""

    tune: str | None
    train: list[str]
    seeds: list[Seed]
    metric: str
    direction: Literal["minimize", "maximize"]
    trials: Count
    startup: Natural
    pruner: Literal["median", "hyperband", "none"]
    warmup: Probability
    heartbeat: Annotated[int, Range(1, 3600)]
    out: str | None

    def __post_init__(self) -> None:
        if not self.seeds:
            raise Refused("seeds: names none; give at least one, as [0]")
        if len(set(self.seeds)) < len(self.seeds):
            raise Refused(f"seeds: {self.seeds} has one twice, whose runs would be the same")


def tune(given: Mapping[str, Any], named: Collection[str], conf: Sequence[Path]) -> int:
    """Search until the study has all its trials, and tell the best; the exit code.

    Args:
        given: the settings, those of `conf/tune.yaml` and what the user gave.
        named: the keys that the user gave.
        conf: the folders of the options.

    Raises:
        Refused: if anything can't be accepted; of a study that was begun here and that no other
            process has joined, nothing is left behind.
        OSError: if the machine fails.
    """
    if torchrun_count() > 1:
        raise Refused("tune: torchrun starts the processes of one run; start tune twice instead")
    for key in named:
        whole, dot, _ = key.partition(".")
        if dot:
            raise Refused(f"{key}: can't be given by itself; allowed: all of {whole}, {whole}=…")
    settings = dict(given)
    if settings["tune"] is not None:
        with about("tune"):
            own = option("tune", str(settings["tune"]), conf)
        settings |= {key: value for key, value in own.items() if key not in named}
    node = settings.pop("space")
    asked = Tune(**convert_fields(Tune, settings, "", {}))
    folder = folder_of(asked)
    space = space_of(node)
    root = demand_trainable(asked.train, space, conf)
    plan = {"space": node} | {key: getattr(asked, key) for key in DECIDING}
    new = lacking(folder)
    begun = begin(folder, plan)
    pruner = pruner_of(
        asked.pruner,
        startup=asked.startup,
        warmup=round(asked.warmup * root.budget),
        every=root.evaluate_every,
        steps=root.budget * len(asked.seeds),
    )
    with warnings.catch_warnings(), database(folder):
        warnings.simplefilter("ignore", ExperimentalWarning)  # heartbeats and figures of Optuna's
        trials = Trials(folder, asked.train, space, asked.seeds, asked.metric, root, conf)
        with reading(folder):
            study, storage = open_study(
                folder, asked.direction, asked.startup, pruner, asked.heartbeat
            )
            check_study(study, trials, asked.direction)
            fail_stale_trials(study)
        try:
            code = search(study, trials, asked.trials, asked.heartbeat, storage)
        except Refused:
            if begun:
                take_back(study, trials, new)
            raise
        conclude(study, asked, folder, conf)
        draw(study, folder, asked.metric)
    return code


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Turn errors of a damaged database in this context into one-line refusals.

    Raises:
        Refused: in its place.
    """
    try:
        yield
    except (*MISFITS, AssertionError, OptunaError) as error:
        if isinstance(error, StorageInternalError):
            raise  # the database itself, which `database` tells
        why = str(error).partition("\n")[0] or type(error).__name__
        raise Refused(f"{folder / DATABASE} is damaged or no study of poker-rl: {why}") from error


def folder_of(asked: Tune) -> Path:
    """Where the study is kept.

    Raises:
        Refused: if that can't be said, or Optuna could not address a file there.
    """
    if asked.out is None and asked.tune is None:
        raise Refused("tune: missing; give tune=NAME, or out=FOLDER space={…} train=[…]")
    folder = Path("outputs", "tune", str(asked.tune)) if asked.out is None else Path(asked.out)
    if set("?{}") & set(str(folder.resolve())):
        raise Refused(f"out: {folder} can't hold a study; give a folder without ? {{ and }}")
    return folder


def begin(folder: Path, plan: Mapping[str, Any]) -> bool:
    """Make the study's folder, or find the same study in it; whether it was begun here.

    Raises:
        Refused: if it holds another study, or something else.
        OSError: if nothing can be written there.
    """
    with about("out"):
        make_folder(folder)
        with alone(folder):  # another process may begin the same study at this moment
            demand_own(folder)
            if (folder / PLAN).exists():
                before = read(folder / PLAN)
                if differs := first_difference(plan, before):
                    space = before.get("space")
                    known = shown(list(space) if isinstance(space, Mapping) else space)
                    raise Refused(
                        f"{folder} holds a study with another {differs} (its space: {known});"
                        " give a new folder, out=FOLDER"
                    )
                return False
            if names_in(folder):
                raise Refused(f"{folder} is no study's folder, there is no {PLAN}; give a new one")
            text = yaml.safe_dump(plan, sort_keys=False, allow_unicode=True)
            write_text(folder / PLAN, text)
            return True


def take_back(study: optuna.Study, trials: Trials, new: Path | None) -> None:
    """Remove a study that was begun here, if nothing is in it but the trial that was refused.

    Args:
        new: the highest of its folders that was not there before; None if all were.
    """
    folder = trials.folder
    with alone(folder):
        numbers = {trial.number for trial in study.get_trials(deepcopy=False)}
        own = set(folder.glob(f"*/*/trial-{trials.number}_seed-*"))
        if numbers - {trials.number} or set(folder.glob("*/*/*")) - own:
            return  # another process has joined in
        for run in own:
            shutil.rmtree(run)
        (folder / DATABASE).unlink()
        (folder / PLAN).unlink()
        for one in (*folder.glob("*/*"), *folder.glob("*")):
            with suppress(OSError):  # something else is in it
                one.rmdir()
        if new is not None:
            remove_made(folder, new)


def demand_trainable(train: Sequence[str], space: Space, conf: Sequence[Path]) -> Root:
    """Build what the space leads to, each bound and each choice once; the root settings.

    Raises:
        Refused: if a key or a value is not accepted.
    """
    from poker_rl.config.compose import compose, opened  # late: they import hydra

    with about("train"):
        demand_once(train)
    for word in (*train, *space):
        if (key := key_of(word)) in OURS:
            raise Refused(f"{key}: a study sets it itself; leave it out of train and space")
    for key in space:
        if key in ALIKE:
            raise Refused(f"{key}: has to be the same in all trials; give it in train")
    first: Root | None = None
    with opened(conf):
        for values in samples(space):
            words = [override(key, value) for key, value in values.items()]
            settings = plain(compose([*train, *words]).settings)
            root = root_settings(settings)
            game: Game = build_as(Game, settings["game"], "game")
            build_algorithm(resolved(settings | asdict(root)), game, torch.device("cpu"), root.seed)
            first = first or root
            for key in sorted(ALIKE):
                if (one := getattr(first, key)) != (other := getattr(root, key)):
                    same = "has to be the same in all trials; give it in train"
                    raise Refused(f"{key}: {one} in some trials and {other} in others: it {same}")
    return root


def conclude(study: optuna.Study, asked: Tune, folder: Path, conf: Sequence[Path]) -> None:
    """Tell what has come of the study, and the command that trains with the best settings."""
    states = [trial.state.name.lower() for trial in study.get_trials(deepcopy=False)]
    counts = [
        f"{states.count(state)} {word}"
        for state, word in (("complete", "to the end"), ("pruned", "ended early"))
    ]
    say(f"\nstudy {folder}: {', '.join(counts)}")
    if "complete" not in states:
        return
    best = study.best_trial
    seeds = ",".join(map(str, asked.seeds))
    whose = f"the mean of seeds {seeds}" if len(asked.seeds) > 1 else f"seed {seeds}"
    runs = [best.user_attrs[f"run of seed {seed}"] for seed in asked.seeds]
    say(f"best: trial {best.number}, {asked.metric} {best.value:.4g}, {whose}: {', '.join(runs)}")
    words = [override(key, value) for key, value in best.params.items()]
    flags = [f"--config-dir={one}" for one in of_the_user(conf)]
    sweep = ["-m"] if len(asked.seeds) > 1 else []
    # Of what is searched `train` may name a value too, which a trial does not take.
    fixed = [one for one in asked.train if one.partition("=")[0].lstrip("+") not in best.params]
    say(shlex.join(["poker-rl", "train", *sweep, *fixed, *words, f"seed={seeds}", *flags]))
