"""Parts of learners: rollouts, replay buffers, gradient steps, average policies, collectives.

A network learner derives from `poker_rl.algos.NetworkLearner`, which lists its methods.

Letters in shapes of arrays: K network replicas; N decisions of a batch; B rows, in [K, B] the rows
of each replica; A actions; L entries of a padded list of legal actions; W numbers of an
observation; H numbers that stand for the hidden cards, which are the other players' cards.

This package imports config, games, nets and players.
"""

from poker_rl.learning.advantages import compute_gae
from poker_rl.learning.buffers.replay_buffer import Column, ReplayBuffer
from poker_rl.learning.deduplicated_inputs import DeduplicatedInputs
from poker_rl.learning.gradient_steps import set_learning_rates, take_gradient_step
from poker_rl.learning.learner_services import (
    LearnerContext,
    LearnerServices,
    SharingAndSeatingSettings,
)
from poker_rl.learning.rollout import (
    HAND_ENDED,
    NEXT_PENDING,
    DecisionsToMake,
    Rollout,
    RolloutBatch,
)

__all__ = [
    "HAND_ENDED",
    "NEXT_PENDING",
    "Column",
    "DecisionsToMake",
    "DeduplicatedInputs",
    "LearnerContext",
    "LearnerServices",
    "ReplayBuffer",
    "Rollout",
    "RolloutBatch",
    "SharingAndSeatingSettings",
    "compute_gae",
    "set_learning_rates",
    "take_gradient_step",
]
