"""PPO in self-play on Leduc hold'em in one file: `python examples/ppo_leduc.py --updates 800`.

PPO is by Schulman et al., arXiv:1707.06347. One network plays both seats. Rewards are the chips won
at the end of a hand. The measured player is a moving average of the network's weights; its
exploitability falls while the entropy bonus decreases.
"""

from __future__ import annotations

import argparse
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.config import set_threads
from poker_rl.evaluation import exploitability
from poker_rl.games import GameTree, Tables, get_tree, load_game
from poker_rl.nets import masked_log_softmax
from poker_rl.players import sample_from_probs

TABLES = 2048  # hands that are played before each update
MINIBATCHES = 4
CLIP, GAE_LAMBDA, VALUE_COEF, MAX_GRAD_NORM = 0.2, 0.95, 0.5, 1.0
LR_START, LR_END = 2e-3, 1e-3
ENTROPY_START, ENTROPY_END = 0.15, 0.06  # coefficient of the entropy bonus
REWARD_SCALE = 4.0  # chips won are divided by it
EMA_DECAY = 0.99


class ActorCritic(nn.Module):
    """Policy network and value network with separate hidden layers."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.actor, self.critic = (
            nn.Sequential(
                nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, size)
            )
            for size in (actions, 1)
        )

    def forward(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return log-probabilities [B, A] of A actions, and values [B], for B observations."""
        return masked_log_softmax(self.actor(observation), mask), self.critic(observation)[:, 0]


@dataclass
class Step:
    """One decision at each of the B tables where the hand is not over; there are A actions."""

    rows: np.ndarray  # indices of the tables [B]
    seat: np.ndarray  # seat to act [B]
    observation: Tensor  # [B, features]
    mask: Tensor  # legal actions [B, A]
    action: Tensor  # [B]
    log_prob: Tensor  # log-probability of the action by the policy that took it [B]
    value: np.ndarray  # the critic's value for the seat to act [B]


def observe(tables: Tables, rows: np.ndarray | None = None) -> tuple[Tensor, Tensor]:
    """Return observations [B, features] and legal actions [B, A] of the seats to act."""
    observation = torch.as_tensor(tables.observe(rows), dtype=torch.float32)
    return observation, torch.as_tensor(tables.legal_mask(rows), dtype=torch.bool)


def play_hands(tables: Tables, network: ActorCritic, generator: np.random.Generator) -> list[Step]:
    """Play a hand at every table; return the decisions in the order of play."""
    steps: list[Step] = []
    tables.deal()
    while (rows := np.flatnonzero(tables.records["over"] == 0)).size:
        seat = tables.records["to_act"][rows].astype(np.int64)
        observation, mask = observe(tables, rows)
        with torch.no_grad():
            log_probs, value = network(observation, mask)
        action = sample_from_probs(log_probs.exp().double().numpy(), generator.random(len(rows)))
        tables.step(action, rows)
        chosen = torch.as_tensor(action)
        log_prob = log_probs.gather(1, chosen[:, None])[:, 0]
        steps.append(Step(rows, seat, observation, mask, chosen, log_prob, value.numpy()))
    return steps


def compute_advantages(steps: list[Step], payoffs: np.ndarray) -> list[np.ndarray]:
    """Return the advantage of each decision by generalized advantage estimation (GAE).

    The estimate uses the value of the seat's next decision in the hand or, after its last decision,
    the seat's payoff, from `payoffs` [tables, seats].
    """
    next_value, next_advantage = payoffs.copy(), np.zeros(payoffs.shape)
    advantages = []
    for step in reversed(steps):
        index = step.rows, step.seat
        delta = next_value[index] - step.value
        next_advantage[index] = delta + GAE_LAMBDA * next_advantage[index]
        next_value[index] = step.value
        advantages.append(next_advantage[index].copy())
    return advantages[::-1]


def update(
    network: ActorCritic, optimizer: torch.optim.Optimizer, batch: list[Tensor], entropy_coef: float
) -> None:
    """Take one gradient step on a minibatch of N decisions."""
    observation, mask, action, old_log_prob, advantage, value_target = batch
    log_probs, value = network(observation, mask)
    ratio = (log_probs.gather(1, action[:, None])[:, 0] - old_log_prob).exp()
    clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
    policy_loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
    value_loss = (value - value_target).square().mean()
    entropy = -(log_probs.exp() * log_probs).sum(1).mean()
    optimizer.zero_grad()
    (policy_loss + VALUE_COEF * value_loss - entropy_coef * entropy).backward()
    nn.utils.clip_grad_norm_(network.parameters(), MAX_GRAD_NORM)
    optimizer.step()


def play_and_update(
    tables: Tables,
    network: ActorCritic,
    optimizer: torch.optim.Optimizer,
    generator: np.random.Generator,
    progress: float,
) -> None:
    """Play a hand at each table, and learn from its decisions; `progress` goes from 0 to 1."""
    optimizer.param_groups[0]["lr"] = LR_START + (LR_END - LR_START) * progress
    entropy_coef = ENTROPY_START * (ENTROPY_END / ENTROPY_START) ** progress
    steps = play_hands(tables, network, generator)
    advantages = compute_advantages(steps, tables.payoffs() / REWARD_SCALE)
    advantage = torch.as_tensor(np.concatenate(advantages), dtype=torch.float32)
    value = torch.as_tensor(np.concatenate([step.value for step in steps]))
    columns = [
        torch.cat([getattr(step, name) for step in steps])
        for name in ("observation", "mask", "action", "log_prob")
    ]
    columns += [advantage, advantage + value]
    for rows in np.array_split(generator.permutation(len(advantage)), MINIBATCHES):
        update(network, optimizer, [column[rows] for column in columns], entropy_coef)


def measure_exploitability(network: ActorCritic, tree: GameTree) -> float:
    """Return the exact exploitability of the policy, in chips a hand."""
    tables = Tables(tree.game, 0, seed=0)
    tables.load_records(tree.infoset_records.copy())
    with torch.no_grad():
        log_probs, _ = network(*observe(tables))
    policy = log_probs.double().exp().numpy()
    return exploitability(tree, policy / policy.sum(1, keepdims=True))


def main() -> None:
    """Train, and print the exploitability of the moving average of the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="leduc")
    parser.add_argument("--updates", type=int, default=800)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    set_threads(1)  # the fastest choice for small networks
    torch.manual_seed(arguments.seed)
    generator = np.random.default_rng(arguments.seed)
    game = load_game(arguments.game)
    tree, tables = get_tree(game), Tables(game, TABLES, arguments.seed)
    network = ActorCritic(game.observation_size, game.action_count)
    average = deepcopy(network)
    optimizer = torch.optim.Adam(network.parameters())
    for number in range(arguments.updates + 1):
        if number % max(1, arguments.updates // 10) == 0:
            distance = measure_exploitability(average, tree)
            print(f"update {number}: exploitability {distance:.4f} chips a hand")
        play_and_update(tables, network, optimizer, generator, number / arguments.updates)
        with torch.no_grad():
            for mean, weight in zip(average.parameters(), network.parameters(), strict=True):
                mean.lerp_(weight, 1 - EMA_DECAY)


if __name__ == "__main__":
    main()
