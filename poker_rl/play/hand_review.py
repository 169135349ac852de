"""Review a finished hand: the policy at each decision, and a grade for each move of the person."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from poker_rl.games.table_view import DisplayedGame
from poker_rl.play.grading import compute_probs, grade_move, solve_small_game
from poker_rl.play.hand_view import view_to_dict
from poker_rl.play.live_hand import PERSON_INDEX, LiveHand, MoveStep

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
    grade, solution = None, solve_small_game(table.game)
    if player_index == PERSON_INDEX:
        adviser = table.adviser and (table.adviser.name, table.adviser.player)
        grade = grade_move(table.game, step.record, taken_action, adviser)
    return {
        "seat": step.seat,
        "player_index": player_index,
        "label": step.move.label,
        "table": view_to_dict(table.game.build_view(step.record[0], None)),
        "probs": None
        if probs is None
        else list_move_probs(table.game, step.record, probs, taken_action),
        "choices": len(table.game.list_moves(step.record[0])),
        "grade": grade and asdict(grade),
        "equilibrium": None
        if solution is None or player_index != PERSON_INDEX
        else list_move_probs(
            table.game,
            step.record,
            compute_probs(table.game, solution[1], step.record),
            taken_action,
        ),
    }


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
