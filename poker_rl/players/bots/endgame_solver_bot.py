"""Bot that plays as a trained player until the last street, and solves the rest of the hand there.

When the last street begins, each seat has a range: the probability of each hand that it may hold,
given its past actions, if it has played as the trained player. With these ranges the betting of the
last street is a small game, in which discounted CFR (arXiv:1809.04040) approximates an equilibrium.
The equilibrium has action probabilities for every hand; the bot plays those of the hand it holds.
Solving endgames with the ranges of a precomputed strategy is from Ganzfried and Sandholm, "Endgame
solving in large imperfect-information games" (2015).

If the other seat's real range is different, it could win more from this solution than from the
trained player. Re-solving (Burch et al., arXiv:1303.4441) prevents this by another game: the other
seat gets a uniformly random hand, with which it may opt out of the street. If it opts out, it wins
what a best response to the trained player would win with this hand. A solution of this game is
safe, but need not be better than the trained player. The bot solves a mixture of the two games:
with probability `range_share` the other seat gets a hand of its range and can't opt out; otherwise
it gets a random hand and may opt out. Because of the mixture and the finite number of iterations,
the solution is only approximately safe.

Where any amount may be bet, only a few sizes of raises are considered. After a raise of another
size, by either seat, the street is solved again with this raise (`endgame_betting_lines`).

Before the last street, one kind of decision is solved too: to call or to fold if the other seat
has moved all-in. Such an all-in is rare in training, so the trained player's answer is often bad.
Here the other seat has, before its all-in, a hand of its range with probability `range_share`, and
otherwise a random hand. The module `all_in_call_solver` explains the solved game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from poker_rl.config.input_checks import ConfigError, PositiveFloat, PositiveInt, Probability
from poker_rl.games.game import Game
from poker_rl.games.poker.no_limit_poker import NoLimitPoker
from poker_rl.games.poker.table_dtypes import CALL, FOLD, RAISE
from poker_rl.games.public import betting_lines
from poker_rl.games.public.expected_win_margins import compute_win_margins
from poker_rl.games.public.ranges import PrivateHands
from poker_rl.games.public.tree import BoardEnumerator, check_heads_up_poker
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.players.bots.all_in_call_solver import compute_all_in_call_probs
from poker_rl.players.bots.bot import Bot
from poker_rl.players.bots.endgame_betting_lines import (
    EndgameBettingLines,
    enumerate_endgame_street_lines,
    find_nearest_action,
)
from poker_rl.players.bots.endgame_cfr import compute_response_values, run_discounted_cfr
from poker_rl.players.player import compute_checked_probs
from poker_rl.players.player_loader import load_search_base_player
from poker_rl.players.range_policy import RangePolicyQuery

MAX_CACHED_BYTES = 2**28  # if the cached solutions take more, all of them are dropped
MAX_CACHED_ALL_INS = 2**13  # results of 10 kB each; if there are more, all of them are dropped
MAX_CACHED_BOARDS = 16  # boards whose arrays over pairs of hands are cached, up to 14 MB each
EXPLORATION = 1e-3  # share of uniform play assumed for past actions, so that no range is empty


@dataclass(frozen=True)
class EndgameSolution:
    """Solution of the last street for one seat."""

    lines: EndgameBettingLines
    # Probabilities [D, K, R] of K choices at the D decisions with each of the R hands that share no
    # card with the board. Use only those of the seat's own decisions.
    policy: np.ndarray
    row_of_hand: np.ndarray  # index of each of all hands among these R hands, 0 for others, [H]


@dataclass(kw_only=True)
class EndgameSolverBot(Bot):
    """Bot for heads-up poker that solves the last street and decisions against an earlier all-in.

    Its other decisions are those of the player `policy`.
    """

    policy: str  # spec of the player of the earlier streets, which determines both seats' ranges
    iterations: PositiveInt  # number of iterations of discounted CFR
    range_share: Probability  # probability that the other seat gets a hand of its range, else any
    # Sizes of raises, as in `NoLimitPoker`, if the game allows any amount; else null.
    bet_sizes: list[PositiveFloat | Literal["all_in"]] | None
    option_folders: InitVar[Sequence[Path] | None] = None  # where `policy` is looked up by name

    def __post_init__(self, game: Game, option_folders: Sequence[Path] | None) -> None:
        super().__post_init__(game)
        poker_game = check_heads_up_poker(game)
        self._sized_game: Game | None = None
        if isinstance(poker_game, NoLimitPoker) and not poker_game.bet_sizes:
            if not self.bet_sizes:
                raise ConfigError(f"bet_sizes: not given; {game.name} allows bets of any amount")
            self._sized_game = replace(poker_game, bet_sizes=self.bet_sizes)
        elif self.bet_sizes is not None:
            raise ConfigError(
                f"bet_sizes: has to be null, since {game.name} does not allow raises of any amount"
            )
        self._player = load_search_base_player(self.policy, game, self, option_folders)
        self._poker_game, self._private_hands = poker_game, PrivateHands(poker_game)
        self.is_suit_invariant = self._player.is_suit_invariant
        self._boards = BoardEnumerator(poker_game, self._private_hands, self.is_suit_invariant)
        self._range_query = RangePolicyQuery(game, self._private_hands, self._boards)
        self._last_street = len(poker_game.board_cards) - 1
        self._solutions: dict[bytes, EndgameSolution] = {}
        self._call_probs: dict[bytes, np.ndarray] = {}
        self._pair_arrays: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        is_solved = records["street"] == self._last_street
        is_solved |= self._is_final_fold_or_call(records)
        probs = np.empty((len(records), self._game.action_count))
        if is_solved.any():
            probs[is_solved] = self._compute_solved_probs(records[is_solved])
        if not is_solved.all():
            others = records[~is_solved]
            probs[~is_solved] = compute_checked_probs(self._game, self._player, others)
        return probs

    def _is_final_fold_or_call(self, records: np.ndarray) -> np.ndarray:
        """Return a mask [B] of the tables where each choice, a fold or a call, ends the betting."""
        tables = tables_from_records(self._game, records.copy())
        legal_mask = tables.legal_mask()
        may_not_raise = legal_mask[:, FOLD] & ~legal_mask[:, RAISE:].any(1)
        rows = np.flatnonzero(may_not_raise)
        tables.step(np.full(len(rows), CALL), rows)
        # A blind may be all-in before the first action; `policy` decides then.
        is_after_action = records["moves"] > 0
        return np.asarray(may_not_raise & is_after_action & (tables.records["over"] == 1))

    def _compute_solved_probs(self, records: np.ndarray) -> np.ndarray:
        """Return the solutions' action probabilities at B tables, [B, A]."""
        game = self._poker_game
        board_start = game.seats * game.hole_cards
        public_cards = records["deck"][:, board_start : game.cards_dealt].astype(np.int64)
        shown_count = np.cumsum(game.board_cards)[records["street"]]
        public_cards[np.arange(public_cards.shape[1]) >= shown_count[:, None]] = -1
        is_played = np.arange(records["line"].shape[1]) < records["moves"][:, None]
        line = records["line"] * is_played  # clears cells with actions of an earlier hand
        public_states = np.hstack([line, records["moves"][:, None], public_cards])
        _, first_row, state_of_row = np.unique(
            public_states, axis=0, return_index=True, return_inverse=True
        )
        deck_position = records["to_act"][:, None] * game.hole_cards + np.arange(game.hole_cards)
        hole_cards = np.take_along_axis(records["deck"], deck_position.astype(np.int64), axis=1)
        hand = self._private_hands.hand_index[tuple(np.sort(hole_cards, axis=1).T)]
        probs = np.zeros((len(records), self._game.action_count))
        for state, row in enumerate(first_row):
            rows = np.flatnonzero(state_of_row.ravel() == state)
            past_tables = self._rebuild_past_tables(records[row : row + 1])
            board_cards = public_cards[row, : shown_count[row]]
            if records["street"][row] == self._last_street:
                solution, decision = self._find_solution_and_decision(past_tables, board_cards)
                choices = np.flatnonzero(solution.lines.street.legal_mask[decision])
                policy = solution.policy[decision][:, solution.row_of_hand[hand[rows]]]
                probs[rows, solution.lines.actions[decision, choices][:, None]] = policy[choices]
            else:
                call_probs = self._get_own_call_probs(past_tables, board_cards)[hand[rows]]
                probs[rows, CALL], probs[rows, FOLD] = call_probs, 1 - call_probs
        return probs

    def _rebuild_past_tables(self, record: np.ndarray) -> np.ndarray:
        """Return the M + 1 past states of the table `record` [1]: before each action, and now."""
        moves = int(record["moves"][0])
        tables = Tables(self._game, moves + 1, 0)
        tables.deal(decks=np.repeat(record["deck"], moves + 1, axis=0))
        tables.replay(np.repeat(record["line"], moves + 1, axis=0), np.arange(moves + 1))
        return tables.records

    def _find_solution_and_decision(
        self, past_tables: np.ndarray, board_cards: np.ndarray
    ) -> tuple[EndgameSolution, int]:
        """Return a solution that contains the present decision, and the index of this decision.

        The solution is for the seat to act; the index is in `solution.lines.street.decision_lines`.
        `past_tables` is the result of `_rebuild_past_tables`, so its last table is the present one.
        """
        start_move = int(np.argmax(past_tables["street"] == self._last_street))
        moves, own_seat = len(past_tables) - 1, int(past_tables["to_act"][-1])
        actions = past_tables["line"][-1, :moves].astype(np.int64)
        included_moves = start_move
        while True:
            solution = self._get_solution(
                own_seat, past_tables[: start_move + 1], actions[:included_moves], board_cards
            )
            line = 0
            for move in range(start_move, moves):
                next_line = solution.lines.line_after_action.get((line, int(actions[move])))
                if next_line is None:
                    break
                line = next_line
            else:
                decision = np.searchsorted(solution.lines.street.decision_lines, line)
                return solution, int(decision)
            included_moves = move + 1  # solve the street again, with this raise included

    def _get_solution(
        self, own_seat: int, past_tables: np.ndarray, actions: np.ndarray, board_cards: np.ndarray
    ) -> EndgameSolution:
        """Return the result of `_solve_last_street` from the cache; compute it if missing."""
        key = bytes([own_seat]) + actions.tobytes() + board_cards.tobytes()
        if key not in self._solutions:
            cached_bytes = sum(solution.policy.nbytes for solution in self._solutions.values())
            if cached_bytes > MAX_CACHED_BYTES:
                self._solutions.clear()
            solution = self._solve_last_street(own_seat, past_tables, actions, board_cards)
            self._solutions[key] = solution
        return self._solutions[key]

    def _solve_last_street(
        self, own_seat: int, past_tables: np.ndarray, actions: np.ndarray, board_cards: np.ndarray
    ) -> EndgameSolution:
        """Solve the last street for `own_seat`.

        `past_tables` [M + 1] has the table before each of the M actions on the earlier streets, and
        then the table at the start of the last street. `actions` has these M actions, and then
        those taken so far on the last street, which the solved game has to include.
        """
        past_actions, included_actions = np.split(actions, [len(past_tables) - 1])
        hands = np.flatnonzero(self._private_hands.mask_compatible_hands(board_cards))  # R hands
        ranges = self._compute_ranges(past_tables[:-1], past_actions, board_cards)[:, hands]
        row_of_hand = np.zeros(len(self._private_hands.hands), np.int64)
        row_of_hand[hands] = np.arange(len(hands))
        lines = enumerate_endgame_street_lines(
            self._game, self._sized_game, past_tables[-1:], included_actions
        )
        street = lines.street
        *terminals, all_hands, hand_order, strengths = betting_lines.pack_terminal_arrays(
            street, self._private_hands, board_cards
        )
        terminal_arrays = *terminals, all_hands[hands], row_of_hand[hand_order], strengths
        arrays = betting_lines.pack_line_arrays(street), terminal_arrays
        board = self._boards.build_board_of_each_street(board_cards)[self._last_street]
        own_decisions = np.flatnonzero(street.seat[street.decision_lines] == own_seat)
        query = self._player, street.decision_records[own_decisions], [board]
        ((own_policy,),) = self._range_query.iterate_board_policy_batches(*query)
        choice_probs = lines.convert_actions_to_choices(own_decisions, own_policy.probs)
        policy = choice_probs[:, own_policy.hands.representative_of_hand[hands]]
        policy = policy.transpose(0, 2, 1).copy()
        opt_out_values = compute_response_values(*arrays, policy, ranges, own_seat)
        other_seat = ranges, own_seat, self.range_share, opt_out_values
        solution = run_discounted_cfr(*arrays, street.legal_mask, *other_seat, self.iterations)
        return EndgameSolution(lines, solution.astype(np.float32), row_of_hand)

    def _get_own_call_probs(self, past_tables: np.ndarray, board_cards: np.ndarray) -> np.ndarray:
        """Return the result of `_solve_all_in` from the cache; compute it if missing.

        `past_tables` is the result of `_rebuild_past_tables`; `board_cards` are those dealt so far.
        """
        moves = len(past_tables) - 1
        key = past_tables["line"][-1, :moves].tobytes() + board_cards.tobytes()
        if key not in self._call_probs:
            if len(self._call_probs) >= MAX_CACHED_ALL_INS:
                self._call_probs.clear()
            self._call_probs[key] = self._solve_all_in(past_tables, board_cards)
        return self._call_probs[key]

    def _solve_all_in(self, past_tables: np.ndarray, board_cards: np.ndarray) -> np.ndarray:
        """Return the probability of calling the all-in at the last table with each hand, [H]."""
        before, now = past_tables[-2], past_tables[-1]
        own_seat, other_seat = int(now["to_act"]), int(before["to_act"])
        actions = now["line"][: len(past_tables) - 2].astype(np.int64)
        ranges = self._compute_ranges(past_tables[:-2], actions, board_cards)
        board = self._boards.build_board_of_each_street(board_cards)[now["street"]]
        hands = np.flatnonzero(self._private_hands.mask_compatible_hands(board_cards))
        ranges = ranges[:, hands].astype(np.float32)
        after_call = tables_from_records(self._game, past_tables[-1:].copy())
        after_call.step(np.array([CALL]))
        other_range = self.range_share * ranges[other_seat]
        other_range += (1 - self.range_share) / len(hands)
        call_probs = compute_all_in_call_probs(
            *(*self._get_pair_arrays(board_cards, hands), ranges[own_seat], other_range),
            called=float(after_call.records["paid"][0, :2].min()),
            folded=float(now["paid"][own_seat]),
            checked=float(before["paid"][:2].max()),
            other_folded=float(before["paid"][other_seat]),
            iterations=self.iterations,
        )
        # Equivalent hands get their mean, since win margins from sampled boards differ a little.
        representatives, representative_of_hand = self._boards.find_hand_representatives(board)
        group = representative_of_hand[hands]
        sums = np.bincount(group, call_probs, len(representatives))
        means = sums / np.bincount(group, minlength=len(representatives))
        return np.where(representative_of_hand >= 0, means[representative_of_hand], 0.0)

    def _get_pair_arrays(
        self, board_cards: np.ndarray, hands: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return for R hands `win_margins` and `is_disjoint` of `compute_all_in_call_probs`."""
        key = board_cards.tobytes()
        if key not in self._pair_arrays:
            if len(self._pair_arrays) >= MAX_CACHED_BOARDS:
                self._pair_arrays.clear()
            generator = np.random.Generator(np.random.PCG64(0))
            arguments = self._poker_game, self._private_hands, hands, board_cards, generator
            arrays = compute_win_margins(*arguments), self._private_hands.mask_disjoint_hands(hands)
            win_margins, is_disjoint = (array[:, hands].astype(np.float32) for array in arrays)
            self._pair_arrays[key] = win_margins, is_disjoint
        return self._pair_arrays[key]

    def _compute_ranges(
        self, past_tables: np.ndarray, actions: np.ndarray, board_cards: np.ndarray
    ) -> np.ndarray:
        """Return each seat's range, [2, H]: the probability of each hand, given past actions."""
        reach = np.ones((2, len(self._private_hands.hands)))
        reach *= self._private_hands.mask_compatible_hands(board_cards)
        legal_mask = tables_from_records(self._game, past_tables.copy()).legal_mask()
        uniform = 1 / legal_mask.sum(1)
        boards = self._boards.build_board_of_each_street(board_cards)
        for street in np.unique(past_tables["street"]):
            moves = np.flatnonzero(past_tables["street"] == street)
            query = self._player, past_tables[moves], [boards[street]]
            ((policy,),) = self._range_query.iterate_board_policy_batches(*query)
            for move, probs in zip(moves, policy.probs, strict=True):
                action, played = int(actions[move]), np.flatnonzero(probs.any(0))
                if action >= RAISE and played[-1] >= RAISE:
                    # If the player never makes this raise, take the nearest that it makes.
                    action = played[find_nearest_action(played, action)]
                prob_of_hand = probs[policy.hands.representative_of_hand, action]
                prob_of_hand += EXPLORATION * (uniform[move] - prob_of_hand)
                seat = past_tables["to_act"][move]
                reach[seat] *= prob_of_hand / (reach[seat] @ prob_of_hand)
        return np.asarray(reach / reach.sum(1, keepdims=True))
