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

Where any amount may be bet, the last street has far too many betting lines, which are sequences of
actions. So only a few sizes of raises are considered. After a raise of another size, by either
seat, the street is solved again with this raise included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from poker_rl.config.input_checks import ConfigError, PositiveFloat, PositiveInt, Probability
from poker_rl.games.game import Game
from poker_rl.games.poker.no_limit_poker import NoLimitPoker
from poker_rl.games.poker.record_dtypes import RAISE
from poker_rl.games.public import betting_lines
from poker_rl.games.public.ranges import Ranges
from poker_rl.games.public.tree import Boards, check_heads_up
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.players.bet_sizes_player import compute_raise_targets
from poker_rl.players.bots.bot import Bot
from poker_rl.players.bots.endgame_cfr import compute_response_values, run_discounted_cfr
from poker_rl.players.player import compute_checked_probs
from poker_rl.players.player_loader import load_base_player
from poker_rl.players.range_policy import RangePolicyQuery

MAX_CACHED_BYTES = 2**28  # if the cached solutions take more, all of them are dropped
EXPLORATION = 1e-3  # share of uniform play assumed for past actions, so that no range is empty
MAX_SIZED_RAISES = 2  # after so many raises on the street, only the largest raise is enumerated


@dataclass(frozen=True)
class EndgameLines:
    """The betting lines of a street, with choices in place of actions.

    Choice k at a decision is the k-th of the actions enumerated there. `street.action` and the
    columns of `street.legal_mask` are choices. K is the most choices at any of the D decisions.
    """

    street: betting_lines.StreetLines
    actions: np.ndarray  # the action of each choice; arbitrary in unused columns, [D, K]
    line_after_action: dict[tuple[int, int], int]  # index of the line after (line, action)

    def map_to_choices(self, decisions: np.ndarray, probs: np.ndarray) -> np.ndarray:
        """Convert policies at n of the decisions from actions to choices, [n, R, A] -> [D, R, K].

        R is the number of hands. The probability of a raise that is not enumerated is added to that
        of the nearest raise. At the other decisions, the result is 0.
        """
        choice_probs = np.zeros((len(self.actions), probs.shape[1], self.actions.shape[1]))
        played = np.flatnonzero(probs.any((0, 1)))
        for decision, own_probs in zip(decisions, probs, strict=True):
            actions = self.actions[decision, self.street.legal_mask[decision]]
            for action in played[own_probs[:, played].any(0)]:
                choice_probs[decision, :, find_nearest(actions, action)] += own_probs[:, action]
        return choice_probs


@dataclass(frozen=True)
class EndgameSolution:
    """Solution of the last street for one seat."""

    lines: EndgameLines
    # Probabilities [D, R, K] of K choices at the D decisions with each of R possible hands; they
    # are only meant for the seat's own decisions.
    policy: np.ndarray
    row_of_hand: np.ndarray  # index of each hand among the possible hands, 0 for others, [H]


@dataclass(kw_only=True)
class EndgameSolverBot(Bot):
    """Bot for heads-up poker that solves the last street; before it, it plays as `policy`."""

    policy: str  # spec of the player of the earlier streets, which determines both seats' ranges
    iterations: PositiveInt  # number of iterations of discounted CFR
    range_share: Probability  # probability that the other seat gets a hand of its range, not any
    # Sizes of raises, as in `NoLimitPoker`, if the game allows any amount; else null.
    bet_sizes: list[PositiveFloat | Literal["all_in"]] | None

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        poker_game = check_heads_up(game)
        self._sized_game: Game | None = None
        if isinstance(poker_game, NoLimitPoker) and not poker_game.bet_sizes:
            if not self.bet_sizes:
                raise ConfigError(f"bet_sizes: not given; {game.name} allows bets of any amount")
            self._sized_game = replace(poker_game, bet_sizes=self.bet_sizes)
        elif self.bet_sizes is not None:
            raise ConfigError(
                f"bet_sizes: has to be null, since {game.name} does not allow raises of any amount"
            )
        self._player = load_base_player(self.policy, game, self)
        self._poker_game, self._ranges = poker_game, Ranges(poker_game)
        self._boards = Boards(poker_game, self._ranges, self._player.is_suit_invariant)
        self._range_query = RangePolicyQuery(game, self._ranges, self._boards)
        self._last_street = len(poker_game.board_cards) - 1
        self._solutions: dict[bytes, EndgameSolution] = {}

    @property
    def is_suit_invariant(self) -> bool:
        return self._player.is_suit_invariant

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        is_endgame = records["street"] == self._last_street
        probs = np.empty((len(records), self._game.action_count))
        if is_endgame.any():
            probs[is_endgame] = self._compute_endgame_probs(records[is_endgame])
        if not is_endgame.all():
            earlier = records[~is_endgame]
            probs[~is_endgame] = compute_checked_probs(self._game, self._player, earlier)
        return probs

    def _compute_endgame_probs(self, records: np.ndarray) -> np.ndarray:
        """Return the solutions' action probabilities at B tables on the last street, [B, A]."""
        game = self._poker_game
        board_start = game.seats * game.hole_cards
        public_cards = records["deck"][:, board_start : game.cards_dealt]
        is_played = np.arange(records["line"].shape[1]) < records["moves"][:, None]
        line = records["line"] * is_played  # clears cells with actions of an earlier hand
        public_states = np.hstack([line, records["moves"][:, None], public_cards])
        _, first_row, state_of_row = np.unique(
            public_states, axis=0, return_index=True, return_inverse=True
        )
        deck_position = records["to_act"][:, None] * game.hole_cards + np.arange(game.hole_cards)
        hole_cards = np.take_along_axis(records["deck"], deck_position.astype(np.int64), axis=1)
        hand = self._ranges.hand_index[tuple(np.sort(hole_cards, axis=1).T)]
        probs = np.zeros((len(records), self._game.action_count))
        for state, row in enumerate(first_row):
            rows = np.flatnonzero(state_of_row.ravel() == state)
            solution, decision = self._find_decision(records[row : row + 1])
            choices = np.flatnonzero(solution.lines.street.legal_mask[decision])
            policy = solution.policy[decision, solution.row_of_hand[hand[rows]]]
            probs[rows[:, None], solution.lines.actions[decision, choices]] = policy[:, choices]
        return probs

    def _find_decision(self, record: np.ndarray) -> tuple[EndgameSolution, int]:
        """Return a solution with the decision at the table `record` [1], and the decision's index.

        The solution is for the seat to act; the index is in `solution.lines.street.decision_lines`.
        """
        moves = int(record["moves"][0])
        tables = Tables(self._game, moves + 1, 0)
        tables.deal(decks=np.repeat(record["deck"], moves + 1, axis=0))
        tables.replay(np.repeat(record["line"], moves + 1, axis=0), np.arange(moves + 1))
        start_move = int(np.argmax(tables.records["street"] == self._last_street))
        game, actions = self._poker_game, record["line"][0, :moves].astype(np.int64)
        board_cards = record["deck"][0, game.seats * game.hole_cards : game.cards_dealt]
        own_seat = int(record["to_act"][0])
        included_moves = start_move
        while True:
            past_tables = tables.records[: start_move + 1]
            solution = self._get_solution(
                own_seat, past_tables, actions[:included_moves], board_cards.astype(np.int64)
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
        """Return the result of `_solve_last_street`, which is cached for later decisions."""
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
        those of the last street that the solution has to include.
        """
        past_actions, included_actions = np.split(actions, [len(past_tables) - 1])
        ranges = self._compute_ranges(past_tables[:-1], past_actions, board_cards)
        lines = enumerate_endgame_lines(
            self._game, self._sized_game, past_tables[-1:], included_actions
        )
        street = lines.street
        terminal_arrays = betting_lines.pack_terminal_arrays(street, self._ranges, board_cards)
        arrays = betting_lines.pack_line_arrays(street), terminal_arrays
        board = self._boards.list_boards_by_street(board_cards)[self._last_street]
        own_decisions = np.flatnonzero(street.seat[street.decision_lines] == own_seat)
        query = self._player, street.decision_records[own_decisions], [board]
        ((own_policy,),) = self._range_query.iterate_board_policies(*query)
        policy = lines.map_to_choices(own_decisions, own_policy.probs)
        rows = np.maximum(own_policy.row_of_hand, 0)
        opt_out_values = compute_response_values(*arrays, policy, rows, ranges, own_seat)
        possible_hands = np.flatnonzero(self._ranges.mask_compatible_hands(board_cards))
        row_of_hand = np.zeros(len(self._ranges.hands), np.int64)
        row_of_hand[possible_hands] = np.arange(len(possible_hands))
        game = *arrays, street.legal_mask, possible_hands, row_of_hand
        other_seat = ranges, own_seat, self.range_share, opt_out_values
        solution = run_discounted_cfr(game, other_seat, self.iterations).astype(np.float32)
        return EndgameSolution(lines, solution, row_of_hand)

    def _compute_ranges(
        self, past_tables: np.ndarray, actions: np.ndarray, board_cards: np.ndarray
    ) -> np.ndarray:
        """Return each seat's range, [2, H]: the probability of each hand, given past actions."""
        reach = np.ones((2, len(self._ranges.hands)))
        reach *= self._ranges.mask_compatible_hands(board_cards)
        legal_mask = tables_from_records(self._game, past_tables.copy()).legal_mask()
        uniform = 1 / legal_mask.sum(1)
        boards = self._boards.list_boards_by_street(board_cards)
        for street in np.unique(past_tables["street"]):
            moves = np.flatnonzero(past_tables["street"] == street)
            query = self._player, past_tables[moves], [boards[street]]
            ((policy,),) = self._range_query.iterate_board_policies(*query)
            for move, probs in zip(moves, policy.probs, strict=True):
                action, played = int(actions[move]), np.flatnonzero(probs.any(0))
                if action >= RAISE and played[-1] >= RAISE:
                    # If the player never makes this raise, take the nearest that it makes.
                    action = played[find_nearest(played, action)]
                prob_of_hand = probs[policy.row_of_hand, action]
                prob_of_hand += EXPLORATION * (uniform[move] - prob_of_hand)
                seat = past_tables["to_act"][move]
                reach[seat] *= prob_of_hand / (reach[seat] @ prob_of_hand)
        return np.asarray(reach / reach.sum(1, keepdims=True))


def enumerate_endgame_lines(
    game: Game, sized_game: Game | None, record: np.ndarray, played_actions: np.ndarray
) -> EndgameLines:
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

    street, _ = betting_lines.enumerate_street_lines(
        game, record.copy(), street_index, get_action_mask=mask_actions
    )
    pairs = zip(street.parent_line.tolist(), street.action.tolist(), strict=True)
    line_after_action = {pair: line for line, pair in enumerate(pairs)}
    mask = street.legal_mask
    choice_of_action, counts = mask.cumsum(1) - 1, mask.sum(1)
    actions = np.argsort(~mask, axis=1, kind="stable")[:, : counts.max()]
    parent_decision = np.searchsorted(street.decision_lines, street.parent_line)
    choices = choice_of_action[parent_decision, street.action]  # arbitrary for the first line
    is_choice = np.arange(actions.shape[1]) < counts[:, None]
    street = replace(street, action=choices, legal_mask=is_choice)
    return EndgameLines(street, actions, line_after_action)


def find_nearest(actions: np.ndarray, action: int) -> int:
    """Return the index in `actions` [n] of an action or, if it is a raise, of the nearest raise."""
    distances = np.abs(np.log(np.maximum(actions, 1) / max(action, 1)))
    is_alternative = (actions == action) | ((actions >= RAISE) & (action >= RAISE))
    return int(np.where(is_alternative, distances, np.inf).argmin())
