"""Games, players and evaluators for the tests of evaluation."""

from dataclasses import replace

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from toy_games import leduc

from poker_rl.config.build import build
from poker_rl.config.option_files import SHIPPED_OPTION_DIR, to_plain_dict
from poker_rl.games import get_tree, load_game
from poker_rl.nets import MLPConfig, NetDimensions
from poker_rl.nets.observation_encoders import ObservationEncoder
from poker_rl.players import load_player
from poker_rl.players.network_player import NetworkPlayer, count_networks_per_instance

KUHN, LEDUC, HOLDEM = map(load_game, ("kuhn", "leduc", "limit_holdem"))
KUHN_3P = replace(KUHN, name="kuhn_3p", seats=3, ranks="TJQK")
FLOP = load_game("flop_holdem")
NINE = replace(FLOP, name="nine", ranks="QKA", suits="cdh", max_raises=[1, 1], raise_sizes=[2, 4])
STREETS = {"board_cards": [0, 1, 1], "openers": [0, 0, 1]}
STREETS |= {"raise_sizes": [2, 4, 4], "max_raises": [1, 1, 1]}
THREE_STREETS = replace(leduc(), name="three_streets", **STREETS)


def loader(game):
    """Return the function with which evaluators load players."""
    return lambda spec: load_player(spec, game)


def evaluation(game=KUHN, name="default", **settings):
    """Build the evaluator of an option of `conf/evaluation` with some settings changed."""
    overrides = ["+budget_unit=decisions"]
    overrides += [f"evaluation.{key}={value}" for key, value in settings.items()]
    with initialize_config_dir(str(SHIPPED_OPTION_DIR), version_base="1.3"):
        node = to_plain_dict(compose(f"evaluation/{name}", overrides))["evaluation"]
    return build(node, "evaluation", game=game, load=loader(game), seed=0)


class Policies:
    """Player with K instances; `policies` [K, I, A] hold the probabilities of A actions."""

    def __init__(self, game, policies):
        self.game, self.policies, self.instance_count = game, policies, len(policies)

    def select_instance(self, k):
        return Policies(self.game, self.policies[k : k + 1])

    def action_probs(self, records):
        infosets = get_tree(self.game).lookup_infosets(records).reshape(self.instance_count, -1)
        rows = zip(self.policies, infosets, strict=True)
        return np.concatenate([policy[infoset] for policy, infoset in rows])


def random_policies(game, count=1, seed=0):
    """Return random policies with positive probabilities, [K, I, A]."""
    legal = get_tree(game).legal_mask
    weights = np.random.default_rng(seed).exponential(size=(count, *legal.shape)) * legal
    return weights / weights.sum(-1, keepdims=True)


def build_network_player(
    game, net, sharing="shared", player_class=NetworkPlayer, instances=1, scale=20.0
):
    """Return an untrained player; a larger `scale` makes the outputs of its networks differ more.

    `net` is the configuration of its networks, or the name of their features.
    """
    if isinstance(net, str):
        net = MLPConfig(hidden_sizes=[16], activation="relu", init="torch", features=net)
    encoder = ObservationEncoder(game, net.features)
    dimensions = NetDimensions(
        inputs=encoder.size,
        outputs=game.action_count,
        replicas=instances * count_networks_per_instance(game, sharing),
        output_init_scale=scale,
        history_shape=encoder.history_shape,
    )
    module = net.build_module(dimensions, torch.Generator().manual_seed(0))
    return player_class(game, net, module, sharing, instances)
