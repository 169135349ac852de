"""What the commands do once settings are read: build everything, and only then begin."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numba
import torch

from poker_rl.config import Root, build, convert_fields, find, option, plain, ran_out, read, takes
from poker_rl.disk import say, told
from poker_rl.evaluation.evaluate import evaluate_players, evaluate_run
from poker_rl.evaluation.matches import FEWEST_DEALS
from poker_rl.folder import CONFIG, PLACE, read_folder
from poker_rl.games.game import Game
from poker_rl.players.load import load_player, pinned
from poker_rl.players.player import Player
from poker_rl.resume import KEEPS, MAY_CHANGE
from poker_rl.run import Diverged, train
from poker_rl.settings import Count, Natural, Range, Refused, Seed, about
from poker_rl.stop import Interrupted
from poker_rl.sweep import Outcome

if TYPE_CHECKING:
    from poker_rl.compose import Composed

NAMED = ("game", "algo", "net", "experiment")  # groups whose option a run is known by
NEEDED = ("game", "algo", "evaluation", "names")  # of a run, the last made of its choices
PARTS = (*NEEDED, "net")  # all that is no root setting
ABSENT = object()


@dataclass(kw_only=True, frozen=True)
class Evaluate:
    """The settings of `poker-rl evaluate`."""

    run: str | None
    checkpoint: Natural | None
    player: str | None
    against: list[str]
    earlier: Natural | None
    deals: Annotated[int, Range(FEWEST_DEALS)]
    figures: bool
    out: str | None
    seed: Seed
    device: Literal["auto", "cpu", "cuda"]
    threads: Count


def attempt(asked: Composed) -> Outcome:
    """Train, and tell how it went; only KeyboardInterrupt and the like come out of it."""
    sys.argv = ["poker-rl", "train", *asked.overrides]  # what repeats this job of a sweep alone
    outcome = partial(Outcome, overrides=asked.overrides)
    try:
        names = {group: asked.choices[group] for group in NAMED if asked.choices.get(group)}
        for part in NEEDED[:-1]:
            if part not in asked.settings:
                raise Refused(f"{part}: missing; give {part}=…")
        for group in ("game", "algo"):
            if group not in names:
                raise Refused(f"{group}: give the name of one option")
        settings = plain(asked.settings) | {"names": names}
        metrics = start(settings, asked.overrides)
        return outcome(status="finished", metrics=metrics)
    except Refused as error:
        status = "diverged" if isinstance(error, Diverged) else "refused"
        return outcome(status=status, exit_code=2, message=str(error))
    except Interrupted as error:
        return outcome(status="interrupted", exit_code=error.exit_code, message=str(error))
    except BrokenPipeError:
        raise  # whoever read the output has left: there is nobody to tell
    except OSError as error:
        return outcome(status="failed", exit_code=1, message=told(error))
    except Exception as error:
        if ran_out(error):
            message = "out of memory while training; less at once (tables, hands, batch) needs less"
            return outcome(status="failed", exit_code=1, message=message)
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
    settings = fixed(settings)
    ungrouped = {key: value for key, value in settings.items() if key not in PARTS}
    root = Root(**convert_fields(Root, ungrouped, "", {}))
    device = prepare(root.device, root.threads, root.seed)
    game: Game = build(settings["game"], "game")
    load = loader(game, device)
    with about("opponent"):
        opponent = None if root.opponent is None else load(root.opponent)
    parts = {
        "net": build(settings["net"], "net") if "net" in settings else None,
        "opponent": opponent,
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


def fixed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same settings with the snapshots that run folders among the players stand for now.

    Another run may go on meanwhile; this one, resumed, has to meet the players it began with.
    """

    def fix(key: str, value: Any) -> Any:
        with about(key):
            if isinstance(value, list):
                return [fix(key, one) for one in value]
            return pinned(value) if isinstance(value, str) else value

    evaluation = {
        key: fix(f"evaluation.{key}", value) if key in ("others", "opponents") else value
        for key, value in settings["evaluation"].items()
    }
    opponent = {key: fix(key, value) for key, value in settings.items() if key == "opponent"}
    return {**settings, **opponent, "evaluation": evaluation}


def loader(game: Game, device: torch.device) -> Callable[[str], Player]:
    """What turns a name in conf/player, a file of settings or a run folder into a player."""

    def bot(name: str) -> Player:
        settings = read(Path(name)) if name.endswith(".yaml") else option("player", name)
        player: Player = build(settings, name, game=game, device=device)
        return player

    return lambda spec: load_player(spec, game, device, bot)


def prepare(device: str, threads: int, seed: int) -> torch.device:
    """Set threads and seeds, of all libraries and only here; the device to compute on.

    Raises:
        Refused: if there is no such device, or are not so many cores.
    """
    cores = os.cpu_count() or 1
    if threads > cores:
        raise Refused(f"threads: {threads} are more than the cores of this machine, {cores}")
    torch.set_num_threads(threads)
    numba.set_num_threads(threads)
    torch.manual_seed(seed)  # what is drawn has generators of its own; this is for what has none
    # Making an optimiser would import torch's compiler, for two seconds, only to keep out of it.
    undecorated = getattr(torch.optim.Optimizer.add_param_group, "__wrapped__", None)
    if undecorated is not None:
        torch.optim.Optimizer.add_param_group = undecorated  # type: ignore[method-assign]
    there = torch.cuda.is_available()
    if device == "cuda" and not there:
        why = "sees no GPU" if torch.version.cuda else "is a build for the CPU alone"
        raise Refused(f"device: no cuda here, torch {torch.__version__} {why}; allowed: auto, cpu")
    return torch.device("cuda" if there and device != "cpu" else "cpu")


def resumed(folder: Path, settings: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """The settings of a run folder, with what is given anew of those that may change.

    Raises:
        Refused: if it is no run folder, or anything else is given with another value.
    """
    # Runs of earlier versions lack settings that are new and change nothing of what is learnt.
    lacking = {key: settings[key] for key in MAY_CHANGE | PLACE if key in settings}
    kept = lacking | settings_of(folder, "resume") | {"resume": settings["resume"]}
    for override in overrides:
        key = override.partition("=")[0].lstrip("+~")
        value = at(settings, key)
        if key.partition(".")[0] in MAY_CHANGE:
            put(kept, key, value)
        elif value is ABSENT or value != at(kept, key):
            raise Refused(f"{key}: {KEEPS}")
    return kept


def settings_of(folder: Path, key: str) -> dict[str, Any]:
    """The settings of a run folder that was given as `key`.

    Raises:
        Refused: if it is none.
    """
    try:
        settings, _ = read_folder(folder)
    except Refused as error:
        raise Refused(f"{key}: {error}") from None
    for part in NEEDED:
        if not isinstance(settings.get(part), dict):
            raise Refused(f"{key}: {folder / CONFIG} has no {part}")
    return settings


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


def evaluate(settings: dict[str, Any], chosen: Mapping[str, Any] | None) -> None:
    """Measure the players of a run folder, or a player of a chosen game.

    Args:
        chosen: the settings of `game` and `evaluation`, None if they are those of a run.

    Raises:
        Refused: if any setting can't be accepted.
    """
    asked = Evaluate(**convert_fields(Evaluate, settings, "", {}))
    if asked.run is not None and chosen is not None:
        raise Refused(
            "game, evaluation: are those of the run; give run=FOLDER or game=NAME, not both"
        )
    if asked.run is None and chosen is None:
        raise Refused("run: missing; give run=FOLDER, or game=NAME player=NAME")
    device = prepare(asked.device, asked.threads, asked.seed)
    cfg = settings_of(Path(asked.run), "run") if asked.run is not None else chosen
    assert cfg is not None
    game: Game = build(cfg["game"], "game")
    load = loader(game, device)
    evaluation = build(cfg["evaluation"], "evaluation", game=game, load=load, seed=asked.seed)
    common = {
        "game": game,
        "evaluation": evaluation,
        "load": load,
        "against": asked.against,
        "deals": asked.deals,
        "seed": asked.seed,
        "out": None if asked.out is None else Path(asked.out),
    }
    if asked.run is not None:
        evaluate_run(
            Path(asked.run),
            device=device,
            checkpoint=asked.checkpoint,
            player=asked.player,
            earlier=asked.earlier,
            figures=asked.figures,
            **common,
        )
        return
    if asked.checkpoint is not None:
        raise Refused("checkpoint: is of a run; here it is player=FOLDER@DECISIONS")
    if asked.earlier:
        raise Refused("earlier: snapshots are of a run, give run=FOLDER")
    if asked.figures:
        raise Refused("figures: are drawn of a run, give run=FOLDER")
    if asked.player is None:
        raise Refused("player: missing; give player=NAME or player=FOLDER")
    with about("player"):
        players = {asked.player: load(asked.player)}
    evaluate_players(players, **common)
    if asked.out is None:
        say("\nnothing was written; out=FOLDER writes evaluation.json and evaluation.csv")
