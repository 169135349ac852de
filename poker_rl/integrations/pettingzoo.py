"""PettingZoo environment of a game, in which every seat is an agent.

An observation is a dictionary: "observation" has the features of `Tables.observe` for the agent's
seat, and "action_mask" is 1 for legal actions, or all 0 if another seat is to act. The reward at
the end of a hand is the agent's winnings, in the game's unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import AECEnv

from poker_rl.games.game import Game
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.integrations import to_game
from poker_rl.integrations.gymnasium import build_observation_space


class GameAECEnv(AECEnv):
    """Environment of one table in PettingZoo's agent-environment cycle.

    The agents are `player_0`, `player_1` and so on, by seat. If the number of players varies from
    hand to hand, `agents` lists only the agents in the present hand.

    Args:
        game: a game or its name, such as `limit_holdem_6p`.
        overrides: changed settings of the game, such as `["game.ante=2"]`, if `game` is a name.
        render_mode: "ansi" for a `render()` that returns the information set of the agent to act.
    """

    def __init__(
        self,
        game: str | Game = "kuhn",
        overrides: Sequence[str] = (),
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.game = game = to_game(game, overrides)
        self.render_mode = render_mode
        self.metadata = {
            "name": f"poker_rl_{game.name}_v0",
            "render_modes": ["ansi"],
            "render_fps": 1,
            "is_parallelizable": False,
        }
        self.possible_agents = [f"player_{seat}" for seat in range(game.seats)]
        observation = {
            "observation": build_observation_space(game),
            "action_mask": spaces.Box(0, 1, (game.action_count,), np.int8),
        }
        self.observation_spaces = {a: spaces.Dict(observation) for a in self.possible_agents}
        self.action_spaces = {a: spaces.Discrete(game.action_count) for a in self.possible_agents}
        self.infos: dict[str, dict[str, Any]] = {}
        self._tables: Tables | None = None

    def observation_space(self, agent: str) -> spaces.Dict:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new hand; a seed fixes the cards of this hand and of all hands after it."""
        if seed is not None or self._tables is None:
            generator, _ = seeding.np_random(seed)
            self._tables = Tables(self.game, 1, int(generator.integers(2**63)))
        self._tables.deal()
        self.agents = self.possible_agents[: int(self._tables.count_seats()[0])]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._select_next_agent()

    def step(self, action: int | None) -> None:
        """Play the selected agent's action; after the end of a hand, `None` removes the agent."""
        if self._tables is None:
            raise RuntimeError("call reset() before the first hand")
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self._tables.step(np.array([action]))
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        if self._tables.records["over"][0]:
            rewards = self._tables.payoffs()[0] / self.game.unit_chips
            self.rewards = dict(zip(self.agents, rewards.tolist(), strict=False))
            self.terminations = dict.fromkeys(self.agents, True)
            self.infos = {agent: {} for agent in self.agents}
            self._accumulate_rewards()
            self._deads_step_first()
        else:
            self._select_next_agent()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        assert self._tables is not None
        tables, seat = self._tables, self.possible_agents.index(agent)
        if tables.records["to_act"][0] != seat:
            records = tables.records.copy()
            records["to_act"] = seat
            tables = tables_from_records(self.game, records)
        no_action = np.zeros(self.game.action_count, np.int8)
        return {
            "observation": tables.observe()[0],
            "action_mask": self.infos.get(agent, {}).get("action_mask", no_action).copy(),
        }

    def render(self) -> str | None:
        if self.render_mode is None or self._tables is None:
            return None
        return self.game.infoset_name(self._tables.records[0])

    def close(self) -> None:
        """Do nothing; PettingZoo's API test requires this method of environments with `render`."""

    def _select_next_agent(self) -> None:
        """Select the agent of the seat to act, and put its action mask into `infos`."""
        assert self._tables is not None
        self.agent_selection = self.possible_agents[int(self._tables.records["to_act"][0])]
        mask = self._tables.legal_mask()[0].astype(np.int8)
        self.infos = {agent: {} for agent in self.agents}
        self.infos[self.agent_selection] = {"action_mask": mask}


env = GameAECEnv  # in PettingZoo, `env` is the name of the function that creates an environment
