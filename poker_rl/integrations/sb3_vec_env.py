"""Adapter that gives a `GameVectorEnv` the interface of Stable-Baselines3's vector environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from poker_rl.integrations.gymnasium import GameVectorEnv


class SB3VecEnv(VecEnv):
    """Environment of many tables for MaskablePPO and other learners of Stable-Baselines3.

    As with Stable-Baselines3's `Monitor`, the info at the end of a hand has the reward and the
    number of the learner's decisions.
    """

    def __init__(self, env: GameVectorEnv) -> None:
        self._env = env
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> np.ndarray:
        observations, _ = self._env.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._lengths = np.zeros(self.num_envs, np.int64)
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, terminations, _, info = self._env.step(self._actions)
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(terminations):
            infos[row] = {
                "terminal_observation": info["final_obs"][row],
                "episode": {"r": float(rewards[row]), "l": int(self._lengths[row])},
            }
        self._lengths[terminations] = 0
        return observations, rewards.astype(np.float32), terminations, infos

    def close(self) -> None:
        self._env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self._env, attr_name)] * len(self._get_indices(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self._env, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        result = getattr(self._env, method_name)(*method_args, **method_kwargs)
        return [result[row] for row in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        return [False] * len(self._get_indices(indices))
