"""From what a user writes to a player: a bot's name, a run folder or a snapshot file.

    uniform                            a bot of `conf/player`
    bots/mcts_1000.yaml                one with settings of one's own, a file like those
    outputs/kuhn/ppo/x                 the newest snapshot of a run, its headline player
    outputs/kuhn/ppo/x@300000          the snapshot at 300,000 decisions
    outputs/kuhn/ppo/x/players/9.pt    a snapshot file
    outputs/kuhn/ppo/x:average         another player of the snapshot, by name
    outputs/kuhn/ppo/x:average.7       the eighth of its copies, if it was trained as several
    outputs/kuhn/ppo/x:current:greedy  the action that a player takes most often, always
    tight:greedy                       the same of a bot

The headline player is the first one that a snapshot lists, see `Algorithm.players`.

A snapshot file is data alone: the classes it names are looked up among this program's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.build import build_as
from poker_rl.config.classes import class_of
from poker_rl.config.options import folders, option, read
from poker_rl.config.settings import Refused
from poker_rl.config.threads import set_default_threads
from poker_rl.games.game import Game
from poker_rl.players.greedy import Greedy
from poker_rl.players.player import Player
from poker_rl.storage.checkpoint import (
    MISFITS,
    PLAYERS,
    load_snapshot,
    newest,
    not_finite,
    snapshots,
)

CPU = torch.device("cpu")

NAME = re.compile(r"[\w-]+")
GREEDY = ":greedy"
ONE = re.compile(rf"(\w+)(?:\.(\d+))?({GREEDY})?")  # player.copy:greedy
SPEC = re.compile(rf"(.+?)(?:@(\d+))?(?::{ONE.pattern})?")  # path@decisions:player.copy:greedy

PERCENTILE = re.compile(r"p\d+")  # as the last word of a measure's tag
PLAYER_NAME = re.compile(r"\w{1,60}")  # such a name may be part of a file's


def load_player(
    spec: str,
    game: Game,
    device: torch.device = CPU,
    conf: Sequence[Path] | None = None,
) -> Player:
    """The player that a user named.

    As on the command line, this process computes on one thread, unless
    `poker_rl.config.set_threads` was called.

    Args:
        spec: as on the command line: a bot such as `uniform`, a YAML file of a bot's settings, or
            a run folder, with `@DECISIONS` for an earlier snapshot, `:PLAYER` for one of its
            players and `.K` for one of that player's instances.
        game: the game it is to play.
        device: where its networks go.
        conf: the folders of the options; None: those that come with the program and the plug-ins.

    Raises:
        Refused: if there is none, its file is damaged, or it plays another game.
    """
    set_default_threads()
    if (bot := bot_of(spec)) is not None:
        settings = bot_settings(bot, folders(None) if conf is None else conf)
        return load_bot(spec, settings, game, device)
    path, name, copy, greedy = parse(spec)
    name, player = next(iter(load_players(path, game, device, name).items()))
    if player.instances > 1 or copy is not None:
        if copy is None or copy >= player.instances:
            last = player.instances - 1
            choose = f"choose :{name}.0 to :{name}.{last}"
            raise Refused(f"{spec}: {name} has {last + 1} copies; {choose}")
        player = player.instance(copy)
    return Greedy(game, player) if greedy else player


def load_bot(spec: str, settings: Mapping[str, Any], game: Game, device: torch.device) -> Player:
    """The bot that a user named, with `:greedy` behind it or not, and that has these settings."""
    name = spec.removesuffix(GREEDY)
    player: Player = build_as(Player, settings, name, game=game, device=device)
    return player if name == spec else Greedy(game, player)


def bot_settings(name: str, conf: Sequence[Path]) -> dict[str, Any]:
    """The settings of the player that has this name in `conf/player`, or this file of them.

    Raises:
        Refused: if there is none, or the name would make its matches look like percentiles.
    """
    if PERCENTILE.fullmatch(name):
        raise Refused(f"{name}: no player can have this name, which measures use for a percentile")
    return read(Path(name)) if name.endswith(".yaml") else option("player", name, conf)


def bot_of(spec: str) -> str | None:
    """The bot of `conf/player`, or the file like those there, that this names; None if none.

    It is without the `:greedy` that may stand behind it.
    """
    name = spec.removesuffix(GREEDY)
    named = NAME.fullmatch(name) is not None and not (Path(name) / PLAYERS).is_dir()
    return name if named or name.endswith(".yaml") else None


def full_spec(spec: str) -> str:
    """The same player with nothing left unsaid: `RUN@DECISIONS:PLAYER`, or `FILE:PLAYER`.

    What is said of the player itself stays behind it: `RUN@DECISIONS:PLAYER.COPY:greedy`.

    Raises:
        Refused: as `resolve` does.
    """
    if bot_of(spec) is not None:
        return spec
    path, player = resolve(spec)
    return f"{path.parent.parent}@{path.stem}:{player}" if in_run(path) else f"{path}:{player}"


def full_specs(specs: Sequence[str]) -> list[str]:
    """The same players, each with nothing left unsaid.

    Raises:
        Refused: as `resolve` does, or if one is named twice.
    """
    found: list[str] = []
    for spec in specs:
        name = full_spec(spec)
        if name in found:
            raise Refused(f"{name} is named twice; name each player once")
        found.append(name)
    return found


def resolve(spec: str) -> tuple[Path, str]:
    """The snapshot file of a player that is no bot, and what it is there: `average.7:greedy`.

    Raises:
        Refused: if there is no such snapshot, or it is damaged or empty.
    """
    path, name, copy, greedy = parse(spec)
    name = headline(path) if name is None else name
    return path, name + ("" if copy is None else f".{copy}") + (GREEDY if greedy else "")


def headline(path: Path) -> str:
    """The name of a snapshot's headline player.

    Raises:
        Refused: if the file is missing or damaged, or holds no players.
    """
    return next(iter(states(path)[1]))


def in_run(snapshot: Path) -> bool:
    """Whether a snapshot file lies in the folder of a run."""
    return snapshot.parent.name == PLAYERS and snapshot.stem.isdecimal()


def parse(spec: str) -> tuple[Path, str | None, int | None, bool]:
    """The snapshot file, the player's name, which of its copies, and whether its best action.

    Name and copy are None where they are not written.

    Raises:
        Refused: if nothing is named, or the folder has no such snapshot.
    """
    if not spec:
        raise Refused('"" names no player')
    match = None if Path(spec).exists() else SPEC.fullmatch(spec)  # a path may hold a colon
    parts = match.groups() if match else (spec, None, None, None, None)
    place, decisions, name, copy, greedy = parts
    path = Path(place)
    if decisions is not None:
        kept = {file.stem: file for file in snapshots(path)}
        if decisions not in kept:
            raise Refused(f"{path} has no snapshot {decisions}; it has {', '.join(kept) or 'none'}")
        path = kept[decisions]
    elif path.is_dir():
        path = newest(path)
    elif name is not None and NAME.fullmatch(place) and not path.exists():
        raise Refused(
            f"{spec}: there is no run folder or snapshot {place}, and behind a name of conf/player"
            f" goes nothing but {GREEDY}"
        )
    return path, name, None if copy is None else int(copy), greedy is not None


def earlier(folder: Path, decisions: int) -> list[Path]:
    """Snapshots of a run from before so many decisions, oldest first."""
    return [path for path in snapshots(folder) if int(path.stem) < decisions]


def itself(snapshot: Path) -> str:
    """What a player of a snapshot is called as the opponent of its later self."""
    return f"itself at {int(snapshot.stem):,}"


def load_players(
    path: Path, game: Game, device: torch.device, name: str | None = None
) -> dict[str, Player]:
    """The players of a snapshot file by name, or only the named one.

    Raises:
        Refused: if the file is missing or damaged, is of another game or lacks the named player.
    """
    (theirs, kept), ours = states(path), game.state()
    if theirs != ours:
        differ = [key for key in ours | theirs if theirs.get(key) != ours.get(key)]
        what = theirs.get("name") if "name" in differ else f"another {game.name}: {differ[0]}"
        raise Refused(f"{path} is of {what}, not of this {game.name}")
    if name is not None:
        if name not in kept:
            raise Refused(f"{path} has no player {name}; it has {', '.join(kept)}")
        kept = {name: kept[name]}
    for where in not_finite(kept):
        raise Refused(f"{path} can't be played with: {where} is not finite")
    try:
        return {
            name: class_of(state["_target_"]).from_state(state, game, device)
            for name, state in kept.items()
        }
    except MISFITS as error:
        raise Refused(f"{path} does not hold the players of a {game.name} run") from error


def states(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The game of a snapshot file, and the state of each player by name, at least one.

    Raises:
        Refused: if the file is missing or damaged, or holds no players or one without a fit name.
    """
    snapshot = load_snapshot(path)
    if not snapshot["players"]:
        raise Refused(f"{path} holds no players")
    for name in snapshot["players"]:
        if not (isinstance(name, str) and PLAYER_NAME.fullmatch(name)):
            allowed = "up to 60 letters, digits and _"
            raise Refused(
                f"{path}: {ascii(name)[:60]} is not the name of a player; allowed: {allowed}"
            )
    return snapshot["game"], snapshot["players"]
