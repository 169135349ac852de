"""Whoever sits down: known numbers, the same answers once saved, one line when it can't be."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest
import torch
import yaml

from poker_rl.config.build import build
from poker_rl.config.options import CONF, option
from poker_rl.config.settings import Refused
from poker_rl.evaluation.exploitability import nash_conv, values
from poker_rl.games.tables import Tables
from poker_rl.games.tree import tree_of
from poker_rl.nets.dense import MLP, BetWeight, Size
from poker_rl.players.equilibrium import Equilibrium
from poker_rl.players.features import Features
from poker_rl.players.greedy import Greedy
from poker_rl.players.load import load_player, load_players
from poker_rl.players.network import NetworkPlayer, member_count, member_of
from poker_rl.players.player import Unvalued, policy_at
from poker_rl.players.sampling import draw
from poker_rl.players.table import TablePlayer
from poker_rl.storage import checkpoint

CPU = torch.device("cpu")
BOTS = ["uniform", "call", "raise", "fold"]
KUHN, LEDUC, HOLDEM = (
    build(option("game", name), "game") for name in ("kuhn", "leduc", "limit_holdem")
)
KUHN_3P = replace(KUHN, name="kuhn_3p", seats=3, ranks="TJQK")
KUHN_FIRST = tree_of(KUHN).records[:1]  # the first move: check or bet


def bot(name, game=KUHN):
    return build(option("player", name), "player", game=game)


def network(game, members="shared", instances=1, features="observation"):
    net = MLP(hidden=[8], activation="tanh", init="torch", features=features)
    inputs = Features(game, features).size
    copies = instances * member_count(game, members)
    module = net.module(
        Size(inputs=inputs, outputs=game.actions, copies=copies), torch.Generator().manual_seed(0)
    )
    return NetworkPlayer(game, net, module, members, instances)


def table(game):
    return TablePlayer(game, tree_of(game).uniform() ** 2 * 2)


def hands(game, count=200, moves=3, seed=0):
    """Tables some random moves into their hands; those over by then are left out."""
    tables = Tables(game, count, seed)
    tables.deal()
    generator = np.random.default_rng(seed)
    for _ in range(moves):
        live = np.flatnonzero(tables.records["over"] == 0)
        some = live[generator.random(len(live)) < 0.7]
        legal = tables.legal(some)
        actions = (legal * generator.random(legal.shape)).argmax(1)
        tables.step(actions, some)
    return tables.records[tables.records["over"] == 0]


def legal(game, records):
    tables = Tables(game, 0, 0)
    tables.use(records)
    return tables.legal()


@pytest.mark.parametrize(
    ("game", "name", "expected"),
    [
        (KUHN, "uniform", 11 / 12),
        (KUHN, "fold", 2),
        (KUHN, "raise", 2 / 3),
        (KUHN_3P, "uniform", 2.0625),
        (LEDUC, "uniform", 4.7472222),
        (LEDUC, "fold", 2),
        (LEDUC, "call", 2.9333333),
        (LEDUC, "raise", 4.7333333),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_bots_lose_what_they_are_known_to(game, name, expected):
    tree = tree_of(game)
    policy = bot(name, game).probabilities(tree.records)
    assert nash_conv(tree, policy) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("alpha", [0, 0.1, 1 / 3])
def test_equilibrium(alpha):
    tree = tree_of(KUHN)
    policy = Equilibrium(game=KUHN, alpha=alpha).probabilities(tree.records)
    assert nash_conv(tree, policy) == pytest.approx(0, abs=1e-12)
    assert values(tree, policy) == pytest.approx([-1 / 18, 1 / 18], abs=1e-12)
    jack_first = tree.names.index("0 J")
    assert policy[jack_first, 2] == pytest.approx(alpha)


@pytest.mark.parametrize(
    "game",
    [LEDUC, KUHN_3P, HOLDEM, replace(KUHN, ante=2), replace(KUHN, raise_sizes=[2])],
    ids=lambda game: game.name,
)
def test_equilibrium_is_of_kuhn_alone(game):
    with pytest.raises(Refused, match="Kuhn poker, not of"):
        bot("equilibrium", game)


@pytest.mark.parametrize("game", [KUHN, KUHN_3P, LEDUC, HOLDEM], ids=lambda game: game.name)
@pytest.mark.parametrize("name", [*BOTS, "shared", "seat"])
def test_only_legal_actions_have_a_chance(game, name):
    records = hands(game)
    player = bot(name, game) if name in BOTS else network(game, name)
    chances = player.probabilities(records)
    assert chances.dtype == np.float64
    assert chances.sum(1) == pytest.approx(1)
    assert not chances[~legal(game, records)].any()
    if name in (*BOTS[:1], "shared", "seat"):
        assert (chances[legal(game, records)] > 0).all()


def test_a_bot_prefers_only_actions_there_are():
    node = option("player", "raise") | {"prefer": ["check"]}
    with pytest.raises(Refused, match=r"player\.prefer: check .* fold, call, raise"):
        build(node, "player", game=KUHN)


def test_an_action_without_a_chance_is_not_drawn():
    chances = np.array([[0.5, 0.5], [np.nan, np.nan]])
    assert draw(chances[:1], np.array([0.7])).tolist() == [1]
    with pytest.raises(Refused, match="probabilities that are not numbers"):
        draw(chances, np.array([0.7, 0.7]))


def test_rank_is_the_own_cards():
    tree = tree_of(KUHN)
    expected = [" JQK".index(name[2]) - 2 for name in tree.names]
    assert Features(KUHN, "rank")(tree.records)[:, 0].tolist() == expected
    ranks = Features(LEDUC, "rank")(tree_of(LEDUC).records)
    assert set(ranks.ravel()) == {-1, 0, 1}
    with pytest.raises(Refused, match="one hole card"):
        Features(HOLDEM, "rank")


def test_other_features():
    records = tree_of(LEDUC).records
    onehot = Features(LEDUC, "infoset")(records)
    assert np.array_equal(onehot, np.eye(936))
    seen = Features(LEDUC, "observation")(records)
    assert seen.shape == (936, LEDUC.observation_size)
    assert len(np.unique(np.c_[tree_of(LEDUC).owner, seen], axis=0)) == 936
    with pytest.raises(Refused, match="more than 4 GB"):
        Features(HOLDEM, "infoset")


def test_members():
    tree = tree_of(KUHN)
    seat, moves = tree.owner, tree.records["moves"]
    assert member_of(KUHN, "shared", tree.records).tolist() == [0] * 12
    assert member_of(KUHN, "seat", tree.records).tolist() == seat.tolist()
    assert member_of(KUHN, "agent", tree.records).tolist() == seat.tolist()
    assert member_of(KUHN, "agent", tree.records, 1 - seat).tolist() == (1 - seat).tolist()
    # first move, after a check, after a bet, after check and bet: three cards each
    facing = tree.legal[:, 0]
    nodes = member_of(KUHN, "node", tree.records)
    assert len(set(zip(nodes, moves, facing, strict=True))) == member_count(KUHN, "node") == 4
    assert np.bincount(nodes).tolist() == [3, 3, 3, 3]
    assert [member_count(KUHN_3P, m) for m in ("shared", "seat", "agent", "node")] == [1, 3, 3, 12]


@pytest.mark.parametrize("members", ["seat", "agent", "node"])
def test_each_member_decides_at_its_own_tables(members):
    tree = tree_of(KUHN)
    player = network(KUHN, members)
    chances = player.probabilities(tree.records)
    member = member_of(KUHN, members, tree.records)
    changed = 1
    with torch.no_grad():
        player.module.layers[-1].bias[changed, 0, 1] += 1
    moved = (player.probabilities(tree.records) != chances).any(1)
    assert np.array_equal(moved, member == changed)


@pytest.mark.parametrize("members", ["shared", "node"])
def test_instances_answer_for_their_blocks(members):
    tree = tree_of(KUHN)
    player = network(KUHN, members, instances=3)
    together = player.probabilities(np.tile(tree.records, 3)).reshape(3, tree.size, -1)
    for k in range(3):
        alone = player.instance(k)
        assert alone.instances == 1
        assert alone.probabilities(tree.records) == pytest.approx(together[k], abs=1e-6)
    assert len(np.unique(together.reshape(3, -1), axis=0)) == 3


def test_one_weight_an_infoset():
    tree = tree_of(KUHN)
    net = BetWeight(spread=0.5)
    module = net.module(Size(inputs=tree.size, outputs=3), torch.Generator().manual_seed(0))
    chances = NetworkPlayer(KUHN, net, module, "shared").probabilities(tree.records)
    aggressive = np.where(tree.legal[:, 0], 1, 2)
    expected = module.weight[0, :, 0].sigmoid().detach().numpy()
    assert chances[np.arange(12), aggressive] == pytest.approx(expected)


@pytest.mark.parametrize("name", sorted(path.stem for path in (CONF / "net").glob("*.yaml")))
def test_every_configured_net_plays_kuhn(name):
    records = tree_of(KUHN).records
    net = build(option("net", name), "net")
    seen, generator = Features(KUHN, net.features), torch.Generator().manual_seed(0)
    module = net.module(
        Size(inputs=seen.size, outputs=KUHN.actions, copies=2, last_scale=0.01, steps=seen.steps),
        generator,
    )
    player = NetworkPlayer(KUHN, net, module, "seat")
    # so small a last layer starts close to uniform play
    assert player.probabilities(records) == pytest.approx(tree_of(KUHN).uniform(), abs=0.05)


PLAYERS = {
    "network": lambda: network(KUHN, "node", features="rank"),
    "instances": lambda: network(KUHN, "seat", instances=3),
    "table": lambda: table(KUHN),
    **{name: lambda name=name: bot(name) for name in [*BOTS, "equilibrium"]},
}


def save(folder, decisions, players, game=KUHN):
    states = {name: player.state() for name, player in players.items()}
    tree = {"game": game.state(), "players": states}
    return checkpoint.save_snapshot(folder, decisions, tree)


def load(spec, game=KUHN):
    return load_player(str(spec), game)


@pytest.mark.parametrize("name", PLAYERS)
def test_a_saved_player_answers_the_same(name, tmp_path):
    player = PLAYERS[name]()
    records = np.tile(tree_of(KUHN).records, player.instances)
    path = save(tmp_path, 10, {"current": player})
    loaded = load_players(path, KUHN, CPU)["current"]
    assert loaded.instances == player.instances
    assert np.array_equal(loaded.probabilities(records), player.probabilities(records))


@pytest.fixture
def run(tmp_path):
    """A run folder with two snapshots; the players of each can be told apart."""
    folder = tmp_path / "a:b"  # a colon in a path is no player's name
    folder.mkdir()
    save(folder, 90, {"current": bot("fold"), "average": bot("uniform")})
    save(folder, 100, {"current": bot("raise"), "average": bot("call")})
    return folder


@pytest.mark.parametrize(
    ("suffix", "expected"),
    [
        ("", "raise"),  # the newest by number, the first by name
        (":average", "call"),
        ("@90", "fold"),
        ("@90:average", "uniform"),
        ("/players/90.pt", "fold"),
        ("/players/90.pt:average", "uniform"),
    ],
)
def test_ways_to_name_a_saved_player(suffix, expected, run):
    records = hands(KUHN)
    wanted = bot(expected).probabilities(records)
    assert np.array_equal(load(f"{run}{suffix}").probabilities(records), wanted)
    assert np.array_equal(load(expected).probabilities(records), wanted)


def test_one_of_several_copies_is_named(tmp_path):
    player = network(KUHN, instances=3)
    save(tmp_path, 1, {"current": player})
    records = hands(KUHN)
    chosen = load(f"{tmp_path}:current.2").probabilities(records)
    assert np.array_equal(chosen, player.instance(2).probabilities(records))
    with pytest.raises(Refused, match="no such file"):
        load(f"{tmp_path}:current.x")
    for spec in ("", ":current", ":current.3"):
        with pytest.raises(Refused, match=r"3 copies; choose :current.0 to :current.2"):
            load(f"{tmp_path}{spec}")


def test_greedy_takes_the_action_that_is_taken_most_often(tmp_path):
    trained, taken = network(LEDUC), table(LEDUC)
    save(tmp_path, 1, {"current": trained, "greedy": taken}, LEDUC)
    records = hands(LEDUC)
    chances = trained.probabilities(records)
    best = load(f"{tmp_path}:current:greedy", LEDUC).probabilities(records)
    assert np.array_equal(best, chances == chances.max(1, keepdims=True))
    # a player of that name, as DQN has, is still itself
    drawn = load(f"{tmp_path}:greedy", LEDUC).probabilities(records)
    assert np.array_equal(drawn, taken.probabilities(records))
    again = load(f"{tmp_path}@1:current:greedy", LEDUC)
    kept = type(again).from_state(again.state(), LEDUC, CPU)
    assert np.array_equal(kept.probabilities(records), best)
    # of two actions equally likely the first
    assert np.array_equal(load("uniform:greedy").probabilities(KUHN_FIRST), [[0, 1, 0]])
    for spec in ("nobody:greedy", f"{tmp_path}:nobody:greedy"):
        with pytest.raises(Refused, match="nobody"):
            load(spec, LEDUC)
    for spec in ("uniform:greed", "uniform:greedy:greedy"):
        with pytest.raises(Refused, match="behind a name of conf/player goes nothing but :greedy"):
            load(spec, LEDUC)


def test_greedy_raises_where_raises_of_all_sizes_together_come_first():
    game = build(option("game", "nolimit_leduc"), "game")
    tables = Tables(game, 1, 0)
    tables.deal()
    chances = np.array([[0, 0.4, 0.1, 0.3, 0.2, 0, 0]])  # call, or raise to 2, 3, 4 chips

    class Mixed(Unvalued):
        instances = 1

        def probabilities(self, records):
            return chances

    assert Greedy(game, Mixed()).probabilities(tables.records).tolist() == [[0, 0, 0, 1, 0, 0, 0]]


def test_greedy_is_of_no_player_whose_chances_are_not_numbers():
    class DivergedError(Unvalued):
        instances = 1

        def probabilities(self, records):
            return np.full((len(records), KUHN.actions), np.nan)

    with pytest.raises(Refused, match="probabilities that are not numbers"):
        Greedy(KUHN, DivergedError()).probabilities(hands(KUHN))


def test_greedy_is_of_each_copy(tmp_path):
    player = network(KUHN, instances=3)
    save(tmp_path, 1, {"current": player})
    records = hands(KUHN)
    chances = player.instance(2).probabilities(records)
    best = load(f"{tmp_path}:current.2:greedy").probabilities(records)
    assert np.array_equal(best.argmax(1), chances.argmax(1))


def test_refusals(run, tmp_path):
    damaged = tmp_path / "damaged.pt"
    damaged.write_bytes((run / "players/90.pt").read_bytes()[:500])
    state = network(KUHN).state()
    wrong = {
        "lacks": {"_target_": state["_target_"]},
        "shape": state | {"instances": 2},
        "foreign": {"_target_": "pathlib.Path"},
        "helper": {"_target_": "poker_rl.players.load.Path"},
        "missing": {"_target_": "poker_rl.nowhere.Nobody"},
        "not_text": {"_target_": 3},
        "not_dict": 3,
    }
    for name, content in wrong.items():
        tree = {"game": KUHN.state(), "players": {"current": content}}
        checkpoint.save(tmp_path / f"{name}.pt", tree)
    checkpoint.save(tmp_path / "empty.pt", {"game": KUHN.state(), "players": {}})
    state["weights"] = {key: value / 0 for key, value in state["weights"].items()}
    for name, player in {"nan": "current", "path": "../x", "long": "x" * 300}.items():
        tree = {"game": KUHN.state(), "players": {player: state}}
        checkpoint.save(tmp_path / f"{name}.pt", tree)
    (tmp_path / "no_snapshots").mkdir()
    for spec, message in {
        "unifrm": "did you mean uniform",
        f"{run}:averge": "no player averge; it has current, average",
        f"{run}@95": "no snapshot 95; it has 90, 100",
        f"{tmp_path}/no_snapshots": "no player snapshots",
        f"{tmp_path}/nothing": "no such file",
        f"{damaged}": "damaged",
        f"{tmp_path}/lacks.pt": "does not hold the players of a kuhn run",
        f"{tmp_path}/shape.pt": "does not hold the players of a kuhn run",
        f"{tmp_path}/not_text.pt": "3 is not a class of poker_rl",
        f"{tmp_path}/not_dict.pt": "does not hold the players of a kuhn run",
        f"{tmp_path}/nan.pt": r"can't be played with: current\..* is not finite",
        f"{tmp_path}/path.pt": r"'\.\./x' is not the name of a player; allowed: up to 60",
        f"{tmp_path}/long.pt": "xxx is not the name of a player",
        f"{tmp_path}/empty.pt": "holds no players",
        f"{tmp_path}/foreign.pt": '"pathlib.Path" is not a class of poker_rl',
        f"{tmp_path}/helper.pt": "is not a class of poker_rl",
        f"{tmp_path}/missing.pt": "is not a class of poker_rl",
    }.items():
        with pytest.raises(Refused, match=message) as refusal:
            load(spec)
        assert "\n" not in str(refusal.value)


def test_a_player_of_another_game_is_refused(run):
    with pytest.raises(Refused, match=r"90\.pt is of kuhn, not of this leduc"):
        load(f"{run}@90", LEDUC)
    with pytest.raises(Refused, match="is of another kuhn: ante, not of this kuhn"):
        load(f"{run}@90", replace(KUHN, ante=2))


def test_a_bot_is_not_called_like_a_percentile(tmp_path):
    (tmp_path / "player").mkdir()
    (tmp_path / "player" / "p1.yaml").write_text(yaml.safe_dump(option("player", "call")))
    with pytest.raises(Refused, match=r"^p1: no player can have this name"):
        load_player("p1", KUHN, conf=[tmp_path])


@pytest.mark.parametrize("name", ["uniform", "tight", "mcts", "network"])
def test_threads_that_share_a_player_do_not_see_each_others_tables(name):
    player = network(HOLDEM, features="sorted_suits") if name == "network" else bot(name, HOLDEM)
    if name == "mcts":
        player.simulations = 10
    some, others = (
        [records[i : i + 1] for i in range(20)]
        for records in (hands(HOLDEM, moves=4, seed=seed) for seed in (1, 2))
    )

    def asked(tables):
        return [player.probabilities(table) for table in tables]

    alone = asked(some), asked(others)
    both = Barrier(2)

    def again(tables, expected):
        differ = 0
        both.wait()
        for _ in range(10):
            differ += sum((a != b).any() for a, b in zip(asked(tables), expected, strict=True))
        return differ

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(2) as threads:
            assert list(threads.map(again, (some, others), alone)) == [0, 0]
    finally:
        sys.setswitchinterval(interval)


class Faulty(Unvalued):
    """Gives the same row at each table."""

    instances, blind_to_suits = 1, False

    def __init__(self, row):
        self.row = row

    def probabilities(self, records):
        return np.tile(np.array(self.row), (len(records), 1))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([0.0, 0.5, 1.5], "come to 2"),
        ([0.0, 0.5, 0.25], "come to 0.75"),
        ([0.0, 0.0, 0.0], "come to 0"),
        ([0.0, -0.25, 1.25], "the probability -0.25; at least 0"),
        ([0.0, np.nan, 1.0], "not numbers"),
        ([0.5, 0.25, 0.25], "gives fold the probability 0.5 where it is illegal: 0 J"),
        ([1.0], r"an array of shape \(1, 1\) where \(1, 3\) was asked for"),
        ([0.25, 0.25, 0.25, 0.25], r"an array of shape \(1, 4\) where \(1, 3\) was asked for"),
    ],
)
def test_what_is_no_policy_is_refused(row, said):
    right = [0.0, 0.25, 0.75]
    assert policy_at(KUHN, Faulty(right), KUHN_FIRST).tolist() == [right]
    with pytest.raises(Refused, match=f"player test_players.Faulty .*{said}"):
        policy_at(KUHN, Faulty(row), KUHN_FIRST)
