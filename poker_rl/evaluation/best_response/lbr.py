"""Local best response (LBR): a lower bound on exploitability in games of any size.

Lisy and Bowling, "Equilibrium approximation quality of current no-limit poker bots",
arXiv:1612.07547. The responder knows the player's policy, and so the probability of each hand that
the player may hold. It takes the action that would be best if both seats only checked and called
afterwards, except that the player may fold to a raise.

Unlike in the paper, the player is dealt no cards: values and probabilities are means over the hands
that it may hold. The responder plays several hands on each board, and their mean is one sample of
the confidence interval. The win margin of two hands is the probability that the first one wins a
showdown minus the probability that it loses. It is computed over all boards that may still come or,
before a flop, over a sample of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import comb

import numpy as np

from poker_rl.evaluation.best_response.win_margins import compute_win_margins
from poker_rl.games.game import Game
from poker_rl.games.poker.record_dtypes import CALL, FOLD, FULL_POT, RAISE
from poker_rl.games.public.ranges import Ranges
from poker_rl.games.public.tree import Board, Boards, check_heads_up
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.players.player import Player, sample_from_probs
from poker_rl.players.range_policy import RangePolicyQuery, RepresentativeHands

MAX_HANDS_PER_BOARD = 64
# Raise sizes that the responder considers in games without listed bet sizes: half pot and pot.
POT_RAISE_SIZES = (FULL_POT // 2, FULL_POT)


@dataclass
class PublicState:
    """Public state, with cached arrays for H hands of the player and R hands of the responder."""

    record: np.ndarray  # record of a table in this state, [1]; its cards are ignored
    reach: np.ndarray  # probability that the player's own actions lead here with each hand, [H]
    # Next states by action. States that follow a new board card are not stored here.
    children: dict[int, PublicState] = field(default_factory=dict)
    # The player's action probabilities with each of its hands, [A, H]; None until computed.
    action_probs: np.ndarray | None = None
    # The responder's best action with each of its hands, [R]; None until computed.
    best_actions: np.ndarray | None = None


@dataclass(frozen=True)
class ResponderView:
    """Arrays of one board for R hands of the responder and H hands of the player."""

    representative_hands: RepresentativeHands  # the hands for which the player's policy is computed
    # [R, H]: 1 if the player's hand shares no card with the responder's hand or the board, else 0
    is_disjoint: np.ndarray
    # [R, H]: probability that the responder's hand wins a showdown minus probability that it loses
    win_margins: np.ndarray


class LocalBestResponse:
    """Local best response to a player of heads-up poker.

    The player must have a single instance. `seed` fixes the boards, the responder's hands and the
    player's actions. Public states before any board card are computed once and kept for all boards.
    """

    def __init__(self, game: Game, player: Player, seed: int) -> None:
        self.game, self.player = check_heads_up(game), player
        self.generator = np.random.Generator(np.random.PCG64(seed))
        self.ranges = Ranges(self.game)
        self.boards = Boards(self.game, self.ranges, player.is_suit_invariant)
        self.range_policy = RangePolicyQuery(game, self.ranges, self.boards)
        tables = Tables(game, 1, 0)
        tables.deal()
        self._start_record = tables.records
        self._root_states: dict[int, PublicState] = {}

    def play_random_board(self, hand_count: int) -> float:
        """Sample a board and return the responder's mean winnings on it, in chips a hand.

        It plays each of `hand_count` random hands (at most `max_hand_count`) once in each seat.
        """
        cards = self.generator.permutation(self.game.deck_size)
        board_cards = cards[: sum(self.game.board_cards)]
        possible_hands = np.flatnonzero(self.ranges.mask_compatible_hands(board_cards))
        own_hands = self.generator.permutation(possible_hands)[:hand_count]
        play = ResponderPlay(self, board_cards, own_hands)
        return float(np.mean([play.play_seat(seat) for seat in (0, 1)]))

    @property
    def max_hand_count(self) -> int:
        """The number of hands that share no card with a complete board."""
        remaining_cards = self.game.deck_size - sum(self.game.board_cards)
        return comb(remaining_cards, self.game.hole_cards)

    def get_root_state(self, seat: int) -> PublicState:
        """Return the public state before the first move for a responder in this seat."""
        if seat not in self._root_states or self.game.board_cards[0]:
            reach = np.ones(len(self.ranges.hands))
            self._root_states[seat] = PublicState(self._start_record, reach)
        return self._root_states[seat]

    @cached_property
    def preflop_view(self) -> ResponderView:
        """The `ResponderView` of the empty board, for all hands of the responder."""
        return self.build_view(self.boards.root, np.arange(len(self.ranges.hands)))

    def build_view(self, board: Board, own_hands: np.ndarray) -> ResponderView:
        """Return a board's `ResponderView` for R own hands, given as indices in `Ranges.hands`."""
        is_disjoint = self.ranges.mask_disjoint_hands(own_hands)
        is_disjoint = is_disjoint & self.ranges.mask_compatible_hands(board.cards)
        return ResponderView(
            self.range_policy.find_representative_hands(board),
            is_disjoint.astype(np.float64),
            compute_win_margins(self.game, self.ranges, own_hands, board.cards, self.generator),
        )

    def compute_next_record(self, record: np.ndarray, action: int) -> np.ndarray:
        """Return a copy of a table's record [1] with an action applied."""
        tables = tables_from_records(self.game, record.copy())
        tables.step(np.array([action]))
        return tables.records

    def list_considered_raises(self, record: np.ndarray) -> list[int]:
        """Return the raise actions that the responder considers at a table with this record.

        In games with listed bet sizes, these are all legal raises. In games that permit any amount,
        they are the smallest and the largest legal raise and those of `POT_RAISE_SIZES`.
        """
        legal_mask = tables_from_records(self.game, record).legal_mask()[0]
        legal_raises = np.flatnonzero(legal_mask[RAISE:]) + RAISE
        if self.game.raise_size_options != [] or not len(legal_raises):
            return [int(action) for action in legal_raises]
        table, min_raise, max_raise = record[0], int(legal_raises[0]), int(legal_raises[-1])
        price = int(table["price"])
        pot = price - int(table["paid"][table["to_act"]]) + int(table["paid"][:2].sum())
        pot_raises = {
            min(max(price + size * pot // FULL_POT, min_raise), max_raise)
            for size in POT_RAISE_SIZES
        }
        return sorted({min_raise, max_raise} | pot_raises)


class ResponderPlay:
    """Play of the responder with G hands on one board.

    `board_cards` is the complete board. `own_hands` [G] are the responder's hands, as indices in
    `Ranges.hands`. The argument `hand_rows` of methods selects hands by their index in `own_hands`.
    """

    def __init__(
        self, responder: LocalBestResponse, board_cards: np.ndarray, own_hands: np.ndarray
    ) -> None:
        self._responder, self._own_hands = responder, own_hands
        self._boards = responder.boards.list_boards_by_street(board_cards)
        self._views_by_street: dict[int, ResponderView] = {}
        # On every street, the player's mean policy and the payoffs leave out its hands that share a
        # card with the final board. The responder does not know that board: it chooses its actions
        # by the board cards of the present street alone.
        last_street = len(self._boards) - 1
        view, rows = self._get_responder_view(last_street), self.get_hand_rows_in_view(last_street)
        self._is_disjoint, self._win_margins = view.is_disjoint[rows], view.win_margins[rows]

    def play_seat(self, seat: int) -> float:
        """Play all hands of the responder in a seat; return their mean winnings in chips."""
        payoffs = np.empty(len(self._own_hands))
        root = self._responder.get_root_state(seat)
        self._play_from_state(root, seat, np.arange(len(self._own_hands)), payoffs)
        return float(payoffs.mean())

    def _get_responder_view(self, street: int) -> ResponderView:
        board = self._boards[street]
        if not len(board.cards):
            return self._responder.preflop_view
        if street not in self._views_by_street:
            self._views_by_street[street] = self._responder.build_view(board, self._own_hands)
        return self._views_by_street[street]

    def get_hand_rows_in_view(self, street: int) -> np.ndarray:
        """Return the row that each of the G hands has in the `ResponderView` of a street, [G]."""
        has_board = len(self._boards[street].cards)
        return np.arange(len(self._own_hands)) if has_board else self._own_hands

    def _play_from_state(
        self, state: PublicState, seat: int, hand_rows: np.ndarray, payoffs_out: np.ndarray
    ) -> None:
        """Play the responder's hands `hand_rows` [n] from a public state to the end of the hand.

        Write the chips that each of them wins into its entry of `payoffs_out` [G].
        """
        table = state.record[0]
        if table["over"]:
            payoffs_out[hand_rows] = self.compute_payoffs(state, seat, hand_rows)
            return
        if table["to_act"] == seat:
            view_rows = self.get_hand_rows_in_view(table["street"])[hand_rows]
            actions = self.choose_actions(state, seat)[view_rows]
        else:
            # One random number for all hands: most of them then face the same action, so that fewer
            # public states have to be evaluated.
            uniform = np.full(len(hand_rows), self._responder.generator.random())
            actions = sample_from_probs(self.compute_mean_player_probs(state, hand_rows), uniform)
        for action in np.unique(actions):
            child = self.get_child_state(state, int(action))
            self._play_from_state(child, seat, hand_rows[actions == action], payoffs_out)

    def get_child_state(self, state: PublicState, action: int) -> PublicState:
        """Return the state after an action; needs `state.action_probs` if the player takes it."""
        if action in state.children:
            return state.children[action]
        probs = state.action_probs
        reach = state.reach if probs is None else state.reach * probs[action]
        child = PublicState(self._responder.compute_next_record(state.record, action), reach)
        street, child_street = int(state.record[0]["street"]), int(child.record[0]["street"])
        if len(self._boards[street].cards) == len(self._boards[child_street].cards):
            state.children[action] = child
        return child

    def _get_action_probs(self, state: PublicState) -> np.ndarray:
        if state.action_probs is None:
            hands = self._get_responder_view(int(state.record[0]["street"])).representative_hands
            query = self._responder.player, state.record, hands
            state.action_probs = self._responder.range_policy.compute_probs(*query)[0]
        return state.action_probs

    def choose_actions(self, state: PublicState, seat: int) -> np.ndarray:
        """Return the responder's best action with each of its hands, [R]; cache it in `state`."""
        if state.best_actions is not None:
            return state.best_actions
        step, record = self._responder.compute_next_record, state.record
        view = self._get_responder_view(int(record[0]["street"]))
        chips_in = record[0]["paid"][:2].astype(np.float64)
        reach_sum = view.is_disjoint @ state.reach
        record_after_call = step(record, CALL)
        table = record_after_call[0]
        if not table["over"] and table["paid"][table["to_act"]] < table["price"]:
            record_after_call = step(record_after_call, CALL)
        expected_margin = view.win_margins @ state.reach
        actions = [CALL]
        action_values = [expected_margin * compute_showdown_stake(record_after_call)]
        for action in self._responder.list_considered_raises(record):
            raised_state = self.get_child_state(state, action)
            calling_reach = state.reach * (1 - self._get_action_probs(raised_state)[FOLD])
            folding_reach = reach_sum - view.is_disjoint @ calling_reach
            stake = compute_showdown_stake(step(raised_state.record, CALL))
            called_value = stake * (view.win_margins @ calling_reach)
            actions.append(action)
            action_values.append(folding_reach * chips_in[1 - seat] + called_value)
        if chips_in[seat] < chips_in[1 - seat]:
            actions.append(FOLD)
            action_values.append(-chips_in[seat] * reach_sum)
        state.best_actions = np.array(actions)[np.argmax(action_values, 0)]
        return state.best_actions

    def compute_mean_player_probs(self, state: PublicState, hand_rows: np.ndarray) -> np.ndarray:
        """Return the player's policy against each of `hand_rows`, [n, A], a mean over its hands."""
        probs = (self._is_disjoint[hand_rows] * state.reach) @ self._get_action_probs(state).T
        return np.asarray(probs / probs.sum(1, keepdims=True))

    def compute_payoffs(self, state: PublicState, seat: int, hand_rows: np.ndarray) -> np.ndarray:
        """Return the chips that each of `hand_rows` wins, [n], a mean over the player's hands."""
        if state.record[0]["live"] == 1:
            tables = tables_from_records(self._responder.game, state.record)
            return np.full(len(hand_rows), tables.payoffs()[0, seat])
        reach_sum = self._is_disjoint[hand_rows] @ state.reach
        expected_margin = self._win_margins[hand_rows] @ state.reach
        payoffs: np.ndarray = compute_showdown_stake(state.record) * expected_margin / reach_sum
        return payoffs


def compute_showdown_stake(record: np.ndarray) -> float:
    """Return the chips that the loser of a heads-up showdown pays to the winner."""
    return float(record[0]["paid"][:2].min())
