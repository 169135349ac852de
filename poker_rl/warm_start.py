"""A new run that begins with what another one has learnt: its networks and its averages.

Everything else begins afresh: the optimiser, the counters, the schedules, the tables and what is
drawn by chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from poker_rl import checkpoint
from poker_rl.algos.algorithm import Algorithm, NetworkLearner
from poker_rl.folder import read_folder
from poker_rl.games.game import Game
from poker_rl.settings import Refused


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
    demand_equal(folder, "algo._target_", *(run["algo"]["_target_"] for run in (theirs, cfg)))
    state = checkpoint.load(folder / checkpoint.STATE)
    reached = str(state["progress"]["decisions"])
    if at not in ("", reached):
        raise Refused(
            f"{folder} now stands at {reached} decisions, not at {at}, and only its latest"
            " checkpoint holds all there is to begin with"
        )
    for part, one, other in (
        ("game", state["game"], game.state()),
        ("net", theirs["net"], cfg["net"]),
    ):
        for name in one | other:
            demand_equal(folder, f"{part}.{name}", one.get(name), other.get(name))
    try:
        algorithm.take_over(state["algorithm"])
    except RuntimeError as error:
        raise Refused(f"{folder} has networks of other shapes{differing(theirs, cfg)}") from error
    except Refused as error:
        raise Refused(f"{folder} does not fit this run: algo.{error}") from None
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
