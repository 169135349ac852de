"""What `poker-rl train` does once settings are read: build everything, and only then begin."""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from numba.core.event import install_listener

from poker_rl.algos.load import build_algorithm
from poker_rl.config.build import build_as, convert_fields
from poker_rl.config.horizons import resolved
from poker_rl.config.options import key_of, of_the_user, option_files, plain
from poker_rl.config.root import Root
from poker_rl.config.settings import Refused, about, ran_out
from poker_rl.config.threads import set_threads
from poker_rl.evaluation.measurement import Evaluator
from poker_rl.games.game import Game
from poker_rl.learning import room
from poker_rl.learning.arithmetic import compute_in
from poker_rl.players.load import load_player
from poker_rl.players.opponents import Opponents
from poker_rl.players.player import Player
from poker_rl.runs.cores import cores
from poker_rl.runs.launch import ALONE, Member, Place, joined, place, started
from poker_rl.runs.record import InUse
from poker_rl.runs.run import Diverged
from poker_rl.runs.settings import GROUPS, NEEDED, at, evaluation_of_run, put, resumed, settings_of
from poker_rl.runs.stop import Interrupted
from poker_rl.runs.sweep import Outcome
from poker_rl.runs.train import train
from poker_rl.runs.warm_start import begin_with
from poker_rl.storage.checkpoint import STATE
from poker_rl.storage.disk import error_line, say
from poker_rl.storage.folder import Taken
from poker_rl.storage.progress import CompilationNotice

if TYPE_CHECKING:
    from poker_rl.config.compose import Composed

NAMED = ("game", "algo", "net", "experiment")  # groups whose option a run is known by
MET = ("opponent", "evaluation.others", "evaluation.opponents")  # the players a run meets
PARTS = (*NEEDED, "net")  # all that is no root setting


def attempt(
    asked: Composed,
    conf: Sequence[Path],
    note: Callable[[Outcome], None] = lambda outcome: None,
    watch: Callable[[Mapping[str, float]], None] = lambda row: None,
) -> Outcome:
    """Train, and tell how it went; only KeyboardInterrupt and the like come out of it.

    Args:
        conf: the folders of the options.
        note: told that the run has begun, and where.
        watch: told each row that is recorded; the run ends early by what it raises.
    """
    sys.argv = shlex.split(command_of(asked, conf))
    outcome = Outcome(status="running", folder=str(asked.settings["resume"] or ""))

    def begun(folder: Path) -> None:
        outcome.folder = str(folder)
        note(outcome)

    try:
        names = {group: asked.choices[group] for group in NAMED if asked.choices.get(group)}
        for part in GROUPS:
            if part not in asked.settings:
                raise Refused(f"{part}: missing; give {part}=…")
        for group in ("game", "algo"):
            if group not in names:
                raise Refused(f"{group}: give the name of one option")
        if "names" in asked.settings:
            raise Refused("names: no such setting; a run makes it of its options")
        settings = plain(asked.settings) | {"names": names}
        if settings["resume"] is not None and "evaluation" in settings:
            settings["evaluation"] = evaluation_of_run(asked)
        member = partial(attempt, asked, conf)
        with install_listener("numba:compile", CompilationNotice()):
            metrics, measurements = start(settings, asked.overrides, conf, begun, watch, member)
        units = {tag: one["unit"] for tag, one in measurements.items()}
        return replace(outcome, status="finished", metrics=metrics, units=units)
    except Taken as error:
        if "name" in map(key_of, asked.overrides):
            return replace(outcome, status="refused", exit_code=2, message=str(error))
        message = f"{error.folder} is in use: another process has just begun it"
        return replace(
            outcome, status="in use", exit_code=2, message=message, folder=str(error.folder)
        )
    except Refused as error:
        named = {Diverged: "diverged", InUse: "in use"}
        status = named.get(type(error), "refused")
        message = f"{error}{_of_the_experiment(error, asked)}"
        return replace(outcome, status=status, exit_code=2, message=message)
    except Interrupted as error:
        message = str(error)
        return replace(outcome, status="interrupted", exit_code=error.exit_code, message=message)
    except BrokenPipeError:
        raise  # whoever read the output has left: there is nobody to tell
    except OSError as error:
        return replace(outcome, status="failed", exit_code=1, message=error_line(error))
    except Exception as error:
        if ran_out(error):
            message = "out of memory while training; less at once (tables, hands, batch) needs less"
            return replace(outcome, status="failed", exit_code=1, message=message)
        traceback.print_exc()
        message = f"{type(error).__name__}: {error}"
        return replace(outcome, status="failed", exit_code=1, message=message)


def _of_the_experiment(error: Refused, asked: Composed) -> str:
    """Words to add where the wrong setting may be one that an experiment has for its own algo."""
    given = dict(word.split("=", 1) for word in asked.overrides if "=" in word)
    if not str(error).startswith("algo.") or not {"algo", "experiment"} <= given.keys():
        return ""
    return (
        f"; experiment={given['experiment']} brings settings of its own algo,"
        f" which algo={given['algo']} may not have"
    )


def command_of(asked: Composed, conf: Sequence[Path]) -> str:
    """The command that asks for this alone, be it a job of a sweep.

    Args:
        conf: the folders of the options.
    """
    flags = [f"--config-dir={folder}" for folder in of_the_user(conf)]
    return shlex.join(["poker-rl", "train", *asked.overrides, *flags])


def start(
    settings: dict[str, Any],
    overrides: Sequence[str],
    conf: Sequence[Path],
    begun: Callable[[Path], None],
    watch: Callable[[Mapping[str, float]], None],
    member: Member,
) -> tuple[dict[str, float], dict[str, dict[str, str]]]:
    """Build everything and train; what `train` returns.

    Args:
        conf: the folders of the options.
        begun: told the run folder as soon as there is one.
        watch: told each row that is recorded.
        member: what other processes of the run do, which are started here.

    Raises:
        Refused: if any setting can't be accepted.
    """
    folder = None if settings["resume"] is None else Path(str(settings["resume"]))
    opponents = Opponents()
    if folder is not None:
        opponents = Opponents(folder, named(settings_of(folder, "resume")))
        settings = resumed(folder, settings, overrides)
    elif settings.get("workers") == 1:
        settings["workers"] = started()
    settings = taking_along(settings, opponents, conf)
    root = root_of(settings)
    settings = resolved(settings | asdict(root))
    where = place(root.workers)
    device = prepare(root.device, root.threads, root.seed, where)
    compute_in(root.precision, device)
    game: Game = build_as(Game, settings["game"], "game")
    load = loader(game, device, conf, opponents)
    with about("opponent"):
        opponent = None if root.opponent is None else load(root.opponent)
    evaluation = build_as(
        Evaluator,
        settings["evaluation"],
        "evaluation",
        game=game,
        load=load,
        seed=root.seed,
    )
    algorithm = build_algorithm(
        settings, game, device, root.seed, opponent, where.workers, where.rank
    )
    # A resumed run has weights of its own, unless it was killed before its first checkpoint.
    if root.warm_start is not None and (folder is None or not (folder / STATE).exists()):
        with about("warm_start"):
            settings["warm_start"] = begin_with(root.warm_start, settings, algorithm, game)
    if evaluation.exact_every is not None:
        with about("evaluation.exact_every"):
            costs = evaluation.exact_costs(algorithm.players())
        for cost in costs if where.rank == 0 else ():
            say(cost)
    with joined(where, device, member):
        return train(
            settings,
            algorithm,
            game,
            evaluation,
            device,
            folder,
            files=opponents.files,
            overrides=overrides,
            begun=begun,
            watch=watch,
        )


def root_of(settings: Mapping[str, Any]) -> Root:
    """The root settings among all of them.

    Raises:
        Refused: if one is missing or can't be accepted.
    """
    ungrouped = {key: value for key, value in settings.items() if key not in PARTS}
    return Root(**convert_fields(Root, ungrouped, "", {}))


def taking_along(
    given: Mapping[str, Any], opponents: Opponents, conf: Sequence[Path]
) -> dict[str, Any]:
    """The same settings, in which the players that the run meets are named as copies of its own.

    Another run may go on, move or be deleted, and other options be given; this run has to meet the
    players it began with.
    """
    settings: dict[str, Any] = deepcopy(dict(given))
    own = own_bots(conf)

    def take(one: Any) -> Any:
        if not isinstance(one, str):
            return one
        name, colon, rest = one.partition(":")  # `mine`, `mine:greedy`
        return opponents.take(f"{own.get(name, name)}{colon}{rest}")

    for key in MET:
        value = at(settings, key)
        with about(key):
            if isinstance(value, list):
                put(settings, key, [take(one) for one in value])
            elif isinstance(value, str):
                put(settings, key, take(value))
    return settings


def own_bots(conf: Sequence[Path]) -> dict[str, str]:
    """The files of the bots in the user's folders of options, by name."""
    return {
        path.stem: str(path)
        for folder in of_the_user(conf)
        for path in option_files(folder, "player")
    }


def named(settings: Mapping[str, Any]) -> list[str]:
    """The players that a run with these settings meets."""
    values = [at(settings, key) for key in MET]
    return [
        one
        for value in values
        for one in (value if isinstance(value, list) else [value])
        if isinstance(one, str)
    ]


def loader(
    game: Game, device: torch.device, conf: Sequence[Path], opponents: Opponents | None = None
) -> Callable[[str], Player]:
    """What turns a name in conf/player, a file of settings or a run folder into a player.

    Args:
        conf: the folders of the options.
        opponents: the copies that a run has in its folder.
    """

    def load(spec: str) -> Player:
        where = spec if opponents is None else opponents.locate(spec)
        return load_player(where, game, device, conf)

    return load


def prepare(device: str, threads: int, seed: int, where: Place = ALONE) -> torch.device:
    """Set threads and seeds, of all libraries and only here; the device to compute on.

    Args:
        where: which of the run's processes this is; each has a GPU of its own, or none has one.

    Raises:
        Refused: if there is no such device, or are not so many cores.
    """
    if threads > cores():
        raise Refused(f"threads: {threads} are more than the cores that may be used, {cores()}")
    set_threads(threads)
    if where.workers > 1 and where.rank == 0 and threads * where.here > cores():
        each = f"{threads} thread{'s' * (threads > 1)}"
        say(
            f"workers: {where.here} processes of {each} each are more than the cores that"
            f" may be used, {cores()}, and will wait for each other"
        )
    room.share(where.here)
    torch.manual_seed(seed)  # what is drawn has generators of its own; this is for what has none
    there = torch.cuda.is_available()
    if there and where.workers > 1:
        gpus = torch.cuda.device_count()
        if device == "cuda" and gpus < where.here:
            raise Refused(f"device: cuda, but there are {gpus} GPUs here for {where.here} workers")
        there = gpus >= where.here
    if device == "cuda" and not there:
        why = "sees no GPU" if torch.version.cuda else "is a build for the CPU alone"
        raise Refused(f"device: no cuda here, torch {torch.__version__} {why}; allowed: auto, cpu")
    if not there or device == "cpu":
        return torch.device("cpu")
    if where.workers > 1:
        torch.cuda.set_device(where.local)
    return torch.device("cuda")
