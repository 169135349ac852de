"""Gymnasium environments in which the learner has one seat against fixed players.

An episode is a hand. The reward at its end is what the learner won, in the game's unit. An illegal
action is replaced by the first legal one; in poker this is a fold or a check.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Env, spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.integrations import to_game
from poker_rl.players.player import Player, sample_player_actions
from poker_rl.players.player_loader import load_player

MAX_HANDS = 1000  # so many hands in a row without a decision of the learner are an error

OpponentSpecs = str | Player | list[str | Player] | tuple[str | Player, ...]


def build_observation_space(game: Game) -> spaces.Box:
    """Return the space of a game's observations: from 0 to 1 if all are binary, else unbounded."""
    shape, dtype = (game.observation_size,), game.feature_dtype
    if dtype == np.uint8:
        return spaces.Box(0, 1, shape, np.uint8)
    return spaces.Box(-np.inf, np.inf, shape, np.float32)


def load_opponents(game: Game, opponents: OpponentSpecs) -> list[Player]:
    """Return the players of the other seats, in the order of play after the learner.

    `opponents` is one player (or its name) for all other seats, or a list with one for each seat.
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


class GameVectorEnv(VectorEnv):
    """Gymnasium environment of many tables, whose rules run in compiled code.

    The fixed opponents play until the learner has to act at every table. A hand that ends before
    the learner's first decision is skipped, because the learner can't learn from it.

    The autoreset mode is SAME_STEP: when a hand ends, `step` returns the reward of this hand and
    the first observation of the next hand. `info["final_obs"]` has this hand's last observation.

    Args:
        game: a game or its name, such as `leduc`.
        num_envs: number of tables, B.
        opponents: the players of the other seats, see `load_opponents`.
        seat: the learner's seat; None to sample it for each hand.
        overrides: changed settings of the game, such as `["game.ante=2"]`, if `game` is a name.

    Raises:
        ConfigError: if a game, a setting, a player or the seat does not exist.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        game: str | Game = "leduc",
        num_envs: int = 1024,
        opponents: OpponentSpecs = "uniform",
        seat: int | None = None,
        overrides: Sequence[str] = (),
    ) -> None:
        self.game, self.num_envs = to_game(game, overrides), num_envs
        self.single_observation_space = build_observation_space(self.game)
        self.single_action_space = spaces.Discrete(self.game.action_count)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        max_seat = int(self.game.definitions["seats"].min()) - 1
        if seat is not None and seat not in range(max_seat + 1):
            raise ConfigError(f"seat: {seat}; allowed: 0 to {max_seat}, or None for a random seat")
        self._fixed_seat = seat
        self._opponents = load_opponents(self.game, opponents)
        self._generator = np.random.default_rng()  # `restart` replaces it
        self._all_rows, self.seats = np.arange(num_envs), np.full(num_envs, seat or 0)
        self.tables = Tables(self.game, num_envs, 0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Deal new hands at all tables; raise ValueError if `options` contains a `reset_mask`."""
        if options and "reset_mask" in options:
            raise ValueError("options: reset_mask is not supported; each hand that ends is reset")
        super().reset(seed=seed)
        return self.restart(self.np_random)

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play the learner's actions [B]; deal a new hand at each table whose hand has ended."""
        rewards, terminations, is_illegal = self.play_actions(actions)
        final_info = {}
        if terminations.any():
            ended = np.flatnonzero(terminations)
            final_observations = np.full(self.num_envs, None, object)
            for row, observation in zip(ended, self.tables.observe(ended), strict=True):
                final_observations[row] = observation
            final_info = {"final_obs": final_observations, "_final_obs": terminations.copy()}
            self.deal_until_learner_decides(ended)
        observations, info = self.observe(is_illegal)
        truncations = np.zeros(self.num_envs, np.bool_)
        return observations, rewards, terminations, truncations, final_info | info

    def action_masks(self) -> np.ndarray:
        """Return which actions are legal at each table, [B, actions] bool."""
        return self.mask.copy()

    def restart(self, generator: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Deal new hands at all tables; if `generator` is a new one, it reseeds the cards."""
        if generator is not self._generator:
            self._generator = generator
            self.tables = Tables(self.game, self.num_envs, int(generator.integers(2**63)))
        self.deal_until_learner_decides(self._all_rows)
        return self.observe(np.zeros(self.num_envs, np.bool_))

    def observe(self, is_illegal: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Update the action masks; return the learner's observations [B, features] and `info`."""
        self.mask = self.tables.legal_mask()
        self.mask[self.tables.records["over"] == 1] = False  # no action is legal after the end
        info = {"action_mask": self.mask.astype(np.int8), "illegal_action": is_illegal}
        return self.tables.observe(), info

    def deal_until_learner_decides(self, rows: np.ndarray) -> None:
        """Deal new hands at the tables `rows`, and play them until the learner's first decision."""
        for _ in range(MAX_HANDS):
            self.tables.deal(rows)
            if self._fixed_seat is None:
                self.seats[rows] = self._generator.integers(self.tables.count_seats(rows))
            self._play_opponents(rows)
            rows = rows[self.tables.records["over"][rows] == 1]
            if not len(rows):
                return
        raise ConfigError(
            f"opponents: all of {MAX_HANDS} hands of {self.game.name} ended before the learner's"
            " first decision; choose another seat or other opponents"
        )

    def play_actions(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Play the learner's actions [B], then the opponents' until the learner's next decisions.

        Returns:
            rewards, [B] float64: the learner's winnings in the game's unit; 0 before a hand's end.
            is_over, [B] bool: true where the hand has ended.
            is_illegal, [B] bool: true where the first legal action replaced an illegal one.
        """
        records = self.tables.records
        if records["over"].any():
            raise RuntimeError("the hand is over: call reset() for the next one")
        actions = np.asarray(actions)
        is_outside = (actions < 0) | (actions >= self.game.action_count)
        if is_outside.any():
            most = self.game.action_count - 1
            raise ValueError(f"action {actions[is_outside][0]}; allowed: 0 to {most}")
        is_illegal = ~self.mask[self._all_rows, actions]
        self.tables.step(np.where(is_illegal, self.mask.argmax(1), actions))
        self._play_opponents(self._all_rows)
        is_over, rewards = records["over"] == 1, np.zeros(len(actions))
        ended, seats = np.flatnonzero(is_over), self.seats[is_over]
        rewards[ended] = self.tables.payoffs(ended)[np.arange(len(ended)), seats]
        # `Tables.observe` is for the seat `to_act`; after a hand, that must be the learner's seat.
        records["to_act"][ended] = seats
        return rewards / self.game.unit_chips, is_over, is_illegal

    def _play_opponents(self, rows: np.ndarray) -> None:
        """Let opponents act at the tables `rows` until the learner's turn or the hand's end."""
        records = self.tables.records
        while True:
            is_learners = records["to_act"][rows] == self.seats[rows]
            rows = rows[~is_learners & (records["over"][rows] == 0)]
            if not len(rows):
                return
            distance = (records["to_act"][rows] - self.seats[rows]) % self.tables.count_seats(rows)
            acting_opponents = self._opponents, distance - 1, [self._generator] * self.game.seats
            self.tables.step(sample_player_actions(self.tables, rows, *acting_opponents), rows)


class GameEnv(Env):
    """Gymnasium environment of one table; `render()` returns the learner's information set as text.

    Args:
        game, opponents, seat, overrides: as for `GameVectorEnv`.
        render_mode: "ansi" or None.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        game: str | Game = "leduc",
        opponents: OpponentSpecs = "uniform",
        seat: int | None = None,
        overrides: Sequence[str] = (),
        render_mode: str | None = None,
    ) -> None:
        self._envs = GameVectorEnv(game, 1, opponents, seat, overrides)
        self.game, self.render_mode = self._envs.game, render_mode
        self.observation_space = self._envs.single_observation_space
        self.action_space = self._envs.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        return self._unbatch(*self._envs.restart(self.np_random))

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play the learner's action, then the opponents' until the learner's next decision."""
        rewards, is_over, is_illegal = self._envs.play_actions(np.array([action]))
        observation, info = self._unbatch(*self._envs.observe(is_illegal))
        return observation, float(rewards[0]), bool(is_over[0]), False, info

    def _unbatch(
        self, observations: np.ndarray, info: dict[str, np.ndarray]
    ) -> tuple[np.ndarray, dict[str, Any]]:
        mask, is_illegal = info["action_mask"][0], bool(info["illegal_action"][0])
        return observations[0], {"action_mask": mask, "illegal_action": is_illegal}

    def action_masks(self) -> np.ndarray:
        """Return which actions are legal, [actions] bool; all False after the end of the hand."""
        return np.array(self._envs.mask[0])

    def render(self) -> str | None:
        record = self._envs.tables.records[0]
        return None if self.render_mode is None else self.game.infoset_name(record)
