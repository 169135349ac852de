"""Tables at which an external learner plays one seat, and fixed players play the other seats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game, load_game
from poker_rl.games.tables import Tables
from poker_rl.players.action_sampling import sample_from_probs
from poker_rl.players.player import Player, compute_checked_probs, find_first_occurrences
from poker_rl.players.player_loader import load_player

MAX_DEALS = 1000  # an error is raised after so many hands without a decision of the learner

OpponentSpecs = str | Player | list[str | Player] | tuple[str | Player, ...]


def to_game(game: str | Game, overrides: Sequence[str]) -> Game:
    """Load a game by its name with overrides such as `game.ante=2`, or return the given game."""
    return load_game(game, *overrides) if isinstance(game, str) else game


def load_opponents(game: Game, opponents: OpponentSpecs) -> list[Player]:
    """Return the players of the other seats, in the order of play after the learner.

    Args:
        opponents: one player for all other seats, or a list with a player for each of them; a
            player is an object or a name that `load_player` accepts.

    Raises:
        ConfigError: if a player does not exist, or the list has the wrong length.
    """
    if not isinstance(opponents, list | tuple):
        opponents = [opponents] * (game.seats - 1)
    if len(opponents) != game.seats - 1:
        raise ConfigError(
            f"opponents: {len(opponents)} given; allowed: one for all, or {game.seats - 1}, one for"
            f" each other seat of {game.name}"
        )
    player_by_spec = {spec: load_player(spec, game) for spec in opponents if isinstance(spec, str)}
    return [player_by_spec[item] if isinstance(item, str) else item for item in opponents]


class LearnerTables:
    """Batch of tables at which fixed opponents play until the learner has to act at every table.

    A hand that ends before the learner's first decision is replaced by a new one, because the
    learner can't learn from it. The arguments are those of `GameVectorEnv`.
    """

    def __init__(self, game: Game, count: int, opponents: OpponentSpecs, seat: int | None) -> None:
        self.game, self.count, self.tables = game, count, Tables(game, count, 0)
        max_seat = int(game.definitions["seats"].min()) - 1
        if seat is not None and seat not in range(max_seat + 1):
            raise ConfigError(f"seat: {seat}; allowed: 0 to {max_seat}, or None for a random seat")
        self._fixed_seat = seat
        self._opponents = load_opponents(game, opponents)
        self._first_occurrences = find_first_occurrences(self._opponents)
        self._generator: np.random.Generator | None = None

    def start(self, generator: np.random.Generator) -> None:
        """Deal new hands at all tables; a new generator also gives the cards a new seed."""
        if generator is not self._generator:
            self._generator = generator
            self.tables = Tables(self.game, self.count, int(generator.integers(2**63)))
        self.seats = np.zeros(self.count, np.int64)
        self.deal(np.arange(self.count))
        self.update_mask()

    def update_mask(self) -> None:
        """Set `mask`, which actions are legal, [B, actions] bool; none after the end of a hand."""
        self.mask = self.tables.legal_mask()
        self.mask[self.find_finished_tables()] = False

    def deal(self, rows: np.ndarray) -> None:
        """Deal new hands at some tables, and play them until the learner's first decision.

        Raises:
            ConfigError: if all hands end before, for example because all opponents always fold.
        """
        assert self._generator is not None
        for _ in range(MAX_DEALS):
            self.tables.deal(rows)
            if self._fixed_seat is None:
                self.seats[rows] = self._generator.integers(self.tables.count_seats(rows))
            else:
                self.seats[rows] = self._fixed_seat
            self._play_opponents(rows)
            rows = rows[self.tables.records["over"][rows] == 1]
            if not len(rows):
                return
        raise ConfigError(
            f"opponents: all of {MAX_DEALS} hands of {self.game.name} ended before the learner's"
            " first decision; choose another seat or other opponents"
        )

    def play(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Play the learner's actions [B], and the opponents' actions until its next decisions.

        Returns:
            rewards, [B] float64: what the learner won in hands that have ended, in the game's unit.
            is_illegal, [B] bool: true where the first legal action replaced an illegal one.
        """
        if self.tables.records["over"].any():
            raise RuntimeError("the hand is over: call reset() for the next one")
        actions = np.asarray(actions)
        is_outside = (actions < 0) | (actions >= self.game.action_count)
        if is_outside.any():
            allowed = f"0 to {self.game.action_count - 1}"
            raise ValueError(f"action {actions[is_outside][0]}; allowed: {allowed}")
        is_illegal = ~self.mask[np.arange(self.count), actions]
        if is_illegal.any():
            actions = np.where(is_illegal, self.mask.argmax(1), actions)
        self.tables.step(actions)
        self._play_opponents(np.arange(self.count))
        ended, rewards = self.find_finished_tables(), np.zeros(self.count)
        if len(ended):
            rewards[ended] = self.tables.payoffs(ended)[np.arange(len(ended)), self.seats[ended]]
            # `observe` shows what the seat to act sees, so the learner becomes the seat to act.
            self.tables.records["to_act"][ended] = self.seats[ended]
        return rewards / self.game.unit_chips, is_illegal

    def find_finished_tables(self) -> np.ndarray:
        """Return the indices of the tables whose hand is over."""
        return np.flatnonzero(self.tables.records["over"])

    def _play_opponents(self, rows: np.ndarray) -> None:
        """Let opponents act at some tables until the learner is to act or the hand has ended."""
        assert self._generator is not None
        records = self.tables.records
        while True:
            is_learners = records["to_act"][rows] == self.seats[rows]
            rows = rows[~is_learners & (records["over"][rows] == 0)]
            if not len(rows):
                return
            distance = (records["to_act"][rows] - self.seats[rows]) % self.tables.count_seats(rows)
            acting_opponent = self._first_occurrences[distance - 1]
            actions = np.empty(len(rows), np.int64)
            for i in np.unique(acting_opponent):
                is_acting = acting_opponent == i
                acting_records = records.take(rows[is_acting])
                probs = compute_checked_probs(self.game, self._opponents[i], acting_records)
                actions[is_acting] = sample_from_probs(probs, self._generator.random(len(probs)))
            self.tables.step(actions, rows)
