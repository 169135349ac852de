"""Review a finished hand: the policy at each decision, and a grade for each move of the person.

A move is graded by two numbers. `prob` is its probability in the adviser's policy; below
`MISTAKE_PROB` the move is called a mistake. `loss` is the expected payoff of the best move minus
that of this one. If the game is small enough to be solved, the payoffs are those against an
equilibrium, with the best moves afterwards; else they are the adviser's action values, if any.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from poker_rl.algos.tabular.equilibrium_solver import compute_equilibrium
from poker_rl.evaluation.exact.exploitability import compute_action_losses
from poker_rl.evaluation.matches.duplicate_match import get_result_unit
from poker_rl.games.game import Game
from poker_rl.games.game_tree import GameTree, get_tree
from poker_rl.games.table_view import DisplayedGame
from poker_rl.play.hand_view import view_to_dict
from poker_rl.play.live_hand import PERSON_INDEX, GameTable, LiveHand, MoveStep
from poker_rl.players.player import Player, compute_checked_probs

MISTAKE_PROB = 0.035  # a move is a mistake if the adviser's probability of it is smaller
MAX_LISTED_MOVES = 8  # up to this number all legal moves are listed
MIN_LISTED_PROB = 0.001  # if there are more moves, less likely ones are left out


def review_decisions(hand: LiveHand) -> list[dict[str, Any]]:
    """Return each decision of a finished hand with policy and grade, as plain values, in order."""
    return [_review_step(hand, step) for step in hand.steps]


def _review_step(hand: LiveHand, step: MoveStep) -> dict[str, Any]:
    table, player_index = hand.game_table, hand.player_of_seat[step.seat]
    reviewer = table.adviser if player_index == PERSON_INDEX else table.opponents[player_index - 1]
    probs = None if reviewer is None else compute_probs(table.game, reviewer.player, step.record)
    taken_action = step.move.action
    return {
        "seat": step.seat,
        "player_index": player_index,
        "label": step.move.label,
        "table": view_to_dict(table.game.build_view(step.record[0], None)),
        "probs": None
        if probs is None
        else list_move_probs(table.game, step.record, probs, taken_action),
        "choices": len(table.game.list_moves(step.record[0])),
        "grade": _grade_move(table, step, probs) if player_index == PERSON_INDEX else None,
    }


def _grade_move(table: GameTable, step: MoveStep, probs: np.ndarray | None) -> dict[str, Any]:
    game = table.game
    move_prob = None if probs is None else compute_move_prob(game, step, probs)
    small_game_solution = solve_small_game(game)
    grade = {
        "prob": move_prob,
        "mistake": move_prob is not None and move_prob < MISTAKE_PROB,
        "loss": None,
        "equilibrium": None,
    }
    if small_game_solution is None:
        return grade | {"loss": None if table.adviser is None else _estimate_loss(table, step)}
    tree, player, action_losses = small_game_solution
    loss = action_losses[tree.lookup_infosets(step.record)[0], step.move.action]
    equilibrium_probs = compute_probs(game, player, step.record)
    return grade | {
        "loss": None if np.isnan(loss) else float(loss) * get_result_unit(game)[0],
        "equilibrium": list_move_probs(game, step.record, equilibrium_probs, step.move.action),
    }


def _estimate_loss(table: GameTable, step: MoveStep) -> float | None:
    """Return the loss of a move by the adviser's action values; None if it has no such values."""
    assert table.adviser is not None
    values = table.adviser.player.action_values(step.record.copy())
    if values is None or np.isnan(values[0, step.move.action]):
        return None
    chips_lost = float(np.nanmax(values[0]) - values[0, step.move.action])
    return chips_lost * get_result_unit(table.game)[0]


def compute_move_prob(game: DisplayedGame, step: MoveStep, probs: np.ndarray) -> float:
    """Return the probability of a move; where any amount may be bet, all bets count as one move."""
    if game.get_bet_range(step.record[0]) is None:
        return float(probs[step.move.action])
    return float(probs[game.action_types == game.action_types[step.move.action]].sum())


def compute_probs(game: Game, player: Player, record: np.ndarray) -> np.ndarray:
    """Return a player's policy, shape [actions], at a table record, shape [1]."""
    probs: np.ndarray = compute_checked_probs(game, player, record.copy())[0]
    return probs


def list_move_probs(
    game: DisplayedGame, record: np.ndarray, probs: np.ndarray, taken_action: int | None = None
) -> list[dict[str, Any]]:
    """Return the legal moves with probabilities; if there are many, only likely and taken ones."""
    legal_moves = game.list_moves(record[0])
    actions = [move.action for move in legal_moves]
    if len(legal_moves) > MAX_LISTED_MOVES or game.get_bet_range(record[0]) is not None:
        actions = np.flatnonzero(probs >= MIN_LISTED_PROB).tolist()
        if taken_action is not None and taken_action not in actions:
            actions = sorted([*actions, taken_action])
    return [
        {"label": move.label, "prob": float(probs[move.action]), "move": move.name}
        for move in game.list_moves(record[0], actions)
    ]


_solution_by_game: dict[str, tuple[GameTree, Player, np.ndarray] | None] = {}
_solving_lock = threading.Lock()  # sessions run in several threads


def solve_small_game(game: Game) -> tuple[GameTree, Player, np.ndarray] | None:
    """Return a small game's tree, an equilibrium, and the loss of each action against it.

    The losses have the shape [information sets, actions]. Each game is solved once. The result is
    None if the game is too large.
    """
    key = repr(game.to_dict())
    with _solving_lock:
        if key not in _solution_by_game:
            player = compute_equilibrium(game)
            if player is None:
                _solution_by_game[key] = None
            else:
                tree = get_tree(game)
                _solution_by_game[key] = (
                    tree,
                    player,
                    compute_action_losses(tree, player.action_probs(tree.infoset_records)),
                )
    return _solution_by_game[key]
