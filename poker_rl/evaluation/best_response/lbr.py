"""Local best response (LBR): a lower bound on exploitability in games of any size.

Lisy and Bowling, "Equilibrium approximation quality of current no-limit poker bots",
arXiv:1612.07547. The responder knows the player's policy, and so the probability of each hand that
the player may hold. It takes the action that would be best if both seats only checked and called
afterwards, except that the player folds to a raise as often as its policy says.

Unlike in the paper, the player is dealt no cards: values and probabilities are means over the hands
that it may hold. The responder plays several hands on each board, and their mean is one sample of
the confidence interval. Showdowns are evaluated over all boards that may still come or, if there
are too many, as before a flop, over a sample of them.

As in AIVAT (Burch et al., arXiv:1612.06915), luck is removed from the winnings, which narrows their
interval and keeps their mean. A hand's value, which the module `lbr_states` defines, counts as 0
before the first decision, and winnings are the sum of its changes at decisions. At a decision of
the player, the change is the mean over its actions. New board cards change the value by 0 on
average, so these changes are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import comb

import numpy as np

from poker_rl.evaluation.best_response.lbr_states import (
    BoardMatchups,
    OwnBestActions,
    PlayerDecision,
    PublicState,
    sum_state_values,
)
from poker_rl.games.game import Game
from poker_rl.games.poker.table_dtypes import CALL, FOLD, FULL_POT, RAISE
from poker_rl.games.public.expected_win_margins import compute_win_margins, samples_boards
from poker_rl.games.public.ranges import PrivateHands
from poker_rl.games.public.tree import Board, BoardEnumerator, check_heads_up_poker
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.players.player import Player, sample_from_probs
from poker_rl.players.range_policy import RangePolicyQuery

MAX_HANDS_PER_BOARD = 64
# Raise sizes that the responder considers in games that permit any amount: half pot and pot.
POT_RAISE_SIZES = (FULL_POT // 2, FULL_POT)


class LocalBestResponse:
    """Local best response to a player of heads-up poker.

    The player's `instance_count` must be 1. `seed` fixes the boards, the responder's hands and the
    player's actions. Public states before any board card are computed once and kept for all boards.
    """

    def __init__(self, game: Game, player: Player, seed: int) -> None:
        self.game, self.player = check_heads_up_poker(game), player
        self.generator = np.random.Generator(np.random.PCG64(seed))
        self.private_hands = PrivateHands(self.game)
        self.boards = BoardEnumerator(self.game, self.private_hands, player.is_suit_invariant)
        self.range_policy = RangePolicyQuery(game, self.private_hands, self.boards)
        tables = Tables(game, 1, 0)
        tables.deal()
        self._start_record = tables.records
        self._root_states: dict[int, PublicState] = {}

    def play_random_board(self, hand_count: int) -> float:
        """Sample a board and return the responder's mean winnings on it, in chips a hand.

        It plays each of `hand_count` random hands once in each seat.
        """
        cards = self.generator.permutation(self.game.deck_size)
        board_cards = cards[: sum(self.game.board_cards)]
        possible_hands = np.flatnonzero(self.private_hands.mask_compatible_hands(board_cards))
        own_hands = self.generator.permutation(possible_hands)[:hand_count]
        play, all_rows = ResponderPlay(self, board_cards, own_hands), np.arange(len(own_hands))
        return float(np.mean([play.play_hands(seat, all_rows) for seat in (0, 1)]))

    @property
    def possible_hand_count(self) -> int:
        """The number of hands that share no card with a complete board."""
        remaining_cards = self.game.deck_size - sum(self.game.board_cards)
        return comb(remaining_cards, self.game.hole_cards)

    def get_root_state(self, seat: int) -> PublicState:
        """Return the public state before the first move for a responder in this seat."""
        if seat not in self._root_states or self.game.board_cards[0]:
            reach = np.ones(len(self.private_hands.hands))
            self._root_states[seat] = PublicState(self._start_record, reach)
        return self._root_states[seat]

    @cached_property
    def empty_board_matchups(self) -> BoardMatchups:
        """The `BoardMatchups` of the empty board, for all hands of the responder."""
        return self.build_board_matchups(self.boards.root, np.arange(len(self.private_hands.hands)))

    def build_board_matchups(self, board: Board, own_hands: np.ndarray) -> BoardMatchups:
        """Return a board's `BoardMatchups` for R own hands, indices in `PrivateHands.hands`."""
        is_disjoint = self.private_hands.mask_disjoint_hands(own_hands)
        is_disjoint = is_disjoint & self.private_hands.mask_compatible_hands(board.cards)
        return BoardMatchups(
            self.range_policy.find_representative_hands(board),
            is_disjoint.astype(np.float64),
            compute_win_margins(
                self.game, self.private_hands, own_hands, board.cards, self.generator
            ),
        )

    def compute_next_records(self, record: np.ndarray, actions: Sequence[int]) -> np.ndarray:
        """Return the table `record` [1] after each of n actions, [n]."""
        tables = tables_from_records(self.game, np.repeat(record, len(actions)))
        tables.step(np.asarray(actions))
        return tables.records

    def list_considered_raises(self, record: np.ndarray) -> list[int]:
        """Return the raise actions that the responder considers at a table with this record.

        In games with fixed or listed bet sizes, these are all legal raises. In games that permit
        any amount, they are the smallest and the largest legal raise and those of
        `POT_RAISE_SIZES`.
        """
        legal_mask = tables_from_records(self.game, record).legal_mask()[0]
        legal_raises = np.flatnonzero(legal_mask[RAISE:]) + RAISE
        if self.game.raise_size_options != [] or not len(legal_raises):
            return legal_raises.tolist()
        table, min_raise, max_raise = record[0], int(legal_raises[0]), int(legal_raises[-1])
        price = int(table["price"])
        pot = price - int(table["paid"][table["to_act"]]) + int(table["paid"][:2].sum())
        pot_raises = price + np.array(POT_RAISE_SIZES) * pot // FULL_POT
        return sorted({min_raise, max_raise, *np.clip(pot_raises, min_raise, max_raise).tolist()})


class ResponderPlay:
    """Play of the responder with G hands on one board.

    `board_cards` is the complete board. `own_hands` [G] are the responder's hands, as indices in
    `PrivateHands.hands`. In methods, `hand_rows` [n] selects n of them by their indices in
    `own_hands`.
    """

    def __init__(
        self, responder: LocalBestResponse, board_cards: np.ndarray, own_hands: np.ndarray
    ) -> None:
        self._responder, self._own_hands = responder, own_hands
        self._boards = responder.boards.build_board_of_each_street(board_cards)
        self._views: dict[tuple[int, bool], BoardMatchups] = {}  # by street and `is_resampled`
        # On every street, the player's actions are sampled from those of its hands that share no
        # card with the final board. The responder does not know the final board: it chooses and
        # values its own actions by the board cards of the present street alone.
        last_street = len(self._boards) - 1
        view, rows = (
            self._get_or_build_matchups(last_street),
            self._get_hand_rows_in_view(last_street),
        )
        self._is_disjoint = view.is_disjoint[rows]

    def play_hands(self, seat: int, hand_rows: np.ndarray) -> np.ndarray:
        """Play hands of the responder in a seat; return the chips that each of them wins, [n]."""
        winnings, root = np.zeros(len(self._own_hands)), self._responder.get_root_state(seat)
        self._play_from_state(root, seat, hand_rows, np.zeros(len(hand_rows)), winnings)
        return np.asarray(winnings[hand_rows])

    def _get_or_build_matchups(self, street: int, is_resampled: bool = False) -> BoardMatchups:
        """Return a street's matchups; if `is_resampled`, from an independent sample of boards."""
        board = self._boards[street]
        if not len(board.cards) and not is_resampled:
            return self._responder.empty_board_matchups
        key = street, is_resampled
        if key not in self._views:
            self._views[key] = self._responder.build_board_matchups(board, self._own_hands)
        return self._views[key]

    def _get_hand_rows_in_view(self, street: int) -> np.ndarray:
        """Return the row that each of the G hands has in the `BoardMatchups` of a street, [G]."""
        has_board = len(self._boards[street].cards)
        return np.arange(len(self._own_hands)) if has_board else self._own_hands

    def _play_from_state(
        self,
        state: PublicState,
        seat: int,
        hand_rows: np.ndarray,
        values: np.ndarray,
        winnings: np.ndarray,
    ) -> None:
        """Play the responder's hands `hand_rows` [n] from a public state to the end of the hand.

        The `winnings` [G] of these hands already include their values in this state, `values` [n].
        Add to `winnings` all later changes of these values by decisions.
        """
        table = state.record[0]
        if table["over"]:
            return
        view_rows = self._get_hand_rows_in_view(table["street"])[hand_rows]
        if table["to_act"] == seat:
            own_best_actions = self.evaluate_own_best_actions(state, seat)
            actions = own_best_actions.actions[view_rows]
            next_values = own_best_actions.values[view_rows]
            winnings[hand_rows] += next_values - values
        else:
            decision = self._get_player_decision(state, seat)
            actions = self.sample_mean_policy_actions(state, hand_rows)
            next_values = decision.values[view_rows, np.searchsorted(decision.actions, actions)]
            winnings[hand_rows] += decision.mean_values[view_rows] - values
        for action in np.unique(actions):
            is_taken = actions == action
            rows, child = hand_rows[is_taken], self.get_child_state(state, int(action))
            child_values = next_values[is_taken]
            if self._must_resample_boards(state, child):
                # The responder chose the actions whose values in a sample of boards are highest.
                # Such values are too high on average; an independent sample replaces them.
                view = self._get_or_build_matchups(table["street"], is_resampled=True)
                winnings[rows] += (
                    self._compute_state_value_by_hand(child, seat, view)[rows] - child_values
                )
            if child.record[0]["street"] != table["street"]:
                view = self._get_or_build_matchups(child.record[0]["street"])
                child_rows = self._get_hand_rows_in_view(child.record[0]["street"])[rows]
                child_values = self._compute_state_value_by_hand(child, seat, view)[child_rows]
            self._play_from_state(child, seat, rows, child_values, winnings)

    def _must_resample_boards(self, state: PublicState, child: PublicState) -> bool:
        """Return whether the values of `child` need other boards than those sampled for `state`.

        True if values in `state` are from a sample of boards, and a card or a showdown comes next.
        """
        street, next_table = int(state.record[0]["street"]), child.record[0]
        card_count, next_board = len(self._boards[street].cards), self._boards[next_table["street"]]
        is_new = next_table["over"] or len(next_board.cards) > card_count
        is_sampled = samples_boards(self._responder.game, card_count)
        return bool(is_sampled and is_new and next_table["live"] > 1)

    def get_child_state(self, state: PublicState, action: int) -> PublicState:
        """Return the state after an action; if the player acts, this needs `state.action_probs`."""
        if action in state.children:
            return state.children[action]
        probs = state.action_probs
        reach = state.reach if probs is None else state.reach * probs[action]
        child = PublicState(self._responder.compute_next_records(state.record, [action]), reach)
        street, child_street = int(state.record[0]["street"]), int(child.record[0]["street"])
        if len(self._boards[street].cards) == len(self._boards[child_street].cards):
            state.children[action] = child
        return child

    def _get_action_probs(self, state: PublicState) -> np.ndarray:
        if state.action_probs is None:
            hands = self._get_or_build_matchups(int(state.record[0]["street"])).representative_hands
            query = self._responder.player, state.record, hands
            state.action_probs = self._responder.range_policy.compute_probs(*query)[0]
        return state.action_probs

    def _compute_state_value_by_hand(
        self, state: PublicState, seat: int, view: BoardMatchups
    ) -> np.ndarray:
        """Return the value of a state to the responder with each of the R hands of `view`, [R]."""
        game, reach = self._responder.game, state.reach[None]
        value_sums = sum_state_values(game, view, state.record, reach, seat)[:, 0]
        return np.asarray(value_sums / view.sum_reach(state.reach))

    def evaluate_own_best_actions(self, state: PublicState, seat: int) -> OwnBestActions:
        """Return the responder's decision in a state; cache it in `state`."""
        if state.own_best_actions is None:
            game, record = self._responder.game, state.record
            view = self._get_or_build_matchups(int(record[0]["street"]))
            paid, reach_sums = record[0]["paid"].astype(np.float64), view.sum_reach(state.reach)

            def sum_values(record: np.ndarray, reach: np.ndarray) -> np.ndarray:
                return np.asarray(sum_state_values(game, view, record, reach[None], seat)[:, 0])

            record_after_call = self._responder.compute_next_records(record, [CALL])
            actions, action_values = [CALL], [sum_values(record_after_call, state.reach)]
            for action in self._responder.list_considered_raises(record):
                raised_state = self.get_child_state(state, action)
                calling_reach = state.reach * (1 - self._get_action_probs(raised_state)[FOLD])
                folding_sums = reach_sums - view.sum_reach(calling_reach)
                called_values = sum_values(raised_state.record, calling_reach)
                actions.append(action)
                action_values.append(folding_sums * paid[1 - seat] + called_values)
            if paid[seat] < paid[1 - seat]:
                actions.append(FOLD)
                action_values.append(-paid[seat] * reach_sums)
            best_actions = np.array(actions)[np.argmax(action_values, 0)]
            best_values = np.max(action_values, 0) / reach_sums
            state.own_best_actions = OwnBestActions(best_actions, best_values)
        return state.own_best_actions

    def _get_player_decision(self, state: PublicState, seat: int) -> PlayerDecision:
        """Return the player's decision in a state; cache it in `state`."""
        if state.player_decision is None:
            view = self._get_or_build_matchups(int(state.record[0]["street"]))
            reach = state.reach * self._get_action_probs(state)
            actions = np.flatnonzero(reach.any(1))
            game, reach = self._responder.game, reach[actions]
            records = self._responder.compute_next_records(state.record, actions.tolist())
            value_sums = sum_state_values(game, view, records, reach, seat)
            mean_values = value_sums.sum(1) / view.sum_reach(state.reach)
            values = value_sums / view.sum_reach(reach)
            state.player_decision = PlayerDecision(actions, values, mean_values)
        return state.player_decision

    def sample_mean_policy_actions(self, state: PublicState, hand_rows: np.ndarray) -> np.ndarray:
        """Sample an action from the player's mean policy against each of `hand_rows`, [n]."""
        # One random number for all hands: most of them then face the same action, so that fewer
        # public states have to be evaluated.
        uniform = np.full(len(hand_rows), self._responder.generator.random())
        return sample_from_probs(self.compute_mean_player_probs(state, hand_rows), uniform)

    def compute_mean_player_probs(self, state: PublicState, hand_rows: np.ndarray) -> np.ndarray:
        """Return the player's policy, averaged over its hands, against `hand_rows`, [n, A]."""
        probs = (self._is_disjoint[hand_rows] * state.reach) @ self._get_action_probs(state).T
        return np.asarray(probs / probs.sum(1, keepdims=True))
