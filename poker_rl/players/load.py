"""From what a user writes to a player: a bot's name, a run folder or a snapshot file.

    uniform                            a bot of `conf/player`
    outputs/kuhn/ppo/x                 the newest snapshot of a run, its first player
    outputs/kuhn/ppo/x@300000          the snapshot at 300,000 decisions
    outputs/kuhn/ppo/x/players/9.pt    a snapshot file
    outputs/kuhn/ppo/x:average         another player of the snapshot, by name

A snapshot file is data alone: the classes it names are looked up among this program's own.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from poker_rl.checkpoint import PLAYERS, load_snapshot, newest, snapshots
from poker_rl.games.game import Game
from poker_rl.players.player import Player
from poker_rl.settings import Refused


def load_player(
    spec: str, game: Game, device: torch.device, bot: Callable[[str], Player]
) -> Player:
    """The player a user named.

    Args:
        spec: see above.
        bot: builds the player that has this name in `conf/player`.

    Raises:
        Refused: if there is none, its file is damaged, or it plays another game.
    """
    if spec.isidentifier() and not (Path(spec) / PLAYERS).is_dir():
        return bot(spec)
    path, name = snapshot_of(spec)
    players = load_players(path, game, device, name)
    return next(iter(players.values()))


def snapshot_of(spec: str) -> tuple[Path, str | None]:
    """The snapshot file and the player's name in it that a user wrote, None if he wrote no name."""
    place, name = spec, None
    if ":" in spec and not Path(spec).exists():
        place, _, name = spec.rpartition(":")
    path = Path(place)
    if path.is_dir():
        return newest(path), name
    folder, at, decisions = place.rpartition("@")
    if at and not path.exists():
        path = Path(folder) / PLAYERS / f"{decisions}.pt"
        kept = [file.stem for file in snapshots(Path(folder))]
        if decisions not in kept:
            has = f"there are {', '.join(kept)}" if kept else "there are none"
            raise Refused(f"{folder} has no snapshot {decisions}; {has}")
    return path, name


def load_players(
    path: Path, game: Game, device: torch.device, name: str | None = None
) -> dict[str, Player]:
    """The players of a snapshot file by name, or only the named one.

    Raises:
        Refused: if the file is missing or damaged, is of another game or lacks the named player.
    """
    snapshot = load_snapshot(path)
    theirs, ours, states = snapshot["game"], game.state(), snapshot["players"]
    if theirs != ours:
        differ = [key for key in ours if theirs.get(key) != ours[key]]
        what = theirs.get("name") if "name" in differ else f"another {game.name}: {differ[0]}"
        raise Refused(f"{path} is of {what}, not of this {game.name}")
    if name is not None:
        if name not in states:
            raise Refused(f"{path} has no player {name}; it has {', '.join(states)}")
        states = {name: states[name]}
    try:
        return {
            name: class_of(state["_target_"]).from_state(state, game, device)
            for name, state in states.items()
        }
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise Refused(f"{path} does not hold the players of a {game.name} run") from error


def built(state: dict[str, Any]) -> Any:
    """The object of plain settings a state describes, by its `_target_`."""
    settings = {key: value for key, value in state.items() if key != "_target_"}
    return class_of(state["_target_"])(**settings)


def class_of(target: str) -> Any:
    """The class of this program with that dotted path; a file may name no other code.

    Raises:
        Refused: if there is none.
    """
    module, _, name = target.rpartition(".")
    if module.startswith("poker_rl."):
        try:
            found = getattr(import_module(module), name, None)
        except ImportError:
            found = None
        if isinstance(found, type) and found.__module__ == module:
            return found
    raise Refused(f"{target} is no class of poker_rl")
