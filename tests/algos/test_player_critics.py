"""What a player expects of a hand, beside what it is worth exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toy_games import kuhn

from poker_rl.algos import load_algorithm
from poker_rl.games.game_tree import GameTree, get_tree
from poker_rl.players import Player
from poker_rl.players.player_loader import load_player
from poker_rl.storage.checkpoint import save_snapshot

KUHN = kuhn()
TREE = get_tree(KUHN)


def exact(tree: GameTree, policy: np.ndarray) -> np.ndarray:
    """What the owner of each information set wins in chips by each action, [I, A].

    All play `policy` [I, A] afterwards; of the hands that lead there each counts by the chance that
    the others and the deal lead to it. NaN where illegal.
    """
    worth = tree.node_payoffs.copy()  # of each node, [N, seats]
    others = np.ones_like(worth)  # the chance of the others' moves to each node
    chance = policy.ravel()[tree.edge[tree.deal_count :]]
    for node, p in zip(range(tree.deal_count, len(worth)), chance, strict=True):
        others[node] = others[tree.parent[node]]
        others[node, np.arange(tree.game.seats) != tree.seat[tree.parent[node]]] *= p
    for node, p in zip(range(len(worth) - 1, tree.deal_count - 1, -1), chance[::-1], strict=True):
        worth[tree.parent[node]] += p * worth[node]
    shape = tree.legal_mask.shape
    total, weight = np.zeros(shape), np.zeros(shape)
    for node in range(tree.deal_count, len(worth)):
        infoset, action = divmod(tree.edge[node], shape[1])
        seat = tree.infoset_seat[infoset]
        # the chance to come here does not hold the owner's own moves
        reach = others[tree.parent[node], seat]
        total[infoset, action] += reach * worth[node, seat]
        weight[infoset, action] += reach
    return np.where(tree.legal_mask, total, np.nan) / np.where(weight, weight, 1)


def trained(name: str, *settings: str, decisions: int, seed: int = 0) -> dict[str, Player]:
    learner = load_algorithm(name, KUHN, *settings, seed=seed)
    while learner.progress.decisions < decisions:
        learner.learn()
    return dict(learner.players())


def test_ppos_critic_tells_what_a_decision_is_worth_in_chips() -> None:
    """Six runs were off by .044 to .081 chips rms and .171 at most; values range from -1 to 1.9.

    The reward scale of 2 chips would be off by more than half of that.
    """
    players = trained("ppo", decisions=60_000)
    for name, most in (("current", 0.15), ("weight_average", 0.2)):
        policy = players[name].action_probs(TREE.infoset_records)
        told = players[name].state_values(TREE.infoset_records)
        assert told is not None
        assert told.shape == (TREE.infoset_count,)
        assert players[name].action_values(TREE.infoset_records) is None
        worth = (policy * np.nan_to_num(exact(TREE, policy))).sum(1)
        assert np.sqrt(np.square(told - worth).mean()) < most


def test_exact_values_of_uniform_play() -> None:
    worth = exact(TREE, TREE.build_uniform_policy())
    np.testing.assert_array_equal(worth[TREE.infoset_names.index("1 K r")], [-1, 2, np.nan])
    # a king that bets: the other one folds or calls, each half the time
    assert worth[TREE.infoset_names.index("0 K")][2] == 1.5


SCALES = ("algo.reward_scale=1", "algo.reward_scale=5")


@pytest.mark.parametrize(
    ("algo", "name", "settings"),
    [
        ("actor_critic", "current", ["algo.critic_view=own"]),
        ("dqn", "greedy", []),
        ("nfsp", "greedy", []),
    ],
)
def test_a_critic_of_actions_values_each_and_their_mean(
    algo: str, name: str, settings: list[str]
) -> None:
    small, large = (
        load_algorithm(algo, KUHN, *settings, scale).players()[name] for scale in SCALES
    )
    each, mean, fifth = (
        large.action_values(TREE.infoset_records),
        large.state_values(TREE.infoset_records),
        small.action_values(TREE.infoset_records),
    )
    assert each is not None
    assert mean is not None
    assert fifth is not None
    assert np.array_equal(np.isnan(each), ~TREE.legal_mask)
    policy = large.action_probs(TREE.infoset_records)
    np.testing.assert_allclose((policy * np.nan_to_num(each)).sum(1), mean, atol=1e-6)
    # the same new networks, whose unit is worth five times as many chips
    np.testing.assert_allclose(each, 5 * fifth, atol=1e-6)


@pytest.mark.parametrize(
    ("algo", "settings"),
    [
        ("ppo", ["algo.critic_view=perfect_information"]),  # sees the hidden cards
        ("ppo", ["algo.gamma=0.9"]),  # a discounted value is no number of chips
        ("actor_critic", []),
        ("reinforce", []),
        ("cfr", []),
    ],
)
def test_without_a_critic_of_what_the_player_sees_there_is_no_value(
    algo: str, settings: list[str]
) -> None:
    for player in load_algorithm(algo, KUHN, *settings).players().values():
        assert player.state_values(TREE.infoset_records) is None
        assert player.action_values(TREE.infoset_records) is None


def test_the_average_of_all_policies_has_no_critic() -> None:
    for algo in ("nfsp", "nfsp_ppo"):
        players = load_algorithm(algo, KUHN).players()
        assert players["average"].state_values(TREE.infoset_records) is None
        assert any(
            player.state_values(TREE.infoset_records) is not None for player in players.values()
        )


@pytest.mark.parametrize(
    ("algo", "settings"),
    [
        ("ppo", ["algo.network_sharing=per_seat", "algo.instances=3", "algo.shared_layers=1"]),
        ("vpg", ["algo.network_sharing=per_betting_node"]),
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
        told = player.state_values(np.tile(TREE.infoset_records, player.instances))
        for k in range(player.instances):
            loaded, before = (load_player(f"{tmp_path}@{at}:{name}.{k}", KUHN) for at in (2, 1))
            assert before.state_values(TREE.infoset_records) is None
            values = loaded.state_values(TREE.infoset_records)
            if told is None:
                assert values is None
            else:
                own = told.reshape(player.instances, -1)[k]
                np.testing.assert_allclose(values, own, atol=1e-6)
