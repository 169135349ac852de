"""External sampling: at the traverser's decisions every legal action is played on.

After Lanctot et al. ("Monte Carlo sampling for regret minimization", 2009). The cards and the other
seats' actions are drawn, and the traverser's never, so the value of each of its actions carries the
noise of cards and opponents alone. All hands go on together, one action at a time: a table at which
the traverser decides is copied once for each of its legal actions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import torch

from poker_rl.games.tables import Tables, copied
from poker_rl.learning.agents import Agents
from poker_rl.learning.room import demand
from poker_rl.players.sampling import draw

Decide = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""What the networks play: observations [B, W], legal actions [B, A] and copies [B] to [B, A]."""


@dataclass
class Decisions:
    """N decisions that were met in a traversal."""

    observation: np.ndarray  # [N, W]
    mask: np.ndarray  # legal actions [N, A] bool
    copy: np.ndarray  # of the networks, which decided [N] int64
    told: np.ndarray  # of each action: its sampled regret in chips, or its chance [N, A] float64

    def __len__(self) -> int:
        return len(self.copy)

    @property
    def nbytes(self) -> int:
        """Bytes that they take."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))


@dataclass
class _Level:
    """The positions that some actions lead to from those of the level above."""

    parent: np.ndarray  # decision of the level above [n] int64
    action: np.ndarray  # taken there [n] int64
    live: np.ndarray  # positions at which somebody decides [m] int64
    mine: np.ndarray  # decisions of the traverser [m] bool
    seen: Decisions  # `told`: the chances of actions [m, A]
    value: np.ndarray  # chips that the traverser wins [n] float64; 0 until it is known


def traverse(agents: Agents, traverser: int, decide: Decide) -> tuple[Decisions, Decisions]:
    """Deal a hand at every table of a learner and play it on.

    Args:
        agents: whose tables, generator and features these are.
        traverser: the seat whose actions are all tried.
        decide: the policy of every seat.

    Returns:
        the traverser's decisions with the sampled regret of each action, in chips: the value of the
        action less that of the policy, both if all play on by their policies; and the other seats'
        decisions with the chances that the policy gave to their actions.

    Raises:
        Refused: if the traverser's actions lead to more positions than fit into memory.
    """
    levels = _forward(agents, traverser, decide)
    regrets: list[np.ndarray] = []
    for i in reversed(range(len(levels))):
        level = levels[i]
        worth = np.zeros_like(level.seen.told)  # of each action [m, A]
        if i + 1 < len(levels):
            below = levels[i + 1]
            worth[below.parent, below.action] = below.value
        # another seat's action was drawn by its chance, and so counts in full
        chance = np.where(level.mine[:, None], level.seen.told, 1.0)
        value = (chance * worth).sum(1)
        level.value[level.live] = value
        regrets.append(((worth - value[:, None]) * level.seen.mask)[level.mine])
    met = [(level.seen, level.mine) for level in levels]
    own = _joined(met)
    own.told = np.concatenate(regrets[::-1])
    return own, _joined([(seen, ~mine) for seen, mine in met])


def _forward(agents: Agents, traverser: int, decide: Decide) -> list[_Level]:
    """Play all hands to their ends; the positions of each depth."""
    game, rollout = agents.game, agents.rollout
    rollout.tables.deal()
    rollout.hands += len(rollout.tables.records)
    tables = Tables(game, 0, 0)
    tables.use(copied(rollout.tables.records))
    table = parent = action = np.arange(len(tables.records))
    levels: list[_Level] = []
    while len(tables.records):
        over = tables.records["over"] != 0
        ended, live = np.flatnonzero(over), np.flatnonzero(~over)
        value = np.zeros(len(over))
        value[ended] = tables.payoffs(ended)[:, traverser]
        records, table = tables.records.take(live), table[live]
        mask, copy = tables.legal(live), agents.decides(records, table)
        observation, _ = agents.known(records)
        chances = decide(observation, mask, copy) if len(live) else np.zeros(mask.shape)
        mine = records["to_act"] == traverser
        seen = Decisions(observation, mask, copy, chances.astype(np.float64))
        levels.append(_Level(parent, action, live, mine, seen, value))

        played = mask & mine[:, None]
        others = np.flatnonzero(~mine)
        drawn = draw(chances[others], agents.generator.random(len(others)))
        played[others, drawn] = True
        parent, action = np.nonzero(played)
        hands = f"{len(rollout.tables.records):,} hands"
        what = f"algo.hands: {hands} lead to {len(parent):,} positions and"
        tables_each = 2 * game.table.itemsize  # those of the next level too
        seen_bytes = sum(level.seen.nbytes for level in levels)
        seen_bytes += len(parent) * seen.nbytes // max(len(live), 1)
        # what was seen is there twice when all levels are joined
        demand(what, 2 * seen_bytes + len(parent) * tables_each, torch.device("cpu"))
        tables.use(records.take(parent))
        tables.step(action)
        table = table[parent]
    return levels


def _joined(parts: list[tuple[Decisions, np.ndarray]]) -> Decisions:
    """Some decisions of each level, as one."""
    names = ("observation", "mask", "copy", "told")
    return Decisions(
        *(np.concatenate([getattr(seen, name)[rows] for seen, rows in parts]) for name in names)
    )
