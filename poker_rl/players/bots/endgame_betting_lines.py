"""Betting lines of one street for a search during play, which considers only some raises.

A betting line is a sequence of actions. If any amount may be bet, a street has far too many lines.
So the only raises enumerated are those of a few listed sizes, and those played on this street.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.poker.table_dtypes import RAISE
from poker_rl.games.public.betting_lines import StreetLines, enumerate_street_lines
from poker_rl.games.tables import Tables
from poker_rl.players.bet_abstraction_player import compute_raise_targets

MAX_SIZED_RAISES = 2  # after so many raises on the street, only the largest raise is enumerated


@dataclass(frozen=True)
class EndgameBettingLines:
    """The betting lines of a street, with choices in place of actions.

    Choice k at a decision is the k-th of the actions enumerated there. `street.action` and the
    columns of `street.legal_mask` are choices. K is the most choices at any of the D decisions.
    """

    street: StreetLines
    actions: np.ndarray  # the action of each choice; arbitrary in unused columns, [D, K]
    line_after_action: dict[tuple[int, int], int]  # index of the line after (line, action)

    def convert_actions_to_choices(self, decisions: np.ndarray, probs: np.ndarray) -> np.ndarray:
        """Convert policies at n of the decisions from actions to choices, [n, R, A] -> [D, R, K].

        R is the number of hands. The probability of a raise that is not enumerated is added to that
        of the nearest raise. At the other decisions, the result is 0.
        """
        choice_probs = np.zeros((len(self.actions), probs.shape[1], self.actions.shape[1]))
        played = np.flatnonzero(probs.any((0, 1)))
        for decision, own_probs in zip(decisions, probs, strict=True):
            actions = self.actions[decision, self.street.legal_mask[decision]]
            for action in played[own_probs[:, played].any(0)]:
                choice_probs[decision, :, find_nearest_action(actions, action)] += own_probs[
                    :, action
                ]
        return choice_probs


def enumerate_endgame_street_lines(
    game: Game, sized_game: Game | None, record: np.ndarray, played_actions: np.ndarray
) -> EndgameBettingLines:
    """Enumerate the betting lines of a street that has just begun at the table `record` [1].

    Args:
        sized_game: the same game with the listed sizes of raises; None: enumerate all raises.
        played_actions: first actions of this street, whose line is enumerated in any case.
    """
    start, street_index = int(record["moves"][0]), int(record["street"][0])

    def mask_actions(tables: Tables) -> np.ndarray:
        mask = tables.legal_mask()
        if sized_game is None:
            return mask
        records = tables.records
        depth = int(records["moves"].max(initial=start)) - start  # equal at all tables
        line = records["line"][:, start : start + depth]
        targets = compute_raise_targets(sized_game, records)
        # After `MAX_SIZED_RAISES` raises, only the largest raise is enumerated.
        is_capped = (line >= RAISE).sum(1) >= MAX_SIZED_RAISES
        targets[is_capped] *= targets[is_capped] == targets[is_capped].max(1, keepdims=True)
        mask[:, RAISE:] = False
        row, size = np.nonzero(targets)
        mask[row, targets[row, size]] = True
        if depth < len(played_actions):
            is_played = (line == played_actions[:depth]).all(1)
            mask[is_played, played_actions[depth]] = True
        return mask

    street, _ = enumerate_street_lines(
        game, record.copy(), street_index, get_action_mask=mask_actions
    )
    pairs = zip(street.parent_line.tolist(), street.action.tolist(), strict=True)
    line_after_action = {pair: line for line, pair in enumerate(pairs)}
    mask = street.legal_mask
    choice_of_action, counts = mask.cumsum(1) - 1, mask.sum(1)
    actions = np.argsort(~mask, axis=1, kind="stable")[:, : counts.max()]
    parent_decision = np.searchsorted(street.decision_lines, street.parent_line)
    # The choice of line 0, which has no parent, is never used.
    choices = choice_of_action[parent_decision, street.action]
    is_choice = np.arange(actions.shape[1]) < counts[:, None]
    street = replace(street, action=choices, legal_mask=is_choice)
    return EndgameBettingLines(street, actions, line_after_action)


def find_nearest_action(actions: np.ndarray, action: int) -> int:
    """Return the index in `actions` [n] of an action or, if it is a raise, of the nearest raise.

    The nearest raise is the one whose ratio to `action` is closest to 1.
    """
    distances = np.abs(np.log(np.maximum(actions, 1) / max(action, 1)))
    is_alternative = (actions == action) | ((actions >= RAISE) & (action >= RAISE))
    return int(np.where(is_alternative, distances, np.inf).argmin())
