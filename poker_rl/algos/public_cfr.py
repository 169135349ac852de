"""Counterfactual regret minimisation over the public tree, for poker for two that is not small.

The equation and its variants are those of `cfr.py`. There every deal is a root of its own; here the
tree is that of boards and betting lines alone, and at each public state all hands of a seat are
worked on at once, against the whole range of the other seat (Johanson et al., "Accelerating best
response calculation in large extensive games", 2011; so did the programs that solved limit
hold'em, Bowling et al. 2015). In iteration t each seat in turn

    goes down with the chance that each seat comes to a state with each hand,
    comes up with what each of its own hands wins there, times the other seat's chance,
    and at each of its states changes regrets, policy and average as `cfr.py` does.

Boards and hands that differ in the names of suits alone are one, which loses nothing. Threads take
the boards of the first street that has several; the result does not depend on how many there are.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import InitVar, dataclass
from typing import Any

import numba
import numpy as np
import torch

from poker_rl.algos.algorithm import Progress
from poker_rl.algos.cfr import Gamma, discount
from poker_rl.config.settings import Sweeps
from poker_rl.games.game import Game, rule
from poker_rl.games.public.places import Place, Places
from poker_rl.games.public.ranges import against_all, show_down
from poker_rl.games.sequences import mean_regret
from poker_rl.learning.room import demand
from poker_rl.players.player import Player
from poker_rl.players.public_table import PublicTablePlayer, places_of

BYTES = 8 + 2 + 8  # of an action at an information set: regret and sum, the player, and its making


@dataclass(kw_only=True)
class PublicCFR:
    """The solver; its tables are of 32 bits.

    Raises:
        Refused: if the game is not poker for two, or its public tree is too large.
    """

    alpha: float
    beta: float
    gamma: Gamma
    iterations_per_step: Sweeps
    game: InitVar[Game]

    def __post_init__(self, game: Game) -> None:
        self.progress = Progress()
        self._game, self._places = game, places_of(game)
        cells = self._places.rows * game.actions
        rows = f"game: {self._places.rows:,} information sets"
        demand(rows, cells * BYTES, torch.device("cpu"))
        self._regrets = np.zeros((self._places.rows, game.actions), np.float32)
        self._sums = np.zeros((self._places.rows, game.actions), np.float32)  # of the average

    def learn(self) -> dict[str, float]:
        """Run `iterations_per_step` iterations."""
        for _ in range(self.iterations_per_step):
            self.progress.iterations += 1
            for seat in range(self._game.seats):
                _Walk(self._places, self._regrets, self._sums, seat, self._weights()).go()
        sweeps = self.iterations_per_step * self._game.seats
        self.progress.updates += sweeps
        self.progress.hands += sweeps * self._game.deal_count()
        self.progress.decisions += sweeps * self._places.rows
        return {"regret/first_street": self._first_regret() / self.progress.iterations}

    def _first_regret(self) -> float:
        """The mean over the first street's boards, weighed as CFR does.

        That is by the chance of cards and of the other seat's moves.
        """
        places, tree = self._places.root.after, self._places.tree
        means = [mean_regret(self._regrets[self._places.span(place)]) for place in places]
        mean = np.average(means, weights=[place.board.weight for place in places])
        return float(mean) / tree.pairs / tree.boards.ways(0)

    def _weights(self) -> tuple[float, float, float]:
        """What positive and negative regrets keep, and what this iteration counts."""
        t = self.progress.iterations
        return discount(t, self.alpha), discount(t, self.beta), float(t) ** self.gamma

    def players(self) -> dict[str, Player]:
        """The average policy, which converges."""
        policy = np.empty(self._sums.shape, np.float16)
        for place in self._places.all():
            rows = self._places.span(place)
            policy[rows] = _shares(self._sums[rows], self._places.legal[place.street])
        return {"average": PublicTablePlayer(self._game, policy)}

    def state_dict(self) -> dict[str, Any]:
        """Regrets, sums and the counters."""
        tables = {"regrets": self._regrets, "sums": self._sums}
        views = {name: torch.from_numpy(table) for name, table in tables.items()}
        return {**views, "progress": self.progress.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self._regrets[:] = state["regrets"].numpy()
        self._sums[:] = state["sums"].numpy()
        self.progress.load_state_dict(state["progress"])


class _Walk:
    """One walk of the public tree in which one seat learns.

    Args:
        weights: what its positive and its negative regrets keep, and what its policy counts.
    """

    def __init__(
        self,
        places: Places,
        regrets: np.ndarray,
        sums: np.ndarray,
        seat: int,
        weights: tuple[float, float, float],
    ) -> None:
        self._places, self._tree = places, places.tree
        self._regrets, self._sums = regrets, sums
        self._seat, self._weights = seat, weights
        self._threads = numba.get_num_threads()

    def go(self) -> None:
        """Walk it."""
        self._after(self._places.root, np.ones((1, 2, len(self._tree.ranges.hands))), self._threads)

    def _after(self, place: Place, reach: np.ndarray, threads: int) -> np.ndarray:
        """Deal the boards after one in all ways and take the mean.

        Args:
            reach: of each seat at each line that the street begins with, [L, 2, H].
            threads: that there are to share the work.

        Returns:
            what each hand of the seat that learns wins, times the chance that the other seat and
            the cards come there, [L, H].
        """
        if threads > 1 and len(place.after) > 1:
            with ThreadPoolExecutor(threads) as pool:
                found = list(pool.map(lambda after: self._at(after, reach, 1), place.after))
        else:
            found = [self._at(after, reach, threads) for after in place.after]
        renamings = place.board.renamings
        worth = np.zeros((len(reach), reach.shape[2]))
        for after, won in zip(place.after, found, strict=True):
            worth += after.board.weight / len(renamings) * won
        if len(renamings) > 1:
            worth = np.sum([worth[:, names] for names in self._tree.ranges.renamed[renamings]], 0)
        return worth / self._tree.boards.ways(place.street + 1)

    def _at(self, place: Place, reach: np.ndarray, threads: int) -> np.ndarray:
        """Walk the lines of a street on one board; arguments and result as of `_after`."""
        street, ranges = self._tree.streets[place.street], self._tree.ranges
        legal, rows = self._places.legal[place.street], self._places.span(place)
        policy = _shares(self._regrets[rows], legal)
        row = np.cumsum(street.seat >= 0) - 1
        lines = street.parent, street.action, street.seat, row, place.of_hand
        all_reach = np.empty((len(street.parent), 2, reach.shape[2]))
        all_reach[: street.entering] = reach * (place.of_hand >= 0)
        _descend(street.entering, *lines, len(place.kept), policy, all_reach)
        worth = np.zeros((len(street.parent), reach.shape[2]))
        if len(street.ended):
            order, ranks = np.empty(0, np.int64), np.empty(0, np.int32)
            if not street.folded.all():
                order, ranks = ranges.ranked(place.board.cards)
            paid = street.paid[:, self._seat]
            ends = street.ended, street.folded, paid, all_reach[:, 1 - self._seat]
            _settle(ranges.hands, order, ranks, *ends, worth)
        if len(street.leaving):
            worth[street.leaving] = self._after(place, all_reach[street.leaving], threads)
        _ascend(street.entering, *lines, len(place.kept), policy, self._seat, worth)
        _learn(
            *(street.entering, *lines, place.kept, policy, self._seat, *self._weights),
            *(all_reach, worth, self._regrets[rows], self._sums[rows]),
        )
        return worth[: street.entering] * (place.of_hand >= 0)


def _shares(weights: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """Rows that add up to 1: the positive parts [D * R, A], or if there are none, legal [D, A]."""
    out = np.empty(weights.shape)
    _share(weights, legal, out)
    return out


@rule
def _share(weights, legal, out):
    hands = len(weights) // len(legal)
    for row in range(len(weights)):
        total, choices = 0.0, 0
        for a in range(legal.shape[1]):
            total += max(weights[row, a], 0.0)
            choices += legal[row // hands, a]
        for a in range(legal.shape[1]):
            if total > 0:
                out[row, a] = max(weights[row, a], 0.0) / total
            else:
                out[row, a] = legal[row // hands, a] / choices


@rule
def _descend(entering, parent, action, seat, row, of_hand, kept, policy, reach):
    """Write the reach [N, 2, H] of all lines after those that a street begins with."""
    for line in range(entering, len(parent)):
        above = parent[line]
        actor, first = seat[above], row[above] * kept
        for hand in range(len(of_hand)):
            if of_hand[hand] >= 0:
                chance = policy[first + of_hand[hand], action[line]]
                reach[line, actor, hand] = reach[above, actor, hand] * chance
                reach[line, 1 - actor, hand] = reach[above, 1 - actor, hand]
            else:
                reach[line, 0, hand] = reach[line, 1, hand] = 0.0


@rule
def _settle(hands, order, ranks, ended, folded, paid, reach, worth):
    """Write what each hand wins [N, H] where hands end, against the reach [N, H] of the others."""
    for i in range(len(ended)):
        out = worth[ended[i]]
        if folded[i]:
            against_all(hands, reach[ended[i]], out)
        else:
            show_down(hands, order, ranks, reach[ended[i]], out)
        for hand in range(len(out)):
            out[hand] *= paid[i]


@rule
def _ascend(entering, parent, action, seat, row, of_hand, kept, policy, learns, worth):
    """Bring worth [N, H] up: the mean where the seat that learns acts, the sum elsewhere."""
    for line in range(len(parent) - 1, entering - 1, -1):
        above = parent[line]
        first = row[above] * kept
        for hand in range(len(of_hand)):
            if seat[above] != learns:
                worth[above, hand] += worth[line, hand]
            elif of_hand[hand] >= 0:
                chance = policy[first + of_hand[hand], action[line]]
                worth[above, hand] += chance * worth[line, hand]


@rule
def _learn(
    entering,
    parent,
    action,
    seat,
    row,
    of_hand,
    kept,
    policy,
    learns,
    keep,
    cut,
    weight,
    reach,
    worth,
    regrets,
    sums,
):
    """Change regrets and sums [D * R, A] of the seat that learns."""
    for line in range(entering, len(parent)):
        above, a = parent[line], action[line]
        if seat[above] == learns:
            for r in range(len(kept)):
                hand, at = kept[r], row[above] * len(kept) + r
                regret = regrets[at, a] + worth[line, hand] - worth[above, hand]
                regrets[at, a] = regret * (keep if regret > 0 else cut)
                sums[at, a] += weight * reach[above, learns, hand] * policy[at, a]
