"""A finished hand again, decision by decision: what the players' policies were, and how good moves.

A move of the person is graded in two ways. Its share is the chance that the adviser gives it; one
of less than `MISTAKE` is called a mistake, as trainers do. Its loss is what the best move earns on
average from there on, less what this one does: against an equilibrium, with the best moves after
it, where the game is small enough to be solved; elsewhere as the adviser's own values of actions
estimate it, if it has learnt any.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from poker_rl.algos.solve import equilibrium
from poker_rl.evaluation.exploitability import losses
from poker_rl.evaluation.matches import unit_of
from poker_rl.games.game import Game
from poker_rl.games.tree import Tree, tree_of
from poker_rl.play.table import YOU, Dealt, Step, Table
from poker_rl.play.view import plain_scene
from poker_rl.players.player import Player, policy_at

MISTAKE = 0.035  # share of the adviser's play
FEW = 8  # legal actions: so many are listed in full
LEAST = 0.001  # of more than that, actions that are less likely are left out


def reviewed(hand: Dealt) -> list[dict[str, Any]]:
    """The decisions of a finished hand, oldest first."""
    return [_step(hand, step) for step in hand.steps]


def _step(hand: Dealt, step: Step) -> dict[str, Any]:
    table, place = hand.table, hand.ring[step.seat]
    asked = table.adviser if place == YOU else table.opponents[place - 1]
    chances = None if asked is None else chances_of(table.game, asked.player, step.record)
    taken = step.move.action
    return {
        "seat": step.seat,
        "ring": place,
        "label": step.move.label,
        "scene": plain_scene(table.game.scene(step.record[0], None)),
        "chances": None if chances is None else listed(table.game, step.record, chances, taken),
        "chosen": step.move.label,
        "choices": len(table.game.moves(step.record[0])),
        "grade": _grade(table, step, chances) if place == YOU else None,
    }


def _grade(table: Table, step: Step, chances: np.ndarray | None) -> dict[str, Any]:
    game = table.game
    share = None if chances is None else share_of(game, step, chances)
    solved = solution(game)
    grade = {
        "share": share,
        "mistake": share is not None and share < MISTAKE,
        "loss": None,
        "equilibrium": None,
    }
    if solved is None:
        return grade | {"loss": None if table.adviser is None else _estimated(table, step)}
    tree, player, lost = solved
    loss = lost[tree.infoset_of(step.record)[0], step.move.action]
    best = chances_of(game, player, step.record)
    return grade | {
        "loss": None if np.isnan(loss) else float(loss) * unit_of(game)[0],
        "equilibrium": listed(game, step.record, best, step.move.action),
    }


def _estimated(table: Table, step: Step) -> float | None:
    """What a move costs by the adviser's own values of actions, if it has any."""
    assert table.adviser is not None
    values = table.adviser.player.action_values(step.record.copy())
    if values is None or np.isnan(values[0, step.move.action]):
        return None
    lost = float(np.nanmax(values[0]) - values[0, step.move.action])
    return lost * unit_of(table.game)[0]


def share_of(game: Game, step: Step, chances: np.ndarray) -> float:
    """The chance of a move; where any amount may be bet, of all moves of its kind."""
    if game.amounts(step.record[0]) is None:
        return float(chances[step.move.action])
    return float(chances[game.kinds == game.kinds[step.move.action]].sum())


def chances_of(game: Game, player: Player, record: np.ndarray) -> np.ndarray:
    """The policy of a player at a table [1], [A]."""
    chances: np.ndarray = policy_at(game, player, record.copy())[0]
    return chances


def listed(
    game: Game, record: np.ndarray, chances: np.ndarray, taken: int | None = None
) -> list[dict[str, Any]]:
    """The chances of the legal moves; of many only those that matter, and the one taken."""
    legal = game.moves(record[0])
    actions = [move.action for move in legal]
    if len(legal) > FEW or game.amounts(record[0]) is not None:
        actions = np.flatnonzero(chances >= LEAST).tolist()
        if taken is not None and taken not in actions:
            actions = sorted([*actions, taken])
    return [
        {"label": move.label, "chance": float(chances[move.action]), "move": move.name}
        for move in game.moves(record[0], actions)
    ]


_solutions: dict[str, tuple[Tree, Player, np.ndarray] | None] = {}
_solving = threading.Lock()  # several sessions may ask at once, in threads of their own


def solution(game: Game) -> tuple[Tree, Player, np.ndarray] | None:
    """Of a small game its tree, an equilibrium, and what each action loses against it, [I, A].

    Solved once for each game; None for a game that is too large.
    """
    key = repr(game.state())
    with _solving:
        if key not in _solutions:
            player = equilibrium(game)
            if player is None:
                _solutions[key] = None
            else:
                tree = tree_of(game)
                _solutions[key] = tree, player, losses(tree, player.probabilities(tree.records))
    return _solutions[key]
