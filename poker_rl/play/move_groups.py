"""Groups of legal moves for hints, reviews and advice, with a player's probability of each group.

If any number of chips may be bet, a policy spreads its bets over dozens of amounts. So bets are
grouped by size: the smallest bet, amounts near half the pot and near the pot, larger ones, and
all-in. In other games each move is a group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.games.poker.display.view import DisplayedPoker, compute_pot_raise_to
from poker_rl.games.table_view import DisplayedGame, LegalMove

MAX_LISTED_MOVES = 8  # if more moves are legal, improbable moves are not listed
MIN_LISTED_PROB = 0.001  # moves with a smaller probability are improbable
# Largest bet of each group of bets, in percent of the pot.
GROUP_BOUNDS = {"about half pot": 75, "about the pot": 150}


@dataclass(frozen=True)
class MoveGroup:
    """Legal moves that are shown as one line, with a player's probability and value of them."""

    label: str  # such as `Call 2`, `Raise` or `about half pot`
    name: str  # name of the move if the group has only one, else ""
    amounts: str  # total bet on this street, such as `3 to 5 bb, 6 to 10 chips`
    first_action: int
    last_action: int  # the actions of a group are consecutive
    is_part: bool  # whether an earlier group, that of all bets, also has these moves
    is_taken: bool  # whether the group contains the move that was made
    prob: float
    value: float | None  # expected payoff of the hand in the game's unit; None if unknown


def group_moves(
    game: DisplayedGame,
    record: np.ndarray,
    probs: np.ndarray,
    values: np.ndarray | None = None,
    taken_action: int | None = None,
) -> list[MoveGroup]:
    """Return the groups of legal moves at the table in `record`, shape [1].

    Of many legal moves, improbable ones are left out, unless any amount may be bet.

    Args:
        probs: the player's policy, shape [actions].
        values: the player's action values in chips, shape [actions] or [1, actions]; NaN if
            unknown.
        taken_action: the action that was taken, which is never left out; None before the move.
    """
    values = np.full(len(probs), np.nan) if values is None else values.reshape(-1)

    def build_group(
        label: str, actions: list[int], name: str = "", amounts: str = "", is_part: bool = False
    ) -> MoveGroup:
        weights, known = probs[actions], ~np.isnan(values[actions])
        weights = np.where(known, weights if weights[known].sum() > 0 else 1.0, 0.0)
        value = weights @ np.nan_to_num(values[actions]) / game.unit_chips
        return MoveGroup(
            label,
            name,
            amounts,
            actions[0],
            actions[-1],
            is_part,
            taken_action in actions,
            float(probs[actions].sum()),
            float(value / weights.sum()) if known.any() else None,
        )

    def format_units(*chips: int) -> str:
        unit = "bb" if game.unit == "big blind" else f"{game.unit}s"
        amounts = [f"{round(count / game.unit_chips, 1):g}" for count in chips]
        return f"{' to '.join(amounts)} {unit}"

    def build_move(move: LegalMove) -> MoveGroup:
        chips = move.raise_to or move.chips_added
        amounts = format_units(chips) if chips and game.unit_chips > 1 else ""
        return build_group(move.label, [move.action], move.name, amounts)

    moves, bet_range = game.list_moves(record[0]), game.get_bet_range(record[0])
    if bet_range is None:
        if len(moves) > MAX_LISTED_MOVES:
            is_listed = probs >= MIN_LISTED_PROB
            moves = [one for one in moves if is_listed[one.action] or one.action == taken_action]
        return [build_move(one) for one in moves]
    groups = [build_move(one) for one in moves if one.raise_to is None]
    verb = next(one.action_type for one in moves if one.raise_to is not None).capitalize()
    offset = bet_range.min_bet - bet_range.min_bet_action
    low, high = bet_range.min_bet_action, bet_range.min_bet_action + bet_range.max_bet
    high -= bet_range.min_bet

    def build_bets(label: str, first: int, last: int, is_part: bool = True) -> list[MoveGroup]:
        if first > last:
            return []
        chips = [first + offset] if first == last else [first + offset, last + offset]
        amounts = f"{' to '.join(map(str, chips))} chip{'s' * (chips != [1])}"
        if game.unit_chips > 1:
            amounts = f"{format_units(*chips)}, {amounts}"
        return [build_group(label, list(range(first, last + 1)), "", amounts, is_part)]

    if low == high:
        return groups + build_bets(f"{verb} all-in", low, high, False)
    groups += build_bets(verb, low, high, False) + build_bets("minimum", low, low)
    start = low + 1
    assert isinstance(game, DisplayedPoker)  # no other games let a seat bet any number of chips
    for label, hundredths in GROUP_BOUNDS.items():
        end = compute_pot_raise_to(game.get_variant_game(record[0]), record[0], hundredths)
        end = min(max(end, start - 1), high - 1)
        groups += build_bets(label, start, end)
        start = end + 1
    return groups + build_bets("larger", start, high - 1) + build_bets("all-in", high, high)
