"""Groups of legal moves for hints, reviews and advice, with a player's probability of each group.

If a seat may bet any number of chips, a policy spreads its bets over dozens of amounts. So bets are
grouped by size: the smallest bet, amounts near half the pot and near the pot, larger amounts, and
all-in. In other games each move is a group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poker_rl.games.displayed_table import DisplayedGame
from poker_rl.games.poker.display.view import DisplayedPoker, compute_pot_raise_to

# Upper bounds of groups of bets, in percent of the pot.
MAX_POT_PERCENT_OF_GROUP = {"about half pot": 75, "about the pot": 150}


@dataclass(frozen=True)
class MoveGroup:
    """Legal moves that are shown as one line, with a player's probability and value of them."""

    label: str  # such as `Call 2`, `Raise` or `about half pot`
    name: str  # name of the move if the group has only one, else ""
    amounts: str  # a call's chips or a bet's total on this street, as `3 to 5 bb, 6 to 10 chips`
    first_action: int
    last_action: int  # the actions of a group are consecutive
    is_subgroup: bool  # true if the moves are also in the group of all bets, which is shown before
    is_taken: bool  # whether the group contains the move that was made
    prob: float  # sum of the probabilities of the moves
    value: float | None  # expected payoff of the hand in the game's unit; None if unknown

    @property
    def facts(self) -> str:
        """The amounts and the value as text, such as `2 bb, 4 chips, expects +0.50`."""
        value_text = "" if self.value is None else f"expects {self.value:+.2f}"
        return ", ".join(filter(None, [self.amounts, value_text]))


def format_chips_in_game_unit(game: DisplayedGame, *chips: int) -> str:
    """Return one amount of chips, or two, as text in the game's unit, such as `3 to 5 bb`."""
    unit = "bb" if game.unit == "big blind" else f"{game.unit}s"
    return f"{' to '.join(f'{round(one / game.unit_chips, 1):g}' for one in chips)} {unit}"


def group_moves(
    game: DisplayedGame,
    record: np.ndarray,
    probs: np.ndarray,
    values: np.ndarray | None = None,
    taken_action: int | None = None,
) -> list[MoveGroup]:
    """Return the groups of legal moves at the table in `record`, shape [1].

    A group's value is the mean of the known values of its moves, weighted by their probabilities.

    Args:
        probs: a player's policy, shape [actions].
        values: the player's action values in chips, NaN where unknown; [actions] or [1, actions].
        taken_action: the action that was taken; None before the move.
    """
    values = np.full(len(probs), np.nan) if values is None else values.reshape(-1)
    groups: list[MoveGroup] = []

    def add(
        label: str, first: int, last: int, amounts: str, name: str = "", is_subgroup: bool = False
    ) -> None:
        group = slice(first, last + 1)
        known, value = ~np.isnan(values[group]), None
        if known.any():
            weights = probs[group][known]
            chips = np.average(values[group][known], weights=weights if weights.any() else None)
            value = float(chips) / game.unit_chips
        is_taken = taken_action is not None and first <= taken_action <= last
        prob = float(probs[group].sum())
        groups.append(
            MoveGroup(label, name, amounts, first, last, is_subgroup, is_taken, prob, value)
        )

    moves, bet_range = game.list_moves(record[0]), game.get_bet_range(record[0])
    for move in moves:
        if bet_range is None or move.raise_to is None:
            chips = move.raise_to or move.chips_added
            amounts = (
                format_chips_in_game_unit(game, chips) if chips and game.unit_chips > 1 else ""
            )
            add(move.label, move.action, move.action, amounts, move.name)
    if bet_range is None:
        return groups
    low = bet_range.min_bet_action
    chips_minus_action = bet_range.min_bet - low  # equal for all bets
    high = bet_range.max_bet - chips_minus_action
    verb = next(move.action_type for move in moves if move.raise_to is not None).capitalize()
    bets = [(verb if low < high else f"{verb} all-in", low, high)]  # label, first and last action
    if low < high:
        bets.append(("minimum", low, low))
        assert isinstance(game, DisplayedPoker)  # only poker has bets of any amount
        variant_game = game.get_variant_at_table(record[0])
        for label, pot_percent in MAX_POT_PERCENT_OF_GROUP.items():
            start, end = bets[-1][2] + 1, compute_pot_raise_to(variant_game, record[0], pot_percent)
            bets.append((label, start, min(max(end, start - 1), high - 1)))
        bets += [("larger", bets[-1][2] + 1, high - 1), ("all-in", high, high)]
    for label, first, last in bets:
        if first <= last:
            totals = sorted({first + chips_minus_action, last + chips_minus_action})
            amounts = f"{' to '.join(map(str, totals))} chip{'s' * (totals != [1])}"
            if game.unit_chips > 1:
                amounts = f"{format_chips_in_game_unit(game, *totals)}, {amounts}"
            add(label, first, last, amounts, is_subgroup=label != bets[0][0])
    return groups
