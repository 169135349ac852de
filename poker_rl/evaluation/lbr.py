"""Local best response: a lower bound on what a perfect opponent would win, in games of any size.

Lisy and Bowling, "Equilibrium approximation quality of current no-limit poker bots",
arXiv:1612.07547. The responder knows the player's policy, and so the chance of each hand that the
player may hold. It takes the action that would be best if both only checked and called from then
on, and if the player may fold to a raise before.

Deviations:

- What a showdown pays is the mean over the hands that the player may hold, and so is the chance of
  its actions. No cards are dealt to it.
- The responder plays several hands on each board, which walk down the public tree together: the
  player is asked once where they come to the same state. An interval is over boards.
- Chances to win are counted over all boards that may still come, before a flop over some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import comb

import numpy as np

from poker_rl.evaluation.asking import Asking, Holdings
from poker_rl.evaluation.edges import edges
from poker_rl.games.game import Game
from poker_rl.games.poker.table import CALL, FOLD, POT, RAISE
from poker_rl.games.public.boards import Board, Boards
from poker_rl.games.public.ranges import Ranges
from poker_rl.games.public.tree import heads_up
from poker_rl.games.tables import Tables
from poker_rl.players.player import Player
from poker_rl.players.sampling import draw

HANDS = 64  # on a board, at most
SIZES = (POT // 2, POT)  # raises that are tried where any is legal, between the least and the most


@dataclass
class State:
    """A public state, and what its way there says of the player's hand.

    Attributes:
        record: a table there, whatever its cards, [1].
        reach: for each hand, the chance that the player comes here with it, [H].
        after: the states that actions lead to on the same board, as far as they were needed.
        policy: what the player does here with each hand, [A, H], once it was asked.
        choice: what the responder does here with each of its hands, [R], once that is known.
    """

    record: np.ndarray
    reach: np.ndarray
    after: dict[int, State] = field(default_factory=dict)
    policy: np.ndarray | None = None
    choice: np.ndarray | None = None


@dataclass(frozen=True)
class Sight:
    """What the responder knows on a street with each of R hands.

    Attributes:
        holdings: the hands that the player is asked about.
        apart: 1 for hands that share no card with its own or the board, [R, H].
        edge: what its hands win from each hand, see `edges`, [R, H].
    """

    holdings: Holdings
    apart: np.ndarray
    edge: np.ndarray


class LocalBestResponse:
    """The local best response to a player of a game of poker for two.

    What is known before any board card is kept from deal to deal.

    Args:
        player: of one instance.
        seed: fixes the boards, the hands and the player's actions.

    Raises:
        Refused: if it is another game.
    """

    def __init__(self, game: Game, player: Player, seed: int) -> None:
        self.game, self._player = heads_up(game), player
        self.generator = np.random.Generator(np.random.PCG64(seed))
        self.ranges = Ranges(self.game)
        self.boards = Boards(self.game, self.ranges, player.blind_to_suits)
        self._asking = Asking(game, self.ranges, self.boards)
        self.tables = Tables(game, 1, 0)
        self.tables.deal()
        self._start = self.tables.records.copy()
        self._roots = [self._root(), self._root()]

    def play(
        self, boards: int, hands: int, done: Callable[[int], object] = lambda boards: None
    ) -> np.ndarray:
        """What the responder wins on random boards, chips a hand: the mean on each, [boards].

        On a board it plays the same hands in both seats.

        Args:
            hands: different ones on a board, at most as many as the board leaves.
            done: is told of each board as it is done.
        """
        won = np.empty(boards)
        for i in range(boards):
            won[i] = self._board(hands)
            done(1)
        return won

    def _board(self, hands: int) -> float:
        cards = self.generator.permutation(self.game.cards)[: sum(self.game.board_cards)]
        own = self.generator.permutation(np.flatnonzero(self.ranges.free(cards)))[:hands]
        deal = Deal(self, cards, own)
        return float(np.mean([deal.play(seat, self.root(seat)) for seat in (0, 1)]))

    @property
    def most_hands(self) -> int:
        """How many different hands there can be on a board."""
        left = self.game.cards - sum(self.game.board_cards)
        return comb(left, self.game.hole_cards)

    def root(self, seat: int) -> State:
        """Where hands begin with the responder in a seat."""
        return self._root() if self.game.board_cards[0] else self._roots[seat]

    def _root(self) -> State:
        return State(self._start, np.ones(len(self.ranges.hands)))

    @cached_property
    def first(self) -> Sight:
        """Before any board card, with all hands."""
        return self.sight(self.boards.root, np.arange(len(self.ranges.hands)))

    def sight(self, board: Board, own: np.ndarray) -> Sight:
        """With these hands [R] on a board."""
        apart = (self.ranges.apart(own) & self.ranges.free(board.cards)).astype(np.float64)
        edge = edges(self.game, self.ranges, own, board.cards, self.generator)
        return Sight(self._asking.holdings(board), apart, edge)

    def policy(self, state: State, sight: Sight) -> np.ndarray:
        """What the player does at a state with each hand, [A, H]."""
        if state.policy is None:
            state.policy = self._asking.chances(self._player, state.record, sight.holdings)[0]
        return state.policy

    def step(self, record: np.ndarray, action: int) -> np.ndarray:
        """The table [1] after an action."""
        self.tables.use(record.copy())
        self.tables.step(np.array([action]))
        return self.tables.records

    def raises(self, record: np.ndarray) -> list[int]:
        """The raises that the responder tries at a table [1].

        Where any amount is legal they are the least, the most and `SIZES`, else all there are.
        """
        self.tables.use(record)
        legal = np.flatnonzero(self.tables.legal()[0, RAISE:]) + RAISE
        if self.game.listed_sizes != [] or not len(legal):
            return [int(action) for action in legal]
        table, least, most = record[0], int(legal[0]), int(legal[-1])
        price = int(table["price"])
        pot = price - int(table["paid"][table["to_act"]]) + int(table["paid"][:2].sum())
        sizes = {min(max(price + size * pot // POT, least), most) for size in SIZES}
        return sorted({least, most} | sizes)


class Deal:
    """The hands of a responder on one board.

    Args:
        cards: of the whole board, [n].
        own: the responder's hands, places among all, [G].
    """

    def __init__(self, responder: LocalBestResponse, cards: np.ndarray, own: np.ndarray) -> None:
        self._responder, self._own = responder, own
        self._boards = responder.boards.along(cards)
        self._sights: dict[int, Sight] = {}
        last = len(self._boards) - 1
        # Given the whole board, the player's hand is any that shares no card with it: so chances of
        # its actions leave out cards that nobody has seen yet, and the responder's beliefs do not.
        self._apart, self._edge = (
            part[self.index(last)] for part in (self._sight(last).apart, self._sight(last).edge)
        )

    def play(self, seat: int, root: State) -> float:
        """What the responder wins in a seat, the mean over its hands, chips."""
        won = np.empty(len(self._own))
        self._walk(root, seat, np.arange(len(self._own)), won)
        return float(won.mean())

    def _sight(self, street: int) -> Sight:
        board = self._boards[street]
        if not len(board.cards):
            return self._responder.first
        if street not in self._sights:
            self._sights[street] = self._responder.sight(board, self._own)
        return self._sights[street]

    def index(self, street: int) -> np.ndarray:
        """The place of each own hand among those of the street's sight, [G]."""
        return self._own if not len(self._boards[street].cards) else np.arange(len(self._own))

    def _walk(self, state: State, seat: int, places: np.ndarray, won: np.ndarray) -> None:
        """Play on from a state with the own hands at these places, and write what they win."""
        table = state.record[0]
        if table["over"]:
            won[places] = self.paid(state, seat, places)
            return
        if table["to_act"] == seat:
            actions = self.choice(state, seat)[self.index(table["street"])[places]]
        else:
            actions = self._drawn(state, places)
        for action in np.unique(actions):
            self._walk(self.after(state, int(action)), seat, places[actions == action], won)

    def after(self, state: State, action: int) -> State:
        """The state that an action leads to; the player's has to have been asked for."""
        if action in state.after:
            return state.after[action]
        reach = state.reach if state.policy is None else state.reach * state.policy[action]
        after = State(self._responder.step(state.record, action), reach)
        street, then = int(state.record[0]["street"]), int(after.record[0]["street"])
        if len(self._boards[street].cards) == len(self._boards[then].cards):
            state.after[action] = after
        return after

    def _policy(self, state: State) -> np.ndarray:
        return self._responder.policy(state, self._sight(int(state.record[0]["street"])))

    def choice(self, state: State, seat: int) -> np.ndarray:
        """What the responder does with each of the hands of its sight, [R].

        All values are chips times the chance of the hands that it may meet.
        """
        if state.choice is not None:
            return state.choice
        step, record = self._responder.step, state.record
        sight = self._sight(int(record[0]["street"]))
        paid = record[0]["paid"][:2].astype(np.float64)
        met, edge = sight.apart @ state.reach, sight.edge @ state.reach
        actions = [CALL]
        called = step(record, CALL)
        table = called[0]
        if not table["over"] and table["paid"][table["to_act"]] < table["price"]:
            called = step(called, CALL)  # the other one has yet to put in as much
        worth = [edge * stake(called)]
        for action in self._responder.raises(record):
            raised = self.after(state, action)
            stays = state.reach * (1 - self._policy(raised)[FOLD])
            folds = met - sight.apart @ stays
            called = stake(step(raised.record, CALL)) * (sight.edge @ stays)
            actions.append(action)
            worth.append(folds * paid[1 - seat] + called)
        if paid[seat] < paid[1 - seat]:
            actions.append(FOLD)
            worth.append(-paid[seat] * met)
        state.choice = np.array(actions)[np.argmax(worth, 0)]
        return state.choice

    def _drawn(self, state: State, places: np.ndarray) -> np.ndarray:
        """An action of the player for each own hand at these places."""
        # The same number for all, so that hands stay together and the player is asked less.
        uniform = np.full(len(places), self._responder.generator.random())
        return draw(self.chances(state, places), uniform)

    def chances(self, state: State, places: np.ndarray) -> np.ndarray:
        """What the player does, against each own hand at these places, [n, A].

        It is the mean over the hands that the player may hold.
        """
        chances = (self._apart[places] * state.reach) @ self._policy(state).T
        return np.asarray(chances / chances.sum(1, keepdims=True))

    def paid(self, state: State, seat: int, places: np.ndarray) -> np.ndarray:
        """What own hands win where hands end, chips: the mean over the player's hands."""
        tables = self._responder.tables
        if state.record[0]["live"] == 1:
            tables.use(state.record)
            return np.full(len(places), tables.payoffs()[0, seat])
        met = self._apart[places] @ state.reach
        edge = self._edge[places] @ state.reach
        won: np.ndarray = stake(state.record) * edge / met
        return won


def stake(record: np.ndarray) -> float:
    """What each seat can lose at a showdown at a table [1] for two, chips."""
    return float(record[0]["paid"][:2].min())
