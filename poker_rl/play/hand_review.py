"""Review a finished hand: the policy at each decision, and a grade for each move of the person."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from poker_rl.play.grading import compute_probs, grade_move, solve_small_game
from poker_rl.play.hand_view import view_to_dict
from poker_rl.play.live_hand import PERSON_INDEX, LiveHand, MoveStep
from poker_rl.play.move_groups import group_moves
from poker_rl.players.player import Player


def review_decisions(hand: LiveHand) -> list[dict[str, Any]]:
    """Return all decisions of a finished hand in order, as plain values for JSON.

    An opponent's decision contains the opponent's policy. A decision of the person contains the
    adviser's policy and the grade of the move.
    """
    return [_review_step(hand, step) for step in hand.steps]


def _review_step(hand: LiveHand, step: MoveStep) -> dict[str, Any]:
    table, player_index = hand.setup, hand.player_of_seat[step.seat]
    is_person = player_index == PERSON_INDEX
    reviewer = table.adviser if is_person else table.opponents[player_index - 1]
    solution = solve_small_game(table.game) if is_person else None
    grade = None
    if is_person and (
        grade := grade_move(table.game, step.record, step.move.action, table.adviser)
    ):
        grade = replace(grade, grader=table.short_names.get(grade.grader, grade.grader))

    def list_groups(player: Player | None) -> list[dict[str, Any]] | None:
        if player is None:
            return None
        probs = compute_probs(table.game, player, step.record)
        values = player.action_values(step.record.copy()) if is_person else None
        groups = group_moves(table.game, step.record, probs, values, step.move.action)
        return [vars(group) for group in groups]

    return {
        "seat": step.seat,
        "player_index": player_index,
        "label": step.move.label,
        "table": view_to_dict(table.game.build_view(step.record[0], None)),
        "probs": list_groups(None if reviewer is None else reviewer.player),
        "choices": len(table.game.list_moves(step.record[0])),
        "grade": grade and asdict(grade),
        "equilibrium": list_groups(None if solution is None else solution[1]),
    }
