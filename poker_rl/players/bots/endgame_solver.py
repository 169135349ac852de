"""Solver of the last streets of heads-up poker for seats that play earlier streets as a player.

The module `endgame_solver_bot` explains the solved games.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from poker_rl.config.input_checks import ConfigError, PositiveFloat, PositiveInt, Probability
from poker_rl.games.game import Game
from poker_rl.games.poker.no_limit_poker import NoLimitPoker
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.table_dtypes import RAISE
from poker_rl.games.public import betting_lines
from poker_rl.games.public.ranges import Ranges
from poker_rl.games.public.tree import Board, Boards
from poker_rl.games.tables import tables_from_records
from poker_rl.players.bots.endgame_cfr import compute_response_values, run_discounted_cfr
from poker_rl.players.bots.endgame_lines import EndgameLines, enumerate_endgame_lines, find_nearest
from poker_rl.players.player import Player
from poker_rl.players.range_policy import RangePolicyQuery

MAX_CACHED_BYTES = 2**28  # if the cached solutions take more, all of them are dropped
EXPLORATION = 1e-3  # share of uniform play assumed for past actions, so that no range is empty

BetSizes = list[PositiveFloat | Literal["all_in"]]  # as in `NoLimitPoker`


@dataclass(kw_only=True)
class StreetSettings:
    """Settings for solving a street."""

    iterations: PositiveInt  # number of iterations of discounted CFR
    range_share: Probability  # probability that the other seat has a hand of its range, else any


@dataclass(kw_only=True)
class TurnSettings(StreetSettings):
    """Settings for solving the street before the last one, together with the last one."""

    river_bet_sizes: BetSizes | None  # like `bet_sizes`, for the last street


@dataclass(kw_only=True)
class EndgameSettings(StreetSettings):
    """Settings for solving the last street and, with `turn`, the one before it."""

    bet_sizes: BetSizes | None  # sizes of raises if the game allows any amount, else null
    turn: TurnSettings | None


@dataclass(frozen=True)
class EndgameSolution:
    """Solution of a street for one seat."""

    lines: EndgameLines
    # Probabilities [C, K, R] of K choices at the street's C decisions with each of R possible
    # hands. Those of the other seat only serve to estimate its range.
    policy: np.ndarray
    row_of_hand: np.ndarray  # index of each hand among the possible hands, 0 for others, [H]


class EndgameSolver:
    """Solver of the last streets for seats that play as `player` before `first_street`.

    Solutions are cached for later decisions.
    """

    def __init__(
        self,
        game: PokerGame,
        ranges: Ranges,
        boards: Boards,
        player: Player,
        settings: EndgameSettings,
    ) -> None:
        self._game, self._ranges, self._boards, self._player = game, ranges, boards, player
        self._settings, self._range_query = settings, RangePolicyQuery(game, ranges, boards)
        self._last_street = self.first_street = len(game.board_cards) - 1
        self._sized_game = restrict_bet_sizes(game, settings.bet_sizes, "bet_sizes")
        if settings.turn is not None:
            if len(game.board_cards) == 1 or game.board_cards[-1] > 1:
                limit = "two streets or more, the last of which begins with at most one card"
                raise ConfigError(f"turn: has to be null, since {game.name} does not have {limit}")
            self.first_street -= 1
            sizes = settings.turn.river_bet_sizes
            self._river_game = restrict_bet_sizes(game, sizes, "turn.river_bet_sizes")
        self._solutions: dict[bytes, EndgameSolution] = {}

    def solve_decision(
        self, own_seat: int, past_tables: np.ndarray, board_cards: np.ndarray
    ) -> tuple[EndgameSolution, int]:
        """Return a solution for `own_seat` with the decision at the last table, and its index.

        `past_tables` has the table before each of the M past actions and after the last, [M + 1];
        `board_cards` are those dealt so far.
        """
        moves, street = len(past_tables) - 1, past_tables["street"][-1]
        start_move = int(np.argmax(past_tables["street"] == street))
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
                return solution, solution.lines.find_decision(line)
            included_moves = move + 1  # solve the street again, with this raise included

    def _get_solution(
        self, own_seat: int, past_tables: np.ndarray, actions: np.ndarray, board_cards: np.ndarray
    ) -> EndgameSolution:
        """Return the result of `_solve_street`, which is cached."""
        key = bytes([own_seat]) + actions.tobytes() + board_cards.tobytes()
        if key not in self._solutions:
            solution = self._solve_street(own_seat, past_tables, actions, board_cards)
            cached_bytes = sum(each.policy.nbytes for each in self._solutions.values())
            if cached_bytes > MAX_CACHED_BYTES:
                self._solutions.clear()
            self._solutions[key] = solution
        return self._solutions[key]

    def _solve_street(
        self, own_seat: int, past_tables: np.ndarray, actions: np.ndarray, board_cards: np.ndarray
    ) -> EndgameSolution:
        """Solve a street for `own_seat`.

        `past_tables` [M + 1] has the table before each of the M actions on the earlier streets, and
        then the table at the start of the street. `actions` has these M actions, and then those
        taken so far on this street, which the solved game has to include.
        """
        past_actions, included_actions = np.split(actions, [len(past_tables) - 1])
        hands = np.flatnonzero(self._ranges.mask_compatible_hands(board_cards))  # R hands
        past = past_tables[:-1], past_actions
        ranges = self.compute_ranges(own_seat, *past, board_cards)[:, hands]
        row_of_hand = np.zeros(len(self._ranges.hands), np.int64)
        row_of_hand[hands] = np.arange(len(hands))
        street_index, turn = int(past_tables["street"][-1]), self._settings.turn
        settings: StreetSettings = self._settings
        sized_games, boards = [self._sized_game], board_cards[None]
        if turn is not None and street_index < self._last_street:
            settings, boards = turn, self._list_last_boards(board_cards)
            sized_games.append(self._river_game)
        lines = enumerate_endgame_lines(self._game, sized_games, past_tables[-1:], included_actions)
        street = lines.street
        sorted_hands, strengths = zip(*map(self._ranges.sort_by_strength, boards), strict=True)
        hand_orders = row_of_hand[np.stack(sorted_hands)]
        is_possible = np.zeros((len(boards), len(hands)))
        np.put_along_axis(is_possible, hand_orders, 1, axis=1)
        line_arrays = betting_lines.pack_line_arrays(street)
        terminals = street.terminal_lines, street.is_fold, street.stakes, self._ranges.hands[hands]
        opt_out_values = np.empty(0)
        if street_index == self._last_street:
            own_decisions = np.flatnonzero(street.seat[street.decision_lines] == own_seat)
            board = self._boards.build_boards_from_cards(board_cards)[street_index]
            query = self._player, street.decision_records[own_decisions], [board]
            ((own_policy,),) = self._range_query.iterate_board_policies(*query)
            choice_probs = lines.to_choice_probs(own_decisions, own_policy.probs)
            policy = choice_probs[:, own_policy.hands.representative_of_hand[hands]]
            policy = policy.transpose(0, 2, 1).copy()
            terminal_arrays = *terminals, hand_orders[0], strengths[0]
            opt_out_values = compute_response_values(
                line_arrays, terminal_arrays, policy, ranges, own_seat
            )
        solution = run_discounted_cfr(
            line_arrays,
            terminals,
            (hand_orders, np.stack(strengths), is_possible),
            street.legal_mask,
            lines.decision_count,
            ranges,
            own_seat,
            settings.range_share,
            opt_out_values,
            sample_boards(len(boards), settings.iterations),
        )
        return EndgameSolution(lines, solution.astype(np.float32), row_of_hand)

    def _list_last_boards(self, board_cards: np.ndarray) -> np.ndarray:
        """Return the boards of the last street that can follow a board, [B, n]."""
        board = self._boards.build_boards_from_cards(board_cards)[self._last_street - 1]
        next_cards, _ = self._boards.encode_new_cards(board, self._last_street)
        return np.hstack([np.tile(board_cards, (len(next_cards), 1)), next_cards])

    def compute_ranges(
        self, own_seat: int, past_tables: np.ndarray, actions: np.ndarray, board_cards: np.ndarray
    ) -> np.ndarray:
        """Return each seat's range, [2, H]: the probability of each hand, given past actions.

        `past_tables` has the table before each of the `actions`. On solved streets, both seats are
        assumed to play the solution for `own_seat`.
        """
        reach = np.ones((2, len(self._ranges.hands)))
        reach *= self._ranges.mask_compatible_hands(board_cards)
        legal_mask = tables_from_records(self._game, past_tables.copy()).legal_mask()
        uniform = 1 / legal_mask.sum(1)
        boards = self._boards.build_boards_from_cards(board_cards)
        for street in np.unique(past_tables["street"]):
            moves = np.flatnonzero(past_tables["street"] == street)
            if street < self.first_street:
                state = past_tables[moves], boards[street]
                probs_of_moves = self._compute_player_probs(*state, actions[moves])
            else:
                probs_of_moves = []
                for move in moves:
                    state = past_tables[: move + 1], boards[street]
                    probs = self._compute_solved_probs(own_seat, *state, int(actions[move]))
                    probs_of_moves.append(probs)
            for move, prob_of_hand in zip(moves, probs_of_moves, strict=True):
                prob_of_hand += EXPLORATION * (uniform[move] - prob_of_hand)
                seat = past_tables["to_act"][move]
                reach[seat] *= prob_of_hand / (reach[seat] @ prob_of_hand)
        return np.asarray(reach / reach.sum(1, keepdims=True))

    def _compute_player_probs(
        self, tables: np.ndarray, board: Board, actions: np.ndarray
    ) -> list[np.ndarray]:
        """Return the probability that the player takes each action with each hand, n times [H].

        `tables` has the table before each of the n actions, which are on the same street.
        """
        ((policy,),) = self._range_query.iterate_board_policies(self._player, tables, [board])
        probs_of_actions = []
        for action, probs in zip(actions, policy.probs, strict=True):
            played = np.flatnonzero(probs.any(0))
            if action >= RAISE and played[-1] >= RAISE:
                # If the player never makes this raise, take the nearest that it makes.
                action = played[find_nearest(played, int(action))]
            probs_of_actions.append(probs[policy.hands.representative_of_hand, action])
        return probs_of_actions

    def _compute_solved_probs(
        self, own_seat: int, past_tables: np.ndarray, board: Board, action: int
    ) -> np.ndarray:
        """Return the probability of an action at the last table with each hand, [H].

        It is that of the solution for `own_seat`, or of the nearest raise that this lists.
        """
        solution, decision = self.solve_decision(own_seat, past_tables, board.cards)
        choice = find_nearest(solution.lines.list_actions(decision), action)
        policy = solution.policy[decision, choice].astype(np.float64)
        return np.asarray(policy[solution.row_of_hand])


def sample_boards(board_count: int, iterations: int) -> np.ndarray:
    """Return the board of each iteration, [iterations]: all boards in turn, in random orders."""
    cycles = np.tile(np.arange(board_count), (-(-iterations // board_count), 1))
    generator = np.random.Generator(np.random.PCG64(0))
    return generator.permuted(cycles, axis=1).ravel()[:iterations]


def restrict_bet_sizes(game: PokerGame, bet_sizes: BetSizes | None, key: str) -> Game | None:
    """Return the game with listed sizes of raises, or None if it has few raises anyway.

    Raise ConfigError, which names `key`, if the sizes do not fit the game.
    """
    if isinstance(game, NoLimitPoker) and not game.bet_sizes:
        if not bet_sizes:
            raise ConfigError(f"{key}: not given; {game.name} allows bets of any amount")
        return replace(game, bet_sizes=bet_sizes)
    if bet_sizes is not None:
        message = f"has to be null, since {game.name} does not allow raises of any amount"
        raise ConfigError(f"{key}: {message}")
    return None
