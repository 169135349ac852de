"""Betting lines of one or two streets for a search during play, with a short list of raises.

A betting line is a sequence of actions. If any amount may be bet, a street has far too many lines.
So the only raises enumerated are those of a few listed sizes, and those played on this street.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.poker.table_dtypes import RAISE
from poker_rl.games.public.betting_lines import (
    StreetLines,
    enumerate_street_lines,
    pack_line_arrays,
)
from poker_rl.games.tables import Tables
from poker_rl.players.bet_abstraction_player import compute_raise_targets

# After so many raises on a street, only the largest raise is enumerated. Two streets have far more
# lines than one, so there the number is smaller.
MAX_SIZED_RAISES = {1: 2, 2: 1}


@dataclass(frozen=True)
class EndgameLines:
    """The betting lines of one or two streets, with choices in place of actions.

    Choice k at a decision is the k-th of the actions enumerated there. `street.action` and the
    columns of `street.legal_mask` are choices. K is the most choices at any of the D decisions.
    """

    street: StreetLines  # the lines of all streets, as if these were one street
    decision_count: int  # number of decisions on the first street, which come first
    actions: np.ndarray  # the action of each choice; arbitrary in unused columns, [D, K]
    line_after_action: dict[tuple[int, int], int]  # index of the line after (line, action)

    def find_decision(self, line: int) -> int:
        """Return the index of the decision after a line."""
        return int(np.flatnonzero(self.street.decision_lines == line)[0])

    def list_actions(self, decision: int) -> np.ndarray:
        """Return the action of each choice at a decision."""
        return np.asarray(self.actions[decision, self.street.legal_mask[decision]])

    def to_choice_probs(self, decisions: np.ndarray, probs: np.ndarray) -> np.ndarray:
        """Convert policies at n of the decisions from actions to choices, [n, R, A] -> [D, R, K].

        R is the number of hands. The probability of a raise that is not enumerated is added to that
        of the nearest raise. At the other decisions, the result is 0.
        """
        choice_probs = np.zeros((len(self.actions), probs.shape[1], self.actions.shape[1]))
        played = np.flatnonzero(probs.any((0, 1)))
        for decision, own_probs in zip(decisions, probs, strict=True):
            actions = self.list_actions(decision)
            for action in played[own_probs[:, played].any(0)]:
                choice_probs[decision, :, find_nearest(actions, action)] += own_probs[:, action]
        return choice_probs


def enumerate_endgame_lines(
    game: Game, sized_games: Sequence[Game | None], record: np.ndarray, played_actions: np.ndarray
) -> EndgameLines:
    """Enumerate the betting lines of one or two streets, the first of which has just begun.

    Args:
        sized_games: for each street, the same game with the listed sizes of raises; None: enumerate
            all raises.
        record: the table at the start of the first street, [1].
        played_actions: first actions of the first street, whose line is enumerated in any case.
    """
    start, first_street = int(record["moves"][0]), int(record["street"][0])
    max_sized_raises = MAX_SIZED_RAISES[len(sized_games)]

    def mask_actions(tables: Tables, sized_game: Game | None) -> np.ndarray:
        mask, records = tables.legal_mask(), tables.records
        if sized_game is None:
            return mask
        targets = compute_raise_targets(sized_game, records)
        is_capped = records["raises"] >= max_sized_raises
        targets[is_capped] *= targets[is_capped] == targets[is_capped].max(1, keepdims=True)
        mask[:, RAISE:] = False
        row, size = np.nonzero(targets)
        mask[row, targets[row, size]] = True
        depth = int(records["moves"].max(initial=start)) - start  # equal at tables of one street
        if depth < len(played_actions):
            line = records["line"][:, start : start + depth]
            is_played = (line == played_actions[:depth]).all(1) & (
                records["street"] == first_street
            )
            mask[is_played, played_actions[depth]] = True
        return mask

    records, streets = record.copy(), []
    for street_index, sized_game in enumerate(sized_games, first_street):
        get_mask = partial(mask_actions, sized_game=sized_game)
        street, records = enumerate_street_lines(
            game, records, street_index, get_action_mask=get_mask
        )
        streets.append(street)
    first = streets[0]
    street = first if len(streets) == 1 else _join_streets(*streets)
    pairs = zip(first.parent_line.tolist(), first.action.tolist(), strict=True)
    line_after_action = {pair: line for line, pair in enumerate(pairs)}
    mask = street.legal_mask
    choice_of_action, counts = mask.cumsum(1) - 1, mask.sum(1)
    actions = np.argsort(~mask, axis=1, kind="stable")[:, : counts.max()]
    *_, decision_of_line = pack_line_arrays(street)
    # The choice of line 0, which has no parent, is never used.
    choices = choice_of_action[decision_of_line[street.parent_line], street.action]
    is_choice = np.arange(actions.shape[1]) < counts[:, None]
    street = replace(street, action=choices, legal_mask=is_choice)
    return EndgameLines(street, len(first.decision_lines), actions, line_after_action)


def _join_streets(first: StreetLines, second: StreetLines) -> StreetLines:
    """Return the lines of a street and of the next one as if they were one street.

    The lines and decisions of `first` come first.
    """
    is_new = np.arange(len(second.seat)) >= second.entering_count
    joined_line = np.cumsum(is_new) + len(first.seat) - 1  # of each line of `second`
    joined_line[~is_new] = first.continuing_lines
    seat = np.append(first.seat, second.seat[is_new])
    seat[first.continuing_lines] = second.seat[~is_new]
    return StreetLines(
        entering_count=first.entering_count,
        parent_line=np.append(first.parent_line, joined_line[second.parent_line[is_new]]),
        action=np.append(first.action, second.action[is_new]),
        seat=seat,
        decision_lines=np.append(first.decision_lines, joined_line[second.decision_lines]),
        decision_records=np.append(first.decision_records, second.decision_records),
        legal_mask=np.append(first.legal_mask, second.legal_mask, axis=0),
        continuing_lines=joined_line[second.continuing_lines],
        terminal_lines=np.append(first.terminal_lines, joined_line[second.terminal_lines]),
        is_fold=np.append(first.is_fold, second.is_fold),
        stakes=np.append(first.stakes, second.stakes, axis=0),
    )


def find_nearest(actions: np.ndarray, action: int) -> int:
    """Return the index in `actions` [n] of an action or, if it is a raise, of the nearest raise."""
    distances = np.abs(np.log(np.maximum(actions, 1) / max(action, 1)))
    is_alternative = (actions == action) | ((actions >= RAISE) & (action >= RAISE))
    return int(np.where(is_alternative, distances, np.inf).argmin())
