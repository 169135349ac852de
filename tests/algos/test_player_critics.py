"""Values of a player's critic beside the exact values of its policy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toy_games import kuhn
from tree_values import compute_counterfactual_values

from poker_rl.algos import load_algorithm
from poker_rl.games.game_tree import get_tree
from poker_rl.players.player_loader import load_player
from poker_rl.storage.checkpoint import save_snapshot

KUHN = kuhn()
TREE = get_tree(KUHN)


def compute_state_values(policy: np.ndarray) -> np.ndarray:
    """Return what the owner of each information set wins if all play `policy` [I, A], in chips."""
    values = np.zeros(TREE.infoset_count)
    for seat in range(KUHN.seats):
        _, reach, won = compute_counterfactual_values(TREE, policy, seat)
        own = TREE.infoset_seat == seat
        values[own] = won[own] / reach[own]
    return values


def test_ppos_critic_tells_what_a_decision_is_worth_in_chips() -> None:
    """Six runs were off by .044 to .081 chips rms and .171 at most; values range from -1 to 1.9.

    The reward scale of 2 chips would be off by more than half of that.
    """
    learner = load_algorithm("ppo", KUHN)
    while learner.progress.decisions < 60_000:
        learner.learn()
    players = learner.players()
    for name, most in (("current", 0.15), ("weight_average", 0.2)):
        policy = players[name].action_probs(TREE.infoset_records)
        estimates = players[name].state_values(TREE.infoset_records)
        assert estimates is not None
        assert estimates.shape == (TREE.infoset_count,)
        assert players[name].action_values(TREE.infoset_records) is None
        worth = compute_state_values(policy)
        assert np.sqrt(np.square(estimates - worth).mean()) < most


@pytest.mark.parametrize(
    ("algo", "settings"),
    [
        ("ppo", ["algo.network_sharing=per_seat", "algo.instances=3", "algo.shared_layers=1"]),
        ("actor_critic", ["algo.critic_view=own", "algo.network_sharing=per_agent"]),
        ("nfsp", []),
    ],
)
def test_a_snapshot_keeps_the_values_and_one_without_still_loads(
    algo: str, settings: list[str], tmp_path: Path
) -> None:
    players = load_algorithm(algo, KUHN, *settings).players()
    states = {name: player.to_dict() for name, player in players.items()}
    save_snapshot(tmp_path, 2, {"game": KUHN.to_dict(), "players": states})
    old = {
        name: {k: v for k, v in state.items() if k != "critic"} for name, state in states.items()
    }
    save_snapshot(tmp_path, 1, {"game": KUHN.to_dict(), "players": old})
    for name, player in players.items():
        estimates = player.state_values(np.tile(TREE.infoset_records, player.instance_count))
        for k in range(player.instance_count):
            loaded, before = (load_player(f"{tmp_path}@{at}:{name}.{k}", KUHN) for at in (2, 1))
            assert before.state_values(TREE.infoset_records) is None
            values = loaded.state_values(TREE.infoset_records)
            if estimates is None:
                assert values is None
            else:
                own = estimates.reshape(player.instance_count, -1)[k]
                np.testing.assert_allclose(values, own, atol=1e-6)
