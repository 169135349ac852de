"""Games, players and evaluations as the tests of evaluation want them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hydra import compose, initialize_config_dir

from poker_rl.config.build import build
from poker_rl.config.options import CONF, option, plain
from poker_rl.games.tree import tree_of
from poker_rl.players.load import load_player

KUHN, LEDUC, HOLDEM = (
    build(option("game", name), "game") for name in ("kuhn", "leduc", "limit_holdem")
)
KUHN_3P = replace(KUHN, name="kuhn_3p", seats=3, ranks="TJQK")


def loader(game):
    """What an evaluation is given to load the players it names."""
    return lambda spec: load_player(spec, game)


def evaluation(game=KUHN, name="default", opponent="null", **settings):
    """The evaluation of that name in `conf/evaluation`, with settings of its own."""
    root = {"budget_unit": "decisions", "opponent": opponent}
    overrides = [f"+{key}={value}" for key, value in root.items()]
    overrides += [f"evaluation.{key}={value}" for key, value in settings.items()]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        node = plain(compose(f"evaluation/{name}", overrides))["evaluation"]
    return build(node, "evaluation", game=game, load=loader(game), seed=0)


class Policies:
    """A player whose instances look their policies up, [K, I, A]."""

    def __init__(self, game, policies):
        self.game, self.policies, self.instances = game, policies, len(policies)

    def instance(self, k):
        return Policies(self.game, self.policies[k : k + 1])

    def probabilities(self, records):
        infosets = tree_of(self.game).infoset_of(records).reshape(self.instances, -1)
        rows = zip(self.policies, infosets, strict=True)
        return np.concatenate([policy[infoset] for policy, infoset in rows])


def random_policies(game, count=1, seed=0):
    """Policies with every probability likely, [K, I, A]."""
    legal = tree_of(game).legal
    weights = np.random.default_rng(seed).exponential(size=(count, *legal.shape)) * legal
    return weights / weights.sum(-1, keepdims=True)
