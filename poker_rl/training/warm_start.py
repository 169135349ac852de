"""A new run that begins with what another one has learnt: its networks and its averages.

It meets the earlier selves of that run again, where both have some. Everything else begins afresh:
the optimiser, the counters, the schedules, the tables and what is drawn by chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from poker_rl.algos.algorithm import Algorithm, NetworkLearner
from poker_rl.config.classes import class_of
from poker_rl.config.settings import Refused
from poker_rl.games.game import Game
from poker_rl.storage import checkpoint
from poker_rl.storage.folder import read_folder

# Settings of an algorithm: whom networks play for and which layers they have in common, in what
# they tell values, and how much an iteration weighs in the means that sd_cfr keeps.
NETWORKS = ("members", "instances", "shared")
VALUES = ("reward", "reward_power", "reward_scale", "reward_unit")
ALIKE = (*NETWORKS, *VALUES, "power")


def begin_with(place: str, cfg: Mapping[str, Any], algorithm: Algorithm, game: Game) -> str:
    """Let a learner begin with what the run in a folder has learnt.

    Args:
        place: a run folder, perhaps with `@` and the decisions that its checkpoint was taken at.
        cfg: the settings of the run that begins.

    Returns:
        The place, with the decisions.

    Raises:
        Refused: if the algorithm has no networks, or those of the folder do not fit.
    """
    if not isinstance(algorithm, NetworkLearner):
        raise Refused(f"{cfg['names']['algo']} has no networks that could be taken over")
    folder, at = Path(place), ""
    if not folder.exists() and "@" in place:
        parent, _, at = place.rpartition("@")
        folder = Path(parent)
    theirs, _ = read_folder(folder)
    state = checkpoint.load(folder / checkpoint.STATE)
    try:
        reached = str(state["progress"]["decisions"])
        if at not in ("", reached):
            raise Refused(
                f"{folder} now stands at {reached} decisions, not at {at}, and only its latest"
                " checkpoint holds all there is to begin with"
            )
        for part in ("algo", "net"):
            names = theirs[part]["_target_"], cfg[part]["_target_"]
            alike = class_of(names[0]) is class_of(names[1])
            if not alike and names[0] not in algorithm.begins_with:
                demand_equal(folder, f"{part}._target_", *names)
        for name in state["game"] | game.state():
            demand_equal(folder, f"game.{name}", state["game"].get(name), game.state().get(name))
        for name in (theirs["net"] | cfg["net"]).keys() - {"_target_"}:
            demand_equal(folder, f"net.{name}", theirs["net"].get(name), cfg["net"].get(name))
        for key in (one for one in ALIKE if one in cfg["algo"]):
            demand_equal(folder, f"algo.{key}", theirs["algo"].get(key), cfg["algo"][key])
        if cfg["algo"].get("average_exact") is not None:
            raise Refused("an exact average is of a whole run; algo.average_exact: null")
        try:
            algorithm.take_over(state["algorithm"])
        except RuntimeError as error:
            what = f"{folder} has networks of other shapes{differing(theirs, cfg)}"
            raise Refused(what) from error
        except Refused as error:
            raise Refused(f"{folder} does not fit this run: algo.{error}") from None
    except checkpoint.MISFITS as error:
        raise Refused(f"{folder} does not hold what a run leaves: {error}") from error
    return f"{folder}@{reached}"


def demand_equal(folder: Path, key: str, theirs: object, ours: object) -> None:
    if theirs != ours:
        raise Refused(f"{folder} has {key} {theirs}, and this run {ours}")


def differing(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """The settings of the algorithm that differ, schedules and other parts left out."""
    return "".join(
        f"; algo.{name}: {theirs['algo'].get(name)} there, {value} here"
        for name, value in ours["algo"].items()
        if not isinstance(value, dict) and value != theirs["algo"].get(name)
    )
