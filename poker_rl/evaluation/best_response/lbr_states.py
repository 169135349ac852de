"""Public states, and their values for a responder to a player of heads-up poker.

The responder knows the player's policy. The value of a state is what the responder wins on average
if, from then on, both only check and call. There is one exception: if the responder faces a bet in
this state, it folds the hands with which folding is better.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from poker_rl.games.game import Game
from poker_rl.players.range_policy import RepresentativeHands


@dataclass
class PublicState:
    """Public state, with cached arrays for H hands of the player and R hands of the responder."""

    record: np.ndarray  # record of a table in this state, [1]; its cards are ignored
    reach: np.ndarray  # probability that the player's own actions lead here with each hand, [H]
    # Cached next states by action; a state that follows a new board card is not cached.
    children: dict[int, PublicState] = field(default_factory=dict)
    # The player's action probabilities with each of its hands, [A, H]; None until computed.
    action_probs: np.ndarray | None = None
    own_best_actions: OwnBestActions | None = None  # None until computed
    player_decision: PlayerDecision | None = None  # None until computed


@dataclass(frozen=True)
class OwnBestActions:
    """Decision of the responder in a public state, with each of its R hands."""

    actions: np.ndarray  # the best actions, [R]
    values: np.ndarray  # values of these actions for the responder in chips, [R]


@dataclass(frozen=True)
class PlayerDecision:
    """Decision of the player in a public state, against each of the responder's R hands."""

    actions: np.ndarray  # the actions that the player takes with any of its hands, ascending, [n]
    values: np.ndarray  # value after each action for the responder in chips, [R, n]
    mean_values: np.ndarray  # mean over the player's actions, [R]


@dataclass(frozen=True)
class BoardMatchups:
    """Arrays of one board for R hands of the responder and H hands of the player."""

    representative_hands: RepresentativeHands  # the hands for which the player's policy is computed
    # [R, H]: 1 if the player's hand shares no card with the responder's hand or the board, else 0
    is_disjoint: np.ndarray
    # [R, H]: probability that the responder's hand wins a showdown, minus that of losing it
    win_margins: np.ndarray

    def sum_reach(self, reach: np.ndarray) -> np.ndarray:
        """Sum `reach` [H] or [B, H] over the hands possible against each of R hands, [R] or [R, B].

        A sum of 0 is replaced by the smallest positive number, so that callers can divide by it.
        """
        return np.asarray(np.maximum(self.is_disjoint @ reach.T, np.finfo(np.float64).tiny))


def sum_state_values(
    game: Game, view: BoardMatchups, records: np.ndarray, reach: np.ndarray, seat: int
) -> np.ndarray:
    """Return values of B public states for R hands of the responder, in chips, [R, B].

    They are summed over the player's hands, weighted by `reach` [B, H], not averaged. The responder
    sits in `seat`; `records` [B] has one table in each state.
    """
    paid, reach_sums = records["paid"].astype(np.float64), view.sum_reach(reach)
    stakes = records["price"].astype(np.float64)  # what a loser pays if all bets are called
    if records["able"].shape[1]:  # stacks are limited
        stakes = np.minimum(stakes, game.definitions["stack"][0, :2].min())
    values: np.ndarray = view.win_margins @ reach.T * stakes
    may_fold = (records["over"] == 0) & (records["to_act"] == seat)
    may_fold &= paid[:, seat] < paid[:, 1 - seat]
    np.maximum(values, -paid[:, seat] * reach_sums, out=values, where=may_fold)
    has_won = records["live"] == 1  # the player has folded
    np.copyto(values, paid[:, 1 - seat] * reach_sums, where=has_won)
    return values
