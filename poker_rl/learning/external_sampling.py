"""External sampling: all legal actions of one seat, the traverser, are played; the rest is sampled.

Lanctot et al., "Monte Carlo sampling for regret minimization" (2009). All hands advance together,
one action at a time: a table at which the traverser decides is copied for each legal action.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import torch

from poker_rl.games.tables import Tables, copy_records
from poker_rl.learning.learner_services import LearnerServices
from poker_rl.learning.memory_checks import check_memory
from poker_rl.players.player import sample_from_probs

PolicyFunction = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Policy: observations [B, W], legal actions [B, A] and replicas [B] -> probabilities [B, A]."""


@dataclass
class TraversalDecisions:
    """N decisions visited in a traversal."""

    observation: np.ndarray  # [N, W]
    mask: np.ndarray  # legal actions [N, A] bool
    replica: np.ndarray  # network replica that decided [N] int64
    targets: np.ndarray  # sampled regrets in chips, or probabilities of actions [N, A] float64

    def __len__(self) -> int:
        return len(self.replica)

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, field.name).nbytes for field in fields(self))


@dataclass
class _TreeLevel:
    """Positions after equally many actions: n, of which m are decisions."""

    parent: np.ndarray  # index of the decision on the level above that led here [n] int64
    action: np.ndarray  # action that was played at that decision [n] int64
    nonterminal: np.ndarray  # indices of the positions that are decisions [m] int64
    is_traverser: np.ndarray  # whether the traverser decides [m] bool
    decisions: TraversalDecisions  # the m decisions; `targets` are probabilities [m, A]
    traverser_value: np.ndarray  # chips won by the traverser [n] float64; 0 until it is known


def traverse(
    services: LearnerServices, traverser: int, compute_policy: PolicyFunction
) -> tuple[TraversalDecisions, TraversalDecisions]:
    """Deal a hand at every table and traverse its tree by external sampling.

    Return the traverser's decisions, whose targets are sampled regrets in chips (value of the
    action minus value of the policy), and those of the other seats, whose targets are policies.
    """
    levels = _expand_levels(services, traverser, compute_policy)
    regrets: list[np.ndarray] = []
    for i, level in reversed(list(enumerate(levels))):
        action_values = np.zeros_like(level.decisions.targets)  # [m, A]
        if i + 1 < len(levels):
            next_level = levels[i + 1]
            action_values[next_level.parent, next_level.action] = next_level.traverser_value
        # The action of another seat was sampled, so its value counts with weight 1.
        weights = np.where(level.is_traverser[:, None], level.decisions.targets, 1.0)
        state_values = (weights * action_values).sum(1)
        level.traverser_value[level.nonterminal] = state_values
        regret = (action_values - state_values[:, None]) * level.decisions.mask
        regrets.append(regret[level.is_traverser])
    traverser_decisions = _concatenate_decisions(levels, is_traverser=True)
    traverser_decisions.targets = np.concatenate(regrets[::-1])
    return traverser_decisions, _concatenate_decisions(levels, is_traverser=False)


def _expand_levels(
    services: LearnerServices, traverser: int, compute_policy: PolicyFunction
) -> list[_TreeLevel]:
    game, rollout = services.game, services.rollout
    rollout.tables.deal()
    rollout.hands_played += len(rollout.tables.records)
    tables = Tables(game, 0, 0)
    tables.load_records(copy_records(rollout.tables.records))
    table = parent = action = np.arange(len(tables.records))
    levels: list[_TreeLevel] = []
    while len(tables.records):
        is_over = tables.records["over"] != 0
        ended, nonterminal = np.flatnonzero(is_over), np.flatnonzero(~is_over)
        value = np.zeros(len(is_over))
        value[ended] = tables.payoffs(ended)[:, traverser]
        records, table = tables.records.take(nonterminal), table[nonterminal]
        mask, replica = tables.legal_mask(nonterminal), services.assign_replicas(records, table)
        observation, _ = services.encode_records(records)
        probs = mask  # empty if all hands are over
        if len(nonterminal):
            probs = compute_policy(observation, mask, replica)
        is_traverser = records["to_act"] == traverser
        decisions = TraversalDecisions(observation, mask, replica, probs.astype(np.float64))
        levels.append(_TreeLevel(parent, action, nonterminal, is_traverser, decisions, value))

        is_played = mask & is_traverser[:, None]
        other_rows = np.flatnonzero(~is_traverser)
        sampled_actions = sample_from_probs(
            probs[other_rows], services.generator.random(len(other_rows))
        )
        is_played[other_rows, sampled_actions] = True
        parent, action = np.nonzero(is_played)
        setting = f"algo.traversals: {len(rollout.tables.records):,} hands lead to"
        setting += f" {len(parent):,} positions and"
        table_bytes = 2 * game.table_dtype.itemsize  # tables of this level and of the next one
        decision_bytes = sum(level.decisions.nbytes for level in levels)
        decision_bytes += len(parent) * decisions.nbytes // max(len(nonterminal), 1)
        # Decisions are in memory twice while the levels are concatenated.
        check_memory(setting, 2 * decision_bytes + len(parent) * table_bytes, torch.device("cpu"))
        tables.load_records(records.take(parent))
        tables.step(action)
        table = table[parent]
    return levels


def _concatenate_decisions(levels: list[_TreeLevel], is_traverser: bool) -> TraversalDecisions:
    def concatenate(name: str) -> np.ndarray:
        return np.concatenate(
            [getattr(level.decisions, name)[level.is_traverser == is_traverser] for level in levels]
        )

    return TraversalDecisions(*(concatenate(field.name) for field in fields(TraversalDecisions)))
