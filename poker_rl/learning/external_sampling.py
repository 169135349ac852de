"""External sampling: all legal actions of one seat, the traverser, are played; the rest is sampled.

Lanctot et al., "Monte Carlo sampling for regret minimization" (2009). All hands advance together,
one action at a time: a table at which the traverser decides is copied for each legal action.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from poker_rl.games.tables import Tables, copy_records
from poker_rl.learning.learner_services import LearnerServices
from poker_rl.learning.memory_checks import check_memory
from poker_rl.players.action_sampling import sample_from_probs

PolicyFunction = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Policy: observations [B, W], legal actions [B, A] and replicas [B] -> probabilities [B, A]."""


class TraversalDecisions(NamedTuple):
    """N decisions visited in a traversal."""

    observation: np.ndarray  # [N, W]
    mask: np.ndarray  # legal actions [N, A] bool
    replica: np.ndarray  # network replica that decided [N] int64
    targets: np.ndarray  # sampled regrets in chips, or probabilities of actions [N, A] float64


def traverse(
    services: LearnerServices, traverser: int, compute_policy: PolicyFunction
) -> tuple[TraversalDecisions, TraversalDecisions]:
    """Deal a hand at every table and traverse its tree by external sampling.

    Return the traverser's decisions, whose targets are sampled regrets in chips (value of the
    action minus value of the policy), and those of the other seats, whose targets are policies.
    """
    game, rollout = services.game, services.rollout
    rollout.tables.deal()
    hand_count = len(rollout.tables.records)
    rollout.hands_played += hand_count
    tables = Tables(game, 0, 0)
    tables.load_records(copy_records(rollout.tables.records))
    levels: list[tuple[TraversalDecisions, np.ndarray]] = []  # decisions, which are the traverser's

    def compute_values(table_index: np.ndarray) -> np.ndarray:
        """Play on from the positions [n] in `tables`; return the traverser's winnings, [n]."""
        is_over = tables.records["over"] != 0
        ended, nonterminal = np.flatnonzero(is_over), np.flatnonzero(~is_over)
        values = np.zeros(len(is_over))
        values[ended] = tables.payoffs(ended)[:, traverser]
        if not len(nonterminal):
            return values
        records, table_index = tables.records.take(nonterminal), table_index[nonterminal]
        mask, replica = (
            tables.legal_mask(nonterminal),
            services.assign_replicas(records, table_index),
        )
        observation, _ = services.encode_records(records)
        probs = compute_policy(observation, mask, replica).astype(np.float64)
        is_traverser = records["to_act"] == traverser
        levels.append((TraversalDecisions(observation, mask, replica, probs), is_traverser))

        is_played = mask & is_traverser[:, None]
        other_rows = np.flatnonzero(~is_traverser)
        uniform = services.generator.random(len(other_rows))
        is_played[other_rows, sample_from_probs(probs[other_rows], uniform)] = True
        parent, action = np.nonzero(is_played)
        setting = f"algo.traversals: {hand_count:,} hands lead to {len(parent):,} positions and"
        level_bytes = [sum(column.nbytes for column in decisions) for decisions, _ in levels]
        decision_bytes = sum(level_bytes) + len(parent) * level_bytes[-1] // len(nonterminal)
        table_bytes = 2 * game.table_dtype.itemsize  # tables of this level and of the next one
        # Decisions are in memory twice while the levels are concatenated.
        check_memory(setting, 2 * decision_bytes + len(parent) * table_bytes, torch.device("cpu"))
        tables.load_records(records.take(parent))
        tables.step(action)
        del records  # which would otherwise stay in memory at every level
        action_values = np.zeros(probs.shape)
        action_values[parent, action] = compute_values(table_index[parent])
        # The action of another seat was sampled, so its value counts with weight 1.
        weights = np.where(is_traverser[:, None], probs, 1.0)
        state_values = (weights * action_values).sum(1, keepdims=True)
        values[nonterminal] = state_values[:, 0]
        regrets = (action_values - state_values) * mask
        probs[is_traverser] = regrets[is_traverser]  # the targets of the traverser's decisions
        return values

    def select_decisions(of_traverser: bool) -> TraversalDecisions:
        parts = [[column[rows == of_traverser] for column in level] for level, rows in levels]
        return TraversalDecisions(*map(np.concatenate, zip(*parts, strict=True)))

    compute_values(np.arange(hand_count))
    return select_decisions(True), select_decisions(False)
