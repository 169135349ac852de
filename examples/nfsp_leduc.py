"""NFSP on Leduc hold'em in one file: `python examples/nfsp_leduc.py --steps 20000`.

Neural fictitious self-play (Heinrich and Silver, arXiv:1603.01121). In each hand, each seat plays
its best response, learned by Q-learning, with probability ETA, otherwise its average policy. The
average policy learns from the actions of best responses. One network of each kind plays both seats.
"""

from __future__ import annotations

import argparse
from copy import deepcopy

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.config import set_threads
from poker_rl.evaluation import exploitability
from poker_rl.games import Game, GameTree, Tables, get_tree, load_game
from poker_rl.nets import masked_log_softmax, masked_softmax
from poker_rl.players import sample_from_probs

TABLES, BATCH_SIZE = 256, 512
ETA = 0.2  # share of hands in which a seat plays its best response
REPLAY_CAPACITY, RESERVOIR_CAPACITY = 200_000, 1_000_000
LR_START, LR_END = 2e-3, 2e-4
EPSILON = 0.06  # initial probability of a random action in a best response
TARGET_INTERVAL = 300  # steps between updates of the target network


class Buffer:
    """Buffer of rows: the newest rows, or a uniform sample of all rows added (a reservoir)."""

    def __init__(self, capacity: int, is_reservoir: bool, generator: np.random.Generator) -> None:
        self.capacity, self.is_reservoir, self.generator = capacity, is_reservoir, generator
        self.columns: list[np.ndarray] = []
        self.added_count = 0  # number of rows added so far

    def add(self, *columns: np.ndarray) -> None:
        """Add N rows; each column is [N, ...]."""
        if not self.columns:
            self.columns = [np.zeros((self.capacity, *c.shape[1:]), c.dtype) for c in columns]
        number = self.added_count + np.arange(len(columns[0]))
        self.added_count += len(number)
        if self.is_reservoir:  # row n is kept with probability capacity / (n + 1)
            index = np.where(number < self.capacity, number, self.generator.integers(0, number + 1))
        else:
            index = number % self.capacity
        stays = index < self.capacity
        for memory, column in zip(self.columns, columns, strict=True):
            memory[index[stays]] = column[stays]

    def sample(self) -> list[Tensor]:
        """Return a random batch of rows."""
        rows = self.generator.integers(0, min(self.added_count, self.capacity), BATCH_SIZE)
        return [torch.as_tensor(memory[rows]) for memory in self.columns]


class SelfPlay:
    """Tables that fill the buffers, with the policy and the last decision of each seat."""

    def __init__(self, game: Game, seed: int, generator: np.random.Generator) -> None:
        self.tables, self.generator = Tables(game, TABLES, seed), generator
        shape = TABLES, game.seats
        self.last_observation = np.zeros((*shape, game.observation_size), np.float32)
        self.last_action = np.full(shape, -1)  # -1: no decision in this hand
        self.plays_best_response = np.zeros(shape, bool)
        self.deal(np.arange(TABLES))

    def deal(self, rows: np.ndarray) -> None:
        """Begin a hand at the tables `rows`, and sample which policy each seat plays."""
        self.tables.deal(rows)
        self.last_action[rows] = -1
        self.plays_best_response[rows] = self.generator.random(self.last_action[rows].shape) < ETA

    def step(self, q_network: nn.Module, policy_network: nn.Module, epsilon: float,
             replay: Buffer, reservoir: Buffer) -> None:  # fmt: skip
        """Play one action at each table, and add decisions to the buffers."""
        rows, seat = np.arange(TABLES), self.tables.records["to_act"].astype(np.int64)
        observation, mask = self.tables.observe().astype(np.float32), self.tables.legal_mask()
        self.store(replay, rows, seat, np.zeros(TABLES, np.float32), observation, mask)
        probs = compute_probs(q_network, policy_network, observation, mask, epsilon,
                              self.plays_best_response[rows, seat])  # fmt: skip
        action = sample_from_probs(probs, self.generator.random(TABLES))
        is_best = self.plays_best_response[rows, seat]
        reservoir.add(observation[is_best], mask[is_best], action[is_best])
        self.last_observation[rows, seat], self.last_action[rows, seat] = observation, action
        self.tables.step(action)
        ended = np.flatnonzero(self.tables.records["over"])
        payoffs = self.tables.payoffs(ended).astype(np.float32)
        for winner in range(payoffs.shape[1]):
            # No action is legal after the end, so `compute_q_loss` adds no next Q to the payoff.
            self.store(replay, ended, np.full(len(ended), winner), payoffs[:, winner],
                       observation[ended], np.zeros_like(mask[ended]))  # fmt: skip
        self.deal(ended)

    def store(self, replay: Buffer, rows: np.ndarray, seat: np.ndarray, reward: np.ndarray,
              next_observation: np.ndarray, next_mask: np.ndarray) -> None:  # fmt: skip
        """Store the transition after each seat's last decision, if it has decided in this hand."""
        action = self.last_action[rows, seat]
        has_decided = action >= 0
        columns = self.last_observation[rows, seat], action, reward, next_observation, next_mask
        replay.add(*(column[has_decided] for column in columns))


def compute_probs(q_network: nn.Module, policy_network: nn.Module, observation: np.ndarray,
                  mask: np.ndarray, epsilon: float, is_best: np.ndarray) -> np.ndarray:  # fmt: skip
    """Return probabilities [tables, actions]: epsilon-greedy if `is_best`, else average policy."""
    with torch.no_grad():
        q_values = q_network(torch.as_tensor(observation)).numpy()
        average = masked_softmax(
            policy_network(torch.as_tensor(observation)), torch.as_tensor(mask)
        )
    greedy = np.where(mask, q_values, -np.inf).argmax(1)
    best = epsilon * mask / mask.sum(1, keepdims=True)
    best[np.arange(len(mask)), greedy] += 1 - epsilon
    return np.where(is_best[:, None], best, average.double().numpy())


def compute_q_loss(q_network: nn.Module, target_network: nn.Module, batch: list[Tensor]) -> Tensor:
    """Return the mean squared error of Q against the reward plus the target network's best Q."""
    observation, action, reward, next_observation, next_mask = batch
    with torch.no_grad():
        next_q = target_network(next_observation).masked_fill(~next_mask, -torch.inf).amax(1)
    target = reward + torch.where(next_mask.any(1), next_q, 0)
    q_value = q_network(observation).gather(1, action[:, None])[:, 0]
    return (q_value - target).square().mean()


def compute_policy_loss(policy_network: nn.Module, batch: list[Tensor]) -> Tensor:
    """Return the average policy's mean cross-entropy with the actions of best responses."""
    observation, mask, action = batch
    log_probs = masked_log_softmax(policy_network(observation), mask)
    return -log_probs.gather(1, action[:, None]).mean()


def measure_exploitability(policy_network: nn.Module, tree: GameTree) -> float:
    """Return the exact exploitability of the average policy, in chips a hand."""
    tables = Tables(tree.game, 0, seed=0)
    tables.load_records(tree.infoset_records.copy())
    observation, mask = (torch.as_tensor(x) for x in (tables.observe(), tables.legal_mask()))
    with torch.no_grad():
        policy = masked_softmax(policy_network(observation.float()), mask).double().numpy()
    return exploitability(tree, policy / policy.sum(1, keepdims=True))


def main() -> None:
    """Train and print the exploitability of the average policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="leduc")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    set_threads(1)  # the fastest choice for small networks
    torch.manual_seed(arguments.seed)
    generator, game = np.random.default_rng(arguments.seed), load_game(arguments.game)
    tree, self_play = get_tree(game), SelfPlay(game, arguments.seed, generator)
    q_network, policy_network = (
        nn.Sequential(
            nn.Linear(game.observation_size, 128), nn.ReLU(), nn.Linear(128, game.action_count)
        )
        for _ in range(2)
    )
    target_network = deepcopy(q_network)
    optimizer = torch.optim.Adam([*q_network.parameters(), *policy_network.parameters()])
    replay = Buffer(REPLAY_CAPACITY, False, generator)
    reservoir = Buffer(RESERVOIR_CAPACITY, True, generator)
    for step in range(arguments.steps + 1):
        if step % max(1, arguments.steps // 10) == 0:
            distance = measure_exploitability(policy_network, tree)
            print(f"step {step}: exploitability {distance:.4f} chips a hand")
        self_play.step(
            q_network, policy_network, EPSILON / (1 + step / 500) ** 0.5, replay, reservoir
        )
        if step % TARGET_INTERVAL == 0:
            target_network.load_state_dict(q_network.state_dict())
        if min(replay.added_count, reservoir.added_count) >= BATCH_SIZE:
            progress = step / arguments.steps
            optimizer.param_groups[0]["lr"] = LR_START + (LR_END - LR_START) * progress
            loss = compute_q_loss(q_network, target_network, replay.sample())
            optimizer.zero_grad()
            (loss + compute_policy_loss(policy_network, reservoir.sample())).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
