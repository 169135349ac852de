"""A network learner and network inputs of a plug-in, written with public names only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from bitwise_resume import check_bitwise_resume
from learner_contexts import cpu_context
from toy_games import kuhn

from poker_rl.algos import NetworkLearner, build_algorithm
from poker_rl.config import ConfigError, PositiveFloat, PositiveInt, plugins
from poker_rl.config.option_files import load_option
from poker_rl.config.plugins import Plugin
from poker_rl.games import Game
from poker_rl.learning import (
    DeduplicatedInputs,
    LearnerContext,
    LearnerServices,
    SharingAndSeatingSettings,
    compute_gae,
    take_gradient_step,
)
from poker_rl.nets import MLPConfig, masked_log_softmax
from poker_rl.players import Player


@dataclass(kw_only=True)
class PolicyGradient(NetworkLearner, SharingAndSeatingSettings):
    """Policy gradient without a baseline."""

    hands: PositiveInt
    lr: PositiveFloat

    warm_start_parts: ClassVar = ("policy",)

    def __post_init__(self, context: LearnerContext) -> None:
        self.services = LearnerServices(context, self, tables_per_instance=self.hands)
        self._network = self.services.build_network(context.game.action_count)
        self._optimizer = torch.optim.Adam(self._network.parameters(), lr=self.lr)

    def run_iteration(self) -> dict[str, float]:
        services = self.services
        batch = services.rollout.play_full_hands(
            lambda rows: services.sample_actions(self._network, rows)
        )
        chips = compute_gae(batch.reward, np.zeros_like(batch.reward), batch.next_row, 1, 1)
        inputs = DeduplicatedInputs(batch.observation, services.device)
        logits = inputs.forward_all(self._network, services.to_tensor(batch.replica))
        log_policy = masked_log_softmax(logits, services.to_tensor(batch.mask))
        log_prob = log_policy.gather(1, services.to_tensor(batch.action)[:, None])[:, 0]
        loss = -(log_prob * services.to_tensor(chips)).sum() / self.hands
        take_gradient_step(loss, self._optimizer)
        self.add_progress(len(batch))
        self.progress.updates += 1
        return {"loss/policy": loss.item()}

    def stateful_parts(self) -> Any:
        return {"policy": self._network, "optimizer": self._optimizer}

    def players(self) -> dict[str, Player]:
        return self.services.build_players(current=self._network)


@dataclass(kw_only=True, frozen=True)
class CardAndPot:
    """Two features: the rank of the player's card, and the pot in units of `chips`."""

    chips: PositiveFloat

    def encode(self, game: Game, records: np.ndarray) -> np.ndarray:
        card = records["deck"][np.arange(len(records)), records["to_act"]]
        pot = records["paid"].sum(1) / self.chips
        return np.stack([card, pot], 1).astype(np.float32)


@dataclass(kw_only=True, frozen=True)
class WrongFeatures:
    def encode(self, game: Game, records: np.ndarray) -> np.ndarray:
        return np.zeros(len(records))


@pytest.fixture(autouse=True)
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register this module as an installed plug-in."""
    this_module = Plugin(__name__, "tests", "1.0", Path(__file__).parent)
    monkeypatch.setattr(plugins, "list_plugins", lambda: [this_module])


def config(**algo: Any) -> dict[str, Any]:
    settings = {"hands": 200, "lr": 0.01, "network_sharing": "shared", "instances": 2}
    return {
        "algo": {"_target_": f"{__name__}.PolicyGradient", "seating": "fixed", **settings, **algo},
        "net": load_option("net", "mlp_small")
        | {"features": {"_target_": f"{__name__}.CardAndPot", "chips": 4}},
    }


def learner(seed: int = 0, **algo: Any) -> Any:
    return build_algorithm(config(**algo), kuhn(), torch.device("cpu"), seed)


def test_plugin_learner_with_own_features_trains_and_is_saved() -> None:
    algo = learner()
    before = [weight.detach().clone() for weight in algo._network.parameters()]
    for _ in range(3):
        assert np.isfinite(algo.learn()["loss/policy"])
    assert algo.progress.hands == 3 * 2 * 200
    assert algo.progress.decisions > algo.progress.hands
    after = list(algo._network.parameters())
    moved = [(a != b).flatten(1).any(1) for a, b in zip(before, after, strict=True)]
    assert torch.stack(moved).any(0).all()  # weights of both instances moved
    assert next(algo._network.parameters()).shape[:2] == (2, 2)  # replicas, inputs
    player = algo.players()["current"]
    reloaded = type(player).from_dict(player.to_dict(), kuhn(), torch.device("cpu"))
    assert player.to_dict()["net"]["features"]["chips"] == 4
    assert reloaded.net_config.features == CardAndPot(chips=4)


def test_plugin_learner_resumes_bitwise() -> None:
    check_bitwise_resume(kuhn(), lambda seed: learner(seed, network_sharing="per_betting_node"))


def test_features_of_a_wrong_shape_are_refused() -> None:
    net = MLPConfig(hidden_sizes=[4], activation="relu", init="torch", features=WrongFeatures())
    sharing = SharingAndSeatingSettings(network_sharing="shared", instances=1, seating="fixed")
    with pytest.raises(ConfigError, match=r"^net.features: WrongFeatures.encode returned float64"):
        LearnerServices(cpu_context(kuhn(), net), sharing, tables_per_instance=1)
