"""Bots of Big 2: lookahead, and the weakest legal combination."""

import numpy as np
import pytest
from big2_tables import BIG2, make_tables, play_moves
from evaluations import HOLDEM, LEDUC, Policies, loader
from random_games import play
from tree_values import compute_expected_values

from poker_rl.config import ConfigError
from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.evaluation import compute_seat_values
from poker_rl.games import get_tree
from poker_rl.games.tables import tables_from_records
from poker_rl.players.bots import lookahead_bot


def build_bot(game=BIG2, policy="big2_ppo", **settings):  # big2_ppo mixes more than big2_vine
    player = {**load_option("player", "big2_lookahead"), "policy": policy, **settings}
    return build(player, "player", game=game)


class PlayerWithValues(Policies):
    """Player with a policy [information sets, actions] and its exact state values."""

    def __init__(self, game, policy):
        super().__init__(game, policy[None])
        tree = get_tree(game)
        self.node_values = compute_expected_values(tree, policy)
        live = np.flatnonzero(tree.infoset >= 0)
        infoset = tree.infoset[live]
        own = self.node_values[live, tree.infoset_seat[infoset]]
        self.value = np.bincount(infoset, own) / np.bincount(infoset)

    def state_values(self, records):
        return self.value[get_tree(self.game).lookup_infosets(records)]


@pytest.fixture
def uniform_leduc(monkeypatch):
    """Return a uniform Leduc player, now the bot's base policy; its actions reveal no cards."""
    tree = get_tree(LEDUC)
    player = PlayerWithValues(LEDUC, tree.legal_mask / tree.legal_mask.sum(1, keepdims=True))
    monkeypatch.setattr(lookahead_bot, "load_search_base_player", lambda *args: player)
    return player


def test_lookahead_weighs_actions_by_mean_payoffs(uniform_leduc):
    tree = get_tree(LEDUC)
    child = np.arange(tree.deal_count, len(tree.parent))
    edge = tree.edge[child]
    won = uniform_leduc.node_values[child, tree.infoset_seat[edge // LEDUC.action_count]]
    deal_counts = np.bincount(edge, minlength=tree.legal_mask.size)
    values = np.bincount(edge, won, minlength=tree.legal_mask.size) / np.maximum(deal_counts, 1)
    values = values.reshape(tree.legal_mask.shape)  # in chips; means over all hidden cards
    assert LEDUC.unit_chips == 1
    temperature = 4.0
    expected = uniform_leduc.policies[0] * np.exp(values / temperature)
    expected /= expected.sum(1, keepdims=True)
    player = build_bot(LEDUC, worlds=3000, temperature=temperature)
    sample = np.s_[::5]
    legal = tree.legal_mask[sample]
    probs = player.action_probs(tree.infoset_records[sample])
    np.testing.assert_allclose(probs.sum(1), 1)
    assert not probs[~legal].any()
    log_error = np.log(probs[legal] / expected[sample][legal])
    assert np.abs(log_error).max() < 5 * 5 / np.sqrt(3000) / temperature


def test_lookahead_wins_more_than_its_base_policy(uniform_leduc):
    tree = get_tree(LEDUC)
    (before,) = uniform_leduc.policies
    after = build_bot(LEDUC, worlds=200, temperature=0.2).action_probs(tree.infoset_records)
    for seat in range(2):
        mixed = np.where((tree.infoset_seat == seat)[:, None], after, before)
        gain = compute_seat_values(tree, mixed)[seat] - compute_seat_values(tree, before)[seat]
        assert gain > 0.5


def test_lookahead_ignores_hidden_cards_and_order_of_tables():
    _, moves = play(BIG2, 4, seed=3)
    records = np.concatenate([move.records for move in moves[::5]])
    redealt = records.copy()
    redealt["key"], redealt["draws"] = np.arange(len(redealt)), 7
    redealt["deck"] = np.arange(52)
    tables_from_records(BIG2, redealt).resample_hidden_cards()
    assert (redealt["hand"] != records["hand"]).any((1, 2)).mean() > 0.9
    before = records.tobytes()
    player = build_bot(worlds=8)
    probs = player.action_probs(records)
    assert records.tobytes() == before
    # A network rounds differently in batches of other sizes.
    reversed_probs = player.action_probs(redealt[::-1])[::-1]
    np.testing.assert_allclose(reversed_probs, probs, atol=1e-4)
    single_probs = [player.action_probs(records[i : i + 1]) for i in range(5)]
    np.testing.assert_allclose(np.concatenate(single_probs), probs[:5], atol=1e-4)
    changed = np.abs(build_bot(worlds=8, seed=1).action_probs(records) - probs) > 0.01
    assert 0.02 < changed.any(1).mean() < 0.9  # another seed samples other worlds


def test_lookahead_does_not_try_unlikely_actions():
    _, moves = play(BIG2, 8, seed=4)
    records = np.concatenate([move.records for move in moves[::5]])
    policy = loader(BIG2)("big2_ppo").action_probs(records)
    probs = build_bot(worlds=8, min_action_prob=0.1).action_probs(records)
    tried = (policy >= 0.1).sum(1) > 1
    assert 0.05 < tried.mean() < 0.5
    assert (probs[~tried] == policy[~tried]).all()
    np.testing.assert_allclose(probs.sum(1), 1)
    assert (probs[tried][policy[tried] < 0.1] == 0).all()
    assert (build_bot(worlds=8, min_action_prob=1.0).action_probs(records) == policy).all()
    all_tried = build_bot(worlds=2, min_action_prob=0.0).action_probs(records[::5])
    assert not all_tried[policy[::5] == 0].any()


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("policy", "lowest", r"^player\.policy: lowest has no values to look ahead by; docs/"),
        ("policy", "big2_lookahead", r"^player\.policy: big2_lookahead searches itself$"),
        ("temperature", float("inf"), r"^player\.temperature: Infinity is not in \(0, 1e\+09\]$"),
    ],
)
def test_invalid_lookahead_settings_are_refused(setting, value, message):
    with pytest.raises(ConfigError, match=message):
        build_bot(**{setting: value})


@pytest.mark.parametrize(
    ("led", "own", "lowest"),
    [
        ("4d", "3c4h9d", "4h"),
        ("2s", "3c4h9d", "pass"),
        ("4d4h", "3c3s5d5c5h9d", "5d5c"),
        # The higher card orders pairs, so 5d5h is lowest, although 5d5s is the earlier action.
        ("4d4h", "5d5h5s9d", "5d5h"),
        ("4d4c4h", "3d3c3h5d5c5h5s9d", "5d5c5h"),
        # The higher pair orders two pairs; four of a kind is played only if it is the only choice.
        ("3d3c4d4c", "5d5c5h5s6d6c9d", "5d5c6d6c"),
        ("3d3c2d2s", "5d5c5h5s6d6c9d", "5d5c5h5s"),
        # A straight is lower than a flush, the earlier action; a flush is lower than a full house.
        ("3d4c5d6c7s", "3h4h5h6h9h7d8d9cTcKs", "4h5h6h7d8d"),
        ("3d4d5d6d8d", "3h4h5h6h9h3c3s4cKs", "3h4h5h6h9h"),
    ],
)
def test_lowest_bot_plays_the_lowest_legal_combination(led, own, lowest):
    records = play_moves(make_tables(led + "Kh", own), led).records
    probs = loader(BIG2)("lowest").action_probs(records)
    assert sorted(probs[0])[-2:] == [0, 1]
    assert BIG2.move_name(records[0], int(probs.argmax())) == lowest


def test_bots_refuse_other_games():
    with pytest.raises(ConfigError, match=r"^lowest: plays Big 2, not limit_holdem$"):
        loader(HOLDEM)("lowest")
    with pytest.raises(ConfigError, match=r"^call\.prefer: call[^\n]* no action of big2: 1, 2"):
        loader(BIG2)("call")
    for name in ("tight", "equilibrium", "mcts"):
        with pytest.raises(ConfigError, match=rf"^{name}: [^\n]*big2[^\n]*$"):
            loader(BIG2)(name)
