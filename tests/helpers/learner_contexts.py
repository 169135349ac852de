"""Contexts and settings of small learners on the CPU, and measurements of their players."""

import numpy as np
import torch

from poker_rl.algos import build_algorithm
from poker_rl.config.compose import compose_plain_config
from poker_rl.config.option_files import load_option
from poker_rl.config.schedules import Constant, convert_horizons_to_steps
from poker_rl.config.target_classes import load_class
from poker_rl.evaluation import compute_seat_values, exploitability
from poker_rl.games import get_tree
from poker_rl.learning import LearnerContext
from poker_rl.learning.average_policy_network import AveragePolicySettings
from poker_rl.learning.buffers.insertion_rules import UniformReservoir
from poker_rl.learning.opponent_pool import OpponentPoolSettings
from poker_rl.learning.opponents import OpponentSettings
from poker_rl.nets import MLPConfig
from poker_rl.players import TabularPlayer


def mlp(*hidden_sizes, activation="relu", init="torch", features="observation"):
    """Return the configuration of a fully connected network."""
    sizes = list(hidden_sizes)
    return MLPConfig(hidden_sizes=sizes, activation=activation, init=init, features=features)


def cpu_context(game, net, seed=0, opponent=None):
    device, opponents = torch.device("cpu"), single_opponent(opponent)
    return LearnerContext(game=game, net=net, device=device, seed=seed, opponents=opponents)


def single_opponent(opponent):
    """Return the settings of a single opponent; None for self-play."""
    return None if opponent is None else OpponentSettings(players={"fixed": opponent})


def average_settings(**changed):
    settings = {"capacity": 1000, "insertion_rule": UniformReservoir(), "batch_size": 32}
    settings |= {"gradient_steps": 1, "optimizer": "adam", "lr": Constant(start=1e-3)}
    settings |= {"max_grad_norm": 1.0, "iteration_weight_power": 0.0}
    return AveragePolicySettings(**settings | changed)


def build_learner(algo, game, net, seed, opponent, settings):
    """Build a learner of `conf/algo` on the CPU; the objects in `settings` replace defaults."""
    defaults = load_option("algo", algo)
    learner_class = load_class(defaults.pop("_target_"))
    return learner_class(**defaults | settings, context=cpu_context(game, net, seed, opponent))


def ppo_settings(**changed):
    """Return PPO's settings for small runs; those in `changed` replace the others."""
    settings = {key: value for key, value in load_option("algo", "ppo").items() if key[0] != "_"}
    pool = OpponentPoolSettings(play_prob=0.0, snapshot_interval=1, capacity=1)
    settings |= {"tables": 64, "rollout_steps": 8, "minibatches": 2, "opponent_pool": pool}
    settings |= {"lr": Constant(start=3e-3), "entropy_coef": Constant(start=0.1)}
    return settings | {"clip_coef": Constant(start=0.2), "ema_decay": 0.95} | changed


def compose_learner(words, game, seed=0, opponents=None, device="cpu", *workers):
    """Build the learner of a run with the overrides `words` on its command line."""
    config = convert_horizons_to_steps(compose_plain_config(words))
    return build_algorithm(config, game, torch.device(device), seed, opponents, *workers)


def learn_decisions(learner, count):
    """Train a learner for at least this many decisions; return its last metrics."""
    while learner.progress.decisions < count:
        metrics = learner.learn()
    return metrics


def record_results(owner, name):
    """Return a list to which each later call of the method `name` appends its result."""
    method, results = getattr(owner, name), []

    def record(*arguments):
        results.append(method(*arguments))
        return results[-1]

    setattr(owner, name, record)
    return results


def set_outputs(module, outputs):
    """Change the last layer of a network so that its outputs are `outputs` for every input."""
    last = module.layers[-1]
    with torch.no_grad():
        last.weight.zero_()
        last.bias.copy_(torch.tensor(outputs).expand_as(last.bias))


def measure_exploitability(game, player):
    tree = get_tree(game)
    return exploitability(tree, player.action_probs(tree.infoset_records))


def always_fold(game):
    """Return a player that folds whenever it may, and else checks."""
    tree = get_tree(game)
    policy = np.zeros(tree.legal_mask.shape)
    policy[np.arange(tree.infoset_count), tree.legal_mask.argmax(1)] = 1
    return TabularPlayer(game, policy)


def compute_winnings(game, player, other):
    """Return a player's expected winnings in either seat against a tabular player, in chips."""
    tree = get_tree(game)
    policy = player.action_probs(tree.infoset_records)
    mixed = [
        np.where((tree.infoset_seat == seat)[:, None], policy, other.policy) for seat in (0, 1)
    ]
    return [compute_seat_values(tree, mixed[seat])[seat] for seat in (0, 1)]
