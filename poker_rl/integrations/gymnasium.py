"""Gymnasium environments in which the learner has one seat against fixed players.

An episode is a hand. Observations are those of `Tables.observe`, rewards are what the learner won,
in the game's unit, at the end of the hand. `action_masks()` and `info["action_mask"]` say which
actions are legal. In place of an illegal action the first legal one is played, which in poker is a
fold, or a check if there is no bet; `info["illegal_action"]` is then True.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Env, spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from poker_rl.games.game import Game
from poker_rl.integrations.learner_tables import LearnerTables, Opponents, to_game


def build_observation_space(game: Game) -> spaces.Box:
    """Return the space of a game's observations [W]; features that are not 0 or 1 have no bound."""
    shape, dtype = (game.observation_size,), game.observation_dtype
    if dtype == np.uint8:
        return spaces.Box(0, 1, shape, np.uint8)
    return spaces.Box(-np.inf, np.inf, shape, np.float32)


class GameEnv(Env):
    """Environment of one table; `render()` returns the learner's information set as text.

    Args:
        game: a game or its name, such as `leduc`.
        opponents: the players of the other seats, see `learner_tables.load_opponents`.
        seat: the learner's seat; None to sample it for each hand.
        overrides: settings of a game given by name, such as `["game.ante=2"]`.
        render_mode: "ansi" or None.

    Raises:
        ConfigError: if a game, a setting, a player or the seat does not exist.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012

    def __init__(
        self,
        game: str | Game = "leduc",
        opponents: Opponents = "uniform",
        seat: int | None = None,
        overrides: Sequence[str] = (),
        render_mode: str | None = None,
    ) -> None:
        self.game = to_game(game, overrides)
        self.render_mode = render_mode
        self.observation_space = build_observation_space(self.game)
        self.action_space = spaces.Discrete(self.game.action_count)
        self._learner_tables = LearnerTables(self.game, 1, opponents, seat)
        self._is_new = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Deal a new hand and return the observation [W] and the information of the learner."""
        super().reset(seed=seed)
        if seed is not None or self._is_new:
            self._learner_tables.reset(self.np_random)
            self._is_new = False
        else:
            self._learner_tables.deal(np.arange(1))
        self._mask: np.ndarray = self._learner_tables.tables.legal_mask()[0]
        return self._learner_tables.tables.observe()[0], self._get_info(False)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play an action and the opponents' answers up to the learner's next decision."""
        is_illegal = not self._mask[action]
        legal_action = self._mask.argmax() if is_illegal else action
        (reward,) = self._learner_tables.play(np.array([legal_action]))
        is_over = bool(len(self._learner_tables.find_ended()))
        self._mask = self._learner_tables.tables.legal_mask()[0] & (not is_over)
        observation = self._learner_tables.tables.observe()[0]
        return observation, float(reward), is_over, False, self._get_info(is_illegal)

    def action_masks(self) -> np.ndarray:
        """Return which actions are legal, [A] bool; none is after the end of the hand."""
        return np.array(self._mask)

    def render(self) -> str | None:
        """Return the learner's information set, see `Game.infoset_name`."""
        if self.render_mode is None:
            return None
        return self.game.infoset_name(self._learner_tables.tables.records[0])

    def _get_info(self, is_illegal: bool) -> dict[str, Any]:
        return {"action_mask": self._mask.astype(np.int8), "illegal_action": is_illegal}


class GameVectorEnv(VectorEnv):
    """Environment of many tables that are stepped together in compiled code.

    The autoreset mode is SAME_STEP: a table whose hand ends returns the reward of that hand with
    the first observation of the next one. `info["final_obs"]` has the last observation of the hand.

    Args:
        num_envs: number of tables, B.
        game, opponents, seat, overrides: as for `GameEnv`.

    Raises:
        ConfigError: as for `GameEnv`.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        game: str | Game = "leduc",
        num_envs: int = 1024,
        opponents: Opponents = "uniform",
        seat: int | None = None,
        overrides: Sequence[str] = (),
    ) -> None:
        self.game, self.num_envs = to_game(game, overrides), num_envs
        self.single_observation_space = build_observation_space(self.game)
        self.single_action_space = spaces.Discrete(self.game.action_count)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._learner_tables = LearnerTables(self.game, num_envs, opponents, seat)
        self._is_new = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Deal new hands at all tables and return the observations [B, W] and masks."""
        super().reset(seed=seed)
        if seed is not None or self._is_new:
            self._learner_tables.reset(self.np_random)
            self._is_new = False
        else:
            self._learner_tables.deal(np.arange(self.num_envs))
        self._mask = self._learner_tables.tables.legal_mask()
        return self._learner_tables.tables.observe(), self._get_info(
            np.zeros(self.num_envs, np.bool_)
        )

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play an action at each table [B] and the opponents' answers.

        Returns:
            observations [B, W], rewards [B] float64, terminations and truncations [B] bool, and the
            information.
        """
        tables = self._learner_tables.tables
        is_illegal = ~self._mask[np.arange(self.num_envs), actions]
        if is_illegal.any():
            actions = np.where(is_illegal, self._mask.argmax(1), actions)
        rewards = self._learner_tables.play(actions)
        ended = self._learner_tables.find_ended()
        terminations = np.zeros(self.num_envs, np.bool_)
        terminations[ended] = True
        info: dict[str, Any] = {}
        if len(ended):
            final_observations = np.full(self.num_envs, None, object)
            for row, observation in zip(ended, tables.observe(ended), strict=True):
                final_observations[row] = observation
            info = {"final_obs": final_observations, "_final_obs": terminations.copy()}
            self._learner_tables.deal(ended)
        self._mask = tables.legal_mask()
        info |= self._get_info(is_illegal)
        truncations = np.zeros(self.num_envs, np.bool_)
        return tables.observe(), rewards, terminations, truncations, info

    def action_masks(self) -> np.ndarray:
        """Return which actions are legal at each table, [B, A] bool."""
        return self._mask.copy()

    def _get_info(self, is_illegal: np.ndarray) -> dict[str, Any]:
        return {"action_mask": self._mask.astype(np.int8), "illegal_action": is_illegal}
