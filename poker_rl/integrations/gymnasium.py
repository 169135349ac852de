"""Gymnasium environments in which the learner has one seat against fixed players.

An episode is a hand. Observations are those of `Tables.observe`. The reward at the end of the hand
is what the learner won, in the game's unit. `action_masks()` and `info["action_mask"]` say which
actions are legal. If the learner chooses an illegal action, `info["illegal_action"]` is True and
the first legal action is played instead: in poker a fold, or a check if there is no bet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Env, spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.integrations.learner_tables import LearnerTables, OpponentSpecs, to_game


def build_observation_space(game: Game) -> spaces.Box:
    """Return the space of a game's observations, unbounded unless all features are 0 or 1."""
    shape, dtype = (game.observation_size,), game.observation_dtype
    if dtype == np.uint8:
        return spaces.Box(0, 1, shape, np.uint8)
    return spaces.Box(-np.inf, np.inf, shape, np.float32)


def build_info(mask: np.ndarray, is_illegal: Any) -> dict[str, Any]:
    """Return Gymnasium's `info` dictionary, for one table or for a batch of tables."""
    return {"action_mask": mask.astype(np.int8), "illegal_action": is_illegal}


class GameEnv(Env):
    """Gymnasium environment of one table; `render()` returns the learner's information set as text.

    Args:
        game: a game or its name, such as `leduc`.
        opponents: the players of the other seats, see `learner_tables.load_opponents`.
        seat: the learner's seat; None to sample it for each hand.
        overrides: changed settings of the game, such as `["game.ante=2"]`, if `game` is a name.
        render_mode: "ansi" or None.

    Raises:
        ConfigError: if a game, a setting, a player or the seat does not exist.
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
        self.game, self.render_mode = to_game(game, overrides), render_mode
        self.observation_space = build_observation_space(self.game)
        self.action_space = spaces.Discrete(self.game.action_count)
        self._hand = LearnerTables(self.game, 1, opponents, seat)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Deal a new hand; return the learner's observation [features] and `info`."""
        super().reset(seed=seed)
        self._hand.start(self.np_random)
        return self._hand.tables.observe()[0], build_info(self._hand.mask[0], False)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play the learner's action, and the opponents' actions until its next decision."""
        rewards, is_illegal = self._hand.play(np.array([action]))
        self._hand.update_mask()
        info = build_info(self._hand.mask[0], bool(is_illegal[0]))
        is_over = bool(len(self._hand.find_finished_tables()))
        return self._hand.tables.observe()[0], float(rewards[0]), is_over, False, info

    def action_masks(self) -> np.ndarray:
        """Return which actions are legal, [actions] bool; none after the end of the hand."""
        mask: np.ndarray = self._hand.mask[0].copy()
        return mask

    def render(self) -> str | None:
        """Return the learner's information set, see `Game.infoset_name`."""
        record = self._hand.tables.records[0]
        return None if self.render_mode is None else self.game.infoset_name(record)


class GameVectorEnv(VectorEnv):
    """Gymnasium environment of many tables, whose rules run in compiled code.

    The autoreset mode is SAME_STEP: when a hand ends, `step` returns its reward together with the
    first observation of the next hand, and its last observation is in `info["final_obs"]`.

    Args:
        num_envs: number of tables, B.
        game, opponents, seat, overrides: as for `GameEnv`.

    Raises:
        ConfigError: as for `GameEnv`, or if there is no table.
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
        if num_envs < 1:
            raise ConfigError(f"num_envs: {num_envs}; allowed: 1 or more")
        self.game, self.num_envs = to_game(game, overrides), num_envs
        self.single_observation_space = build_observation_space(self.game)
        self.single_action_space = spaces.Discrete(self.game.action_count)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._hands = LearnerTables(self.game, num_envs, opponents, seat)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Deal new hands at all tables; return the observations [B, features] and `info`.

        Raises:
            ValueError: if `options` has a `reset_mask`, because only all tables can be reset.
        """
        if options and "reset_mask" in options:
            raise ValueError("options: reset_mask is not supported; each hand that ends is reset")
        super().reset(seed=seed)
        self._hands.start(self.np_random)
        info = build_info(self._hands.mask, np.zeros(self.num_envs, np.bool_))
        return self._hands.tables.observe(), info

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play the learner's action at each table, [B], and the opponents' actions after it.

        Returns:
            observations [B, features], rewards [B] float64, terminations and truncations [B] bool,
            and `info`.
        """
        tables = self._hands.tables
        rewards, is_illegal = self._hands.play(actions)
        terminations, truncations = np.zeros((2, self.num_envs), np.bool_)
        info: dict[str, Any] = {}
        if len(ended := self._hands.find_finished_tables()):
            terminations[ended] = True
            final_observations = np.full(self.num_envs, None, object)
            for row, observation in zip(ended, tables.observe(ended), strict=True):
                final_observations[row] = observation
            info = {"final_obs": final_observations, "_final_obs": terminations.copy()}
            self._hands.deal(ended)
        self._hands.update_mask()
        info |= build_info(self._hands.mask, is_illegal)
        return tables.observe(), rewards, terminations, truncations, info

    def action_masks(self) -> np.ndarray:
        """Return which actions are legal at each table, [B, actions] bool."""
        return self._hands.mask.copy()
