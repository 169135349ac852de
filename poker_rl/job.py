"""One run from its settings: everything is built, and only then anything is written."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
import torch
from omegaconf import DictConfig

from poker_rl.config import Root, build, convert_fields, find, option, plain, takes
from poker_rl.folder import CONFIG, read_folder
from poker_rl.games.game import Game
from poker_rl.players.load import load_player
from poker_rl.players.player import Player
from poker_rl.run import MAY_CHANGE, Diverged, train
from poker_rl.settings import Refused
from poker_rl.stop import Interrupted
from poker_rl.sweep import Outcome

NAMED = ("game", "algo", "net", "experiment")  # groups whose option a run is known by
NEEDED = ("game", "algo", "evaluation", "names")
PARTS = (*NEEDED, "net")  # all that is no root setting
ABSENT = object()


def attempt(settings: DictConfig, hydra: DictConfig) -> Outcome:
    """Train, and tell how it went; only KeyboardInterrupt and the like come out of it.

    Args:
        settings: the composed config.
        hydra: Hydra's part of it.
    """
    overrides = list(hydra.overrides.task)
    sys.argv = ["poker-rl", "train", *overrides]  # what repeats this job of a sweep alone
    outcome = partial(Outcome, overrides=overrides)
    try:
        choices = hydra.runtime.choices
        names = {group: choices[group] for group in NAMED if choices.get(group)}
        metrics = start(plain(settings) | {"names": names}, overrides)
        return outcome(status="finished", metrics=metrics)
    except Refused as error:
        status = "diverged" if isinstance(error, Diverged) else "refused"
        return outcome(status=status, exit_code=2, message=str(error))
    except Interrupted as error:
        return outcome(status="interrupted", exit_code=error.exit_code, message=str(error))
    except Exception as error:
        traceback.print_exc()
        message = f"{type(error).__name__}: {error}"
        return outcome(status="failed", exit_code=1, message=message)


def start(settings: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Build everything and train; the last metrics and the run folder.

    Raises:
        Refused: if any setting can't be accepted.
    """
    resume = settings["resume"]
    if resume is not None:
        settings = resumed(Path(str(resume)), settings, overrides)
    given = {key: value for key, value in settings.items() if key not in PARTS}
    root = Root(**convert_fields(Root, given, "", {}))
    device = prepare(root)
    game: Game = build(settings["game"], "game")

    def load(spec: str) -> Player:
        return load_player(spec, game, device, bot)

    def bot(name: str) -> Player:
        player: Player = build(option("player", name), f"player {name}", game=game, device=device)
        return player

    parts = {
        "net": build(settings["net"], "net") if "net" in settings else None,
        "opponent": opponent(root.opponent, load),
    }
    algo = find(settings["algo"].get("_target_"), "algo._target_")
    for key, part in parts.items():
        if part is not None and key not in takes(algo):
            raise Refused(f"{key}: {algo.__name__} takes none")
    if parts["net"] is None and "net" in takes(algo):
        raise Refused(f"net: missing, {algo.__name__} needs one")
    common = {"game": game, "device": device, "seed": root.seed}
    evaluation = build(settings["evaluation"], "evaluation", load=load, **common)
    algorithm = build(settings["algo"], "algo", **parts, **common)
    folder = None if root.resume is None else Path(root.resume)
    return train(settings | asdict(root), algorithm, game, evaluation, device, folder)


def opponent(spec: str | None, load: Callable[[str], Player]) -> Player | None:
    """The fixed player that is trained against."""
    try:
        return None if spec is None else load(spec)
    except Refused as error:
        raise Refused(f"opponent: {error}") from None


def prepare(root: Root) -> torch.device:
    """Set threads and seeds, of all libraries and only here; the device to compute on.

    Raises:
        Refused: if there is no such device.
    """
    torch.set_num_threads(root.threads)
    numba.set_num_threads(min(root.threads, os.cpu_count() or 1))
    torch.manual_seed(root.seed)  # an algorithm has its own; this is for what has none
    np.random.seed(root.seed % 2**32)  # noqa: NPY002
    there = torch.cuda.is_available()
    if root.device == "cuda" and not there:
        build = "sees no GPU" if torch.version.cuda else "is a build for the CPU alone"
        raise Refused(
            f"device: no cuda here, torch {torch.__version__} {build}; allowed: auto, cpu"
        )
    return torch.device("cuda" if there and root.device != "cpu" else "cpu")


def resumed(folder: Path, settings: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """The settings of a run folder, with what is given anew of those that may change.

    Raises:
        Refused: if it is no run folder, or anything else is given with another value.
    """
    kept, _ = read_folder(folder)
    for key in NEEDED:
        if not isinstance(kept.get(key), dict):
            raise Refused(f"resume: {folder / CONFIG} has no {key}")
    for override in overrides:
        key = override.partition("=")[0].lstrip("+~")
        value = at(settings, key)
        if key.partition(".")[0] in MAY_CHANGE:
            put(kept, key, value)
        elif value is ABSENT or value != at(kept, key):
            may = ", ".join(sorted(MAY_CHANGE - {"resume"}))
            raise Refused(f"{key}: a resumed run keeps its settings, only {may} may change")
    return kept


def at(tree: Any, key: str) -> Any:
    """The value of a dotted key, ABSENT if there is none."""
    for part in key.split("."):
        tree = tree.get(part, ABSENT) if isinstance(tree, dict) else ABSENT
    return tree


def put(tree: dict[str, Any], key: str, value: Any) -> None:
    """Set the value of a dotted key."""
    *above, last = key.split(".")
    for part in above:
        tree = tree.setdefault(part, {})
    tree[last] = value
