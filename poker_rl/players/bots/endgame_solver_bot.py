"""Bot that plays as a trained player until the last streets, and solves the rest of the hand there.

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
size, by either seat, the street is solved again with this raise included; see `endgame_lines`.

With `turn`, the street before the last one is solved too, together with the last one. So its
solution takes into account how the hand continues after each new board card. The other seat can't
opt out there, because the value of opting out would take too long to compute. When the last street
begins, it is solved again, with the ranges that the first solution gives.

Before the solved streets, one kind of decision is solved too: to call or to fold if the other seat
has moved all-in. Such an all-in is rare in training, so the trained player's answer is often bad.
Here the other seat has, before its all-in, a hand of its range with probability `range_share`, and
otherwise a random hand. The module `all_in_call_solver` explains the solved game.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from pathlib import Path

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.poker.table_dtypes import CALL, FOLD, RAISE
from poker_rl.games.public.ranges import Ranges
from poker_rl.games.public.tree import Boards, check_heads_up
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.players.bots.all_in_call_solver import AllInCallSolver
from poker_rl.players.bots.bot import Bot
from poker_rl.players.bots.endgame_solver import EndgameSettings, EndgameSolver
from poker_rl.players.player import compute_checked_probs
from poker_rl.players.player_loader import load_base_player


@dataclass(kw_only=True)
class EndgameSolverBot(EndgameSettings, Bot):
    """Bot for heads-up poker that solves the last streets and decisions against an earlier all-in.

    Its other decisions are those of the player `policy`.
    """

    policy: str  # spec of the player of the earlier streets, which determines both seats' ranges
    option_folders: InitVar[Sequence[Path] | None] = None  # where `policy` is looked up by name

    def __post_init__(self, game: Game, option_folders: Sequence[Path] | None) -> None:
        super().__post_init__(game)
        self._heads_up_game = check_heads_up(game)
        self._player = load_base_player(self.policy, game, self, option_folders)
        # Solutions of the turn depend a little on the order in which boards are sampled.
        self.is_suit_invariant = self._player.is_suit_invariant and self.turn is None
        self._ranges = Ranges(self._heads_up_game)
        boards = Boards(self._heads_up_game, self._ranges, self.is_suit_invariant)
        parts = self._heads_up_game, self._ranges, boards
        self._solver = EndgameSolver(*parts, self._player, self)
        self._call_solver = AllInCallSolver(*parts, self._solver, self)

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        is_solved = records["street"] >= self._solver.first_street
        is_solved |= self._mask_all_in_calls(records)
        probs = np.empty((len(records), self._game.action_count))
        if is_solved.any():
            probs[is_solved] = self._compute_solved_probs(records[is_solved])
        if not is_solved.all():
            others = records[~is_solved]
            probs[~is_solved] = compute_checked_probs(self._game, self._player, others)
        return probs

    def _mask_all_in_calls(self, records: np.ndarray) -> np.ndarray:
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
        game = self._heads_up_game
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
        hand = self._ranges.hand_index[tuple(np.sort(hole_cards, axis=1).T)]
        probs = np.zeros((len(records), self._game.action_count))
        for state, row in enumerate(first_row):
            rows = np.flatnonzero(state_of_row.ravel() == state)
            past_tables = self._replay(records[row : row + 1])
            board_cards = public_cards[row, : shown_count[row]]
            if records["street"][row] >= self._solver.first_street:
                query = int(records["to_act"][row]), past_tables, board_cards
                solution, decision = self._solver.solve_decision(*query)
                actions = solution.lines.list_actions(decision)
                policy = solution.policy[decision][:, solution.row_of_hand[hand[rows]]]
                probs[rows, actions[:, None]] = policy[: len(actions)]
            else:
                call_probs = self._call_solver.get_call_probs(past_tables, board_cards)[hand[rows]]
                probs[rows, CALL], probs[rows, FOLD] = call_probs, 1 - call_probs
        return probs

    def _replay(self, record: np.ndarray) -> np.ndarray:
        """Return a table `record` [1] before each of its M actions and after the last, [M + 1]."""
        moves = int(record["moves"][0])
        tables = Tables(self._game, moves + 1, 0)
        tables.deal(decks=np.repeat(record["deck"], moves + 1, axis=0))
        tables.replay(np.repeat(record["line"], moves + 1, axis=0), np.arange(moves + 1))
        return tables.records
