"""Solver of a call or fold against an all-in, by CFR+ over the hands of both seats.

After the all-in no decision follows, so the solved game has only two decisions. First the other
seat decides with each hand whether to move all-in. If it does not, both seats are assumed to check
or call until the showdown, unless the other seat prefers to fold. After the all-in, the seat to act
calls or folds with each hand. CFR+ (arXiv:1407.5042) approximates an equilibrium of this game.
"""

from __future__ import annotations

import numpy as np

from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.table_dtypes import CALL
from poker_rl.games.public.pairwise_win_margins import compute_win_margins
from poker_rl.games.public.ranges import Ranges
from poker_rl.games.public.tree import Boards
from poker_rl.games.tables import tables_from_records
from poker_rl.players.bots.endgame_solver import EndgameSettings, EndgameSolver

MAX_CACHED_CALLS = 2**13  # 10 kB each; if there are more, all of them are dropped
MAX_CACHED_BOARDS = 16  # boards whose arrays over pairs of hands are kept, 14 MB each
TINY = np.finfo(np.float32).tiny


class AllInCallSolver:
    """Solver of calls of an all-in before the last betting; solutions are cached.

    `solver` computes the ranges of both seats.
    """

    def __init__(
        self,
        game: PokerGame,
        ranges: Ranges,
        boards: Boards,
        solver: EndgameSolver,
        settings: EndgameSettings,
    ) -> None:
        self._game, self._ranges, self._boards = game, ranges, boards
        self._solver, self._settings = solver, settings
        self._call_probs: dict[bytes, np.ndarray] = {}
        self._pair_arrays: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def get_call_probs(self, past_tables: np.ndarray, board_cards: np.ndarray) -> np.ndarray:
        """Return the probability of calling an all-in with each of H hands, [H], from the cache.

        `past_tables` and `board_cards` are those of `EndgameSolver.solve_decision`.
        """
        moves = len(past_tables) - 1
        key = past_tables["line"][-1, :moves].tobytes() + board_cards.tobytes()
        if key not in self._call_probs:
            if len(self._call_probs) >= MAX_CACHED_CALLS:
                self._call_probs.clear()
            self._call_probs[key] = self._solve_all_in(past_tables, board_cards)
        return self._call_probs[key]

    def _solve_all_in(self, past_tables: np.ndarray, board_cards: np.ndarray) -> np.ndarray:
        """Return the probability of calling the all-in at the last of `past_tables`, [H]."""
        before, now = past_tables[-2], past_tables[-1]
        own_seat, other_seat = int(now["to_act"]), int(before["to_act"])
        actions = now["line"][: len(past_tables) - 2].astype(np.int64)
        past = past_tables[:-2], actions
        ranges = self._solver.compute_ranges(own_seat, *past, board_cards)
        board = self._boards.build_boards_from_cards(board_cards)[now["street"]]
        hands = np.flatnonzero(self._ranges.mask_compatible_hands(board_cards))
        ranges = ranges[:, hands].astype(np.float32)
        after_call = tables_from_records(self._game, past_tables[-1:].copy())
        after_call.step(np.array([CALL]))
        other_range = self._settings.range_share * ranges[other_seat]
        other_range += (1 - self._settings.range_share) / len(hands)
        call_probs = solve_all_in(
            *(*self._get_pair_arrays(board_cards, hands), ranges[own_seat], other_range),
            called=float(after_call.records["paid"][0, :2].min()),
            folded=float(now["paid"][own_seat]),
            checked=float(before["paid"][:2].max()),
            other_folded=float(before["paid"][other_seat]),
            iterations=self._settings.iterations,
        )
        # Win margins from a sample of boards differ a little between equivalent hands.
        representatives, representative_of_hand = self._boards.find_hand_representatives(board)
        group = representative_of_hand[hands]
        sums = np.bincount(group, call_probs, len(representatives))
        means = sums / np.bincount(group, minlength=len(representatives))
        return np.where(representative_of_hand >= 0, means[representative_of_hand], 0.0)

    def _get_pair_arrays(
        self, board_cards: np.ndarray, hands: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return `win_margins` and `is_disjoint` of `solve_all_in` for R hands, from the cache."""
        key = board_cards.tobytes()
        if key not in self._pair_arrays:
            if len(self._pair_arrays) >= MAX_CACHED_BOARDS:
                self._pair_arrays.clear()
            generator = np.random.Generator(np.random.PCG64(0))
            arguments = self._game, self._ranges, hands, board_cards, generator
            arrays = compute_win_margins(*arguments), self._ranges.mask_disjoint_hands(hands)
            win_margins, is_disjoint = (array[:, hands].astype(np.float32) for array in arrays)
            self._pair_arrays[key] = win_margins, is_disjoint
        return self._pair_arrays[key]


def solve_all_in(
    win_margins: np.ndarray,
    is_disjoint: np.ndarray,
    own_range: np.ndarray,
    other_range: np.ndarray,
    *,
    called: float,
    folded: float,
    checked: float,
    other_folded: float,
    iterations: int,
) -> np.ndarray:
    """Return the probability of a call with each of R hands, [R].

    Args:
        win_margins: win margin of each hand against each other hand, [R, R]; see
            `pairwise_win_margins.py`. All arrays are float32, which halves the time.
        is_disjoint: 1 for pairs of hands that share no card, else 0, [R, R].
        own_range: probability of each hand of the seat to act, [R].
        other_range: probability of each hand of the other seat before its all-in, [R].
        called: chips that the winner of a showdown wins if the all-in is called.
        folded: chips that the seat to act loses if it folds.
        checked: chips that the winner of a showdown wins if there is no all-in.
        other_folded: chips that the other seat loses if it folds instead of moving all-in.
    """
    # All values are counterfactual: sums over the hands of the seat that does not decide.
    value_without_all_in = np.maximum(
        win_margins @ own_range * checked, is_disjoint @ own_range * -other_folded
    )
    all_in_regrets, call_regrets = np.zeros((2, 2, len(own_range)), np.float32)
    call_prob = np.full(len(own_range), 0.5, np.float32)
    call_prob_sum = np.zeros(len(own_range))
    for iteration in range(1, iterations + 1):
        value_of_all_in = win_margins @ (own_range * call_prob) * called
        value_of_all_in += is_disjoint @ (own_range * (1 - call_prob)) * folded
        all_in_prob = _update_regrets(all_in_regrets, value_of_all_in, value_without_all_in)
        all_in_range = other_range * all_in_prob
        value_of_call = win_margins @ all_in_range * called
        value_of_fold = is_disjoint @ all_in_range * -folded
        call_prob = _update_regrets(call_regrets, value_of_call, value_of_fold)
        call_prob_sum += iteration * call_prob
    return np.asarray(call_prob_sum / (iterations * (iterations + 1) / 2))


def _update_regrets(
    regrets: np.ndarray, first_value: np.ndarray, second_value: np.ndarray
) -> np.ndarray:
    """Update the regrets [2, R] of two actions; return the next probability of the first, [R]."""
    first_prob = _match_regrets(regrets)
    mean_value = first_prob * first_value + (1 - first_prob) * second_value
    regrets += np.stack([first_value, second_value]) - mean_value
    np.maximum(regrets, 0, out=regrets)
    return _match_regrets(regrets)


def _match_regrets(regrets: np.ndarray) -> np.ndarray:
    """Return, for each of R hands, the probability of the first of two actions, [R]."""
    total = regrets.sum(0)
    return np.where(total > 0, regrets[0] / np.maximum(total, TINY), np.float32(0.5))
