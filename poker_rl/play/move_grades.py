"""Review of a finished hand: the policy at each decision, and a grade for each move of the person.

A move is graded by its cost if the cost is known, else by the adviser's probability of the move.
The cost is the expected payoff of the best move minus that of the graded move, in the game's unit:
big blinds, antes or points. In a game small enough to be solved, the expected payoffs assume that
the opponents play an equilibrium and that the person plays optimally after the move. In other games
the expected payoffs are the adviser's action values; if it has none, the cost is unknown.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from poker_rl.algos.tabular.small_game_equilibrium import compute_equilibrium_player
from poker_rl.evaluation.exact.exploitability import compute_action_losses
from poker_rl.games.displayed_table import DisplayedGame
from poker_rl.games.game import Game
from poker_rl.games.game_tree import GameTree, get_tree
from poker_rl.play.bet_size_groups import group_moves
from poker_rl.play.live_hand import PERSON_INDEX, LiveHand, MoveStep, view_to_dict
from poker_rl.play.table_setup import NamedPlayer, TableSetup
from poker_rl.players.player import Player, compute_checked_probs

# Lowest cost of an inaccuracy and of a mistake, in the game's unit; the values are our choice.
INACCURACY_COST, MISTAKE_COST = 0.05, 0.25
MISTAKE_PROB = 0.035  # if no cost is known, a move with a smaller probability is a mistake

EQUILIBRIUM_NAME = "an equilibrium"
GradeWord = Literal["fine", "inaccuracy", "mistake"]


@dataclass(frozen=True)
class MoveGrade:
    """Grade of a move, and the numbers that decide the grade: its cost and its probability."""

    word: GradeWord
    prob: float  # probability of the move in the policy of `grader`
    cost: float | None  # in the game's unit, None if unknown
    grader: str  # name of the player whose policy gives `prob`: the adviser or EQUILIBRIUM_NAME


def choose_grade_word(prob: float, cost: float | None) -> GradeWord:
    """Return the grade of a move; the probability matters only if the cost is unknown."""
    if cost is None:
        return "mistake" if prob < MISTAKE_PROB else "fine"
    if cost < INACCURACY_COST:
        return "fine"
    return "inaccuracy" if cost < MISTAKE_COST else "mistake"


def grade_move(
    game: DisplayedGame, record: np.ndarray, action: int, adviser: NamedPlayer | None
) -> MoveGrade | None:
    """Return the grade of an action at the table in `record`, shape [1].

    In a game small enough to be solved, the grade comes from an equilibrium, unless the opponents'
    equilibrium policies practically never lead to this table. Otherwise it comes from the adviser,
    and is None without an adviser. The `prob` of a bet or raise sums over all of its sizes.
    """
    solution, chips_lost = solve_small_game(game), np.nan
    if solution is not None:
        tree, equilibrium, action_losses = solution
        chips_lost = action_losses[tree.lookup_infosets(record)[0], action]
        if not np.isnan(chips_lost):
            adviser = NamedPlayer(EQUILIBRIUM_NAME, equilibrium)
    elif adviser is not None:
        values = adviser.player.action_values(record.copy())
        if values is not None:
            chips_lost = np.nanmax(values[0]) - values[0, action]
    if adviser is None:
        return None
    probs = compute_checked_probs(game, adviser.player, record.copy())[0]
    prob = float(probs[game.action_types == game.action_types[action]].sum())
    cost = None if np.isnan(chips_lost) else max(0.0, float(chips_lost) / game.unit_chips)
    return MoveGrade(choose_grade_word(prob, cost), prob, cost, adviser.name)


def explain_grades(unit: str) -> str:
    """Return sentences that explain grades to the person; `unit` is the game's unit of costs."""
    return (
        f"An inaccuracy costs at least {INACCURACY_COST} {unit}s, a mistake {MISTAKE_COST}. Where"
        f" no cost is known, a move with a probability below {100 * MISTAKE_PROB:g} % is a mistake."
    )


def format_grade(grade: MoveGrade, setup: TableSetup) -> str:
    """Return a grade as text, with the cost, the probability and the short name of the grader."""
    cost = "" if grade.cost is None else f", costs {grade.cost:.2f} {setup.game.unit}s"
    grader = setup.short_names.get(grade.grader, grade.grader)
    return f"{grade.word}{cost}, {grader} does it {grade.prob:.1%} of the time"


def list_move_groups(
    game: DisplayedGame,
    player: Player,
    record: np.ndarray,
    taken_action: int | None = None,
    with_values: bool = True,
) -> list[dict[str, Any]]:
    """Return a player's policy by groups of moves for JSON, with `facts` about each group as text.

    The likeliest group is first, unless bets are grouped by size: then the order is that of
    `group_moves`. See there for the arguments. Without `with_values`, the facts have no values.
    """
    probs = compute_checked_probs(game, player, record.copy())[0]
    values = player.action_values(record.copy()) if with_values else None
    groups = group_moves(game, record, probs, values, taken_action)
    if not any(group.is_subgroup for group in groups):
        groups.sort(key=lambda group: -group.prob)
    return [vars(group) | {"facts": group.facts} for group in groups]


_solution_by_game: dict[str, tuple[GameTree, Player, np.ndarray] | None] = {}  # cache


def solve_small_game(game: Game) -> tuple[GameTree, Player, np.ndarray] | None:
    """Return a game's tree, an equilibrium, and losses; None if the game can't be solved.

    A game can't be solved if it is too large or not for two players. The losses, [information sets,
    actions], are how many chips each action costs compared with the best one, if the opponent plays
    the equilibrium and the acting seat plays optimally afterwards. They are NaN if unknown or if
    the action is illegal. Each game is solved only once.
    """
    key = repr(game.to_dict())
    if key not in _solution_by_game and (player := compute_equilibrium_player(game)) is not None:
        tree = get_tree(game)
        losses = compute_action_losses(tree, player.action_probs(tree.infoset_records))
        _solution_by_game[key] = tree, player, losses
    return _solution_by_game.setdefault(key, None)


def review_all_decisions(hand: LiveHand) -> list[dict[str, Any]]:
    """Return all decisions of a finished hand in their order, as plain values for JSON.

    A decision of an opponent contains the opponent's policy. A decision of the person contains the
    policies of the adviser and, in a small game, of an equilibrium. It also contains the grade of
    the move, which is None if no other move was legal or if `grade_move` returns None.
    """
    return [_review_step(hand, step) for step in hand.steps]


def _review_step(hand: LiveHand, step: MoveStep) -> dict[str, Any]:
    setup, player_index = hand.setup, hand.player_of_seat[step.seat]
    game, record, action = setup.game, step.record, step.move.action
    is_person = player_index == PERSON_INDEX
    reviewer = setup.adviser if is_person else setup.opponents[player_index - 1]
    solution = solve_small_game(game) if is_person else None
    has_choice = is_person and len(game.list_moves(record[0])) > 1
    grade = grade_move(game, record, action, setup.adviser) if has_choice else None

    def list_groups(player: Player) -> list[dict[str, Any]]:
        return list_move_groups(game, player, record, action, with_values=is_person)

    return {
        "seat": step.seat,
        "player_index": player_index,
        "label": step.move.label,
        "table": view_to_dict(game.build_view(record[0], None)),
        "probs": reviewer and list_groups(reviewer.player),
        "grade": grade and asdict(grade) | {"text": format_grade(grade, setup)},
        "equilibrium": solution and list_groups(solution[1]),
    }
