"""Players: known values, equal probabilities after loading, errors in one line."""

import hashlib
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest
import torch
from big2_tables import BIG2
from evaluations import HOLDEM, KUHN, KUHN_3P, LEDUC, build_network_player, loader
from random_games import deal_tables, sample_decisions

from poker_rl.config import ConfigError
from poker_rl.config.build import build
from poker_rl.config.option_files import SHIPPED_OPTION_DIR, load_option, read_first_comment
from poker_rl.evaluation import compute_seat_values, exploitability, nash_conv, play_match
from poker_rl.games import get_tree, load_game
from poker_rl.games.tables import tables_from_records
from poker_rl.players import Player, TabularPlayer, compute_checked_probs, sample_from_probs
from poker_rl.players.bots import pretrained_bot
from poker_rl.players.bots.kuhn_equilibrium_bot import KuhnEquilibriumBot
from poker_rl.players.bots.pretrained_bot import CHECKSUM_FILE, PRETRAINED_FOLDER
from poker_rl.players.network_player import count_networks_per_instance, get_network_index
from poker_rl.players.player import GreedyWrapper
from poker_rl.players.player_loader import load_player, load_players_of_snapshot
from poker_rl.storage import checkpoint
from poker_rl.storage.checkpoint import load_snapshot

CPU = torch.device("cpu")
BOTS = ["uniform", "call", "raise", "fold"]
KUHN_FIRST = get_tree(KUHN).infoset_records[:1]  # the first move: check or bet


def bot(name, game=KUHN):
    return build(load_option("player", name), "player", game=game)


def network(game, sharing="shared", instances=1, features="observation"):
    return build_network_player(game, features, sharing, instances=instances, scale=1.0)


def table_player(game):
    return TabularPlayer(game, get_tree(game).build_uniform_policy() ** 2 * 2)


KNOWN = [(KUHN, {"uniform": 11 / 12, "fold": 2, "raise": 2 / 3}), (KUHN_3P, {"uniform": 2.0625})]
KNOWN += [(LEDUC, {"uniform": 4.7472222, "fold": 2, "call": 2.9333333, "raise": 4.7333333})]


@pytest.mark.parametrize(("game", "expected"), KNOWN, ids=lambda value: getattr(value, "name", ""))
def test_known_nash_conv_of_bots(game, expected):
    tree = get_tree(game)
    policies = {name: bot(name, game).action_probs(tree.infoset_records) for name in expected}
    nash_convs = {name: nash_conv(tree, policy) for name, policy in policies.items()}
    assert nash_convs == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("alpha", [0, 0.1, 1 / 3])
def test_kuhn_equilibrium_bot_plays_an_equilibrium(alpha):
    tree = get_tree(KUHN)
    policy = KuhnEquilibriumBot(game=KUHN, alpha=alpha).action_probs(tree.infoset_records)
    assert nash_conv(tree, policy) == pytest.approx(0, abs=1e-12)
    assert compute_seat_values(tree, policy) == pytest.approx([-1 / 18, 1 / 18], abs=1e-12)
    assert policy[tree.infoset_names.index("0 J"), 2] == pytest.approx(alpha)


@pytest.mark.parametrize("game", [LEDUC, replace(KUHN, ante=2)], ids=lambda game: game.name)
def test_kuhn_equilibrium_bot_refuses_other_games(game):
    with pytest.raises(ConfigError, match="Kuhn poker, not of"):
        bot("equilibrium", game)


@pytest.mark.parametrize("game", [KUHN_3P, HOLDEM], ids=lambda game: game.name)
@pytest.mark.parametrize("name", [*BOTS, "shared", "per_seat"])
def test_only_legal_actions_have_positive_probabilities(game, name):
    records = sample_decisions(game, 200)
    legal = tables_from_records(game, records).legal_mask()
    player = bot(name, game) if name in BOTS else network(game, name)
    probs = player.action_probs(records)
    assert probs.dtype == np.float64
    assert probs.sum(1) == pytest.approx(1)
    assert not probs[~legal].any()
    if name in (*BOTS[:1], "shared", "per_seat"):
        assert (probs[legal] > 0).all()


def test_actions_of_probability_zero_are_not_sampled():
    probs = np.array([[0.5, 0.5], [np.nan, np.nan]])
    assert sample_from_probs(probs[:1], np.array([0.7])).tolist() == [1]
    with pytest.raises(ConfigError, match="probabilities that are not numbers"):
        sample_from_probs(probs, np.array([0.7, 0.7]))


def test_get_network_index_of_each_decision():
    tree = get_tree(KUHN)
    records, seat, moves = tree.infoset_records, tree.infoset_seat, tree.infoset_records["moves"]
    assert get_network_index(KUHN, "shared", records).tolist() == [0] * 12
    for sharing in ("per_seat", "per_agent"):
        assert get_network_index(KUHN, sharing, records).tolist() == seat.tolist()
    assert (get_network_index(KUHN, "per_agent", records, 1 - seat) == 1 - seat).all()
    # Nodes: first move, after a check, after a bet, after check and bet; each has three cards.
    nodes = get_network_index(KUHN, "per_betting_node", records)
    assert len(set(zip(nodes, moves, tree.legal_mask[:, 0], strict=True))) == 4
    assert np.bincount(nodes).tolist() == [3, 3, 3, 3]
    kinds = ("shared", "per_seat", "per_agent", "per_betting_node")
    assert [count_networks_per_instance(KUHN_3P, sharing) for sharing in kinds] == [1, 3, 3, 12]


@pytest.mark.parametrize("sharing", ["per_seat", "per_agent", "per_betting_node"])
def test_each_network_decides_at_its_own_tables(sharing):
    tree = get_tree(KUHN)
    player = network(KUHN, sharing)
    probs = player.action_probs(tree.infoset_records)
    network_index = get_network_index(KUHN, sharing, tree.infoset_records)
    changed = 1
    with torch.no_grad():
        player.module.layers[-1].bias[changed, 0, 1] += 1
    has_changed = (player.action_probs(tree.infoset_records) != probs).any(1)
    assert np.array_equal(has_changed, network_index == changed)


@pytest.mark.parametrize("sharing", ["shared", "per_betting_node"])
def test_each_instance_decides_at_its_block_of_tables(sharing):
    tree = get_tree(KUHN)
    player = network(KUHN, sharing, instances=3)
    batch_probs = player.action_probs(np.tile(tree.infoset_records, 3))
    batch_probs = batch_probs.reshape(3, tree.infoset_count, -1)
    for k in range(3):
        single = player.select_instance(k)
        assert single.instance_count == 1
        assert single.action_probs(tree.infoset_records) == pytest.approx(batch_probs[k], abs=1e-6)
    assert len(np.unique(batch_probs.reshape(3, -1), axis=0)) == 3


PLAYERS = {
    "network": lambda: network(KUHN, "per_betting_node", features="rank"),
    "instances": lambda: network(KUHN, "per_seat", instances=3),
    "table": lambda: table_player(KUHN),
    "equilibrium": lambda: bot("equilibrium"),
    "raise": lambda: bot("raise"),
}


def save(folder, decisions, players, game=KUHN):
    states = {name: player.to_dict() for name, player in players.items()}
    tree = {"game": game.to_dict(), "players": states}
    return checkpoint.save_snapshot(folder, decisions, tree)


def load(spec, game=KUHN):
    return load_player(str(spec), game)


@pytest.mark.parametrize("name", PLAYERS)
def test_a_saved_player_has_the_same_probabilities(name, tmp_path):
    player = PLAYERS[name]()
    records = np.tile(get_tree(KUHN).infoset_records, player.instance_count)
    path = save(tmp_path, 10, {"current": player})
    loaded = load_players_of_snapshot(path, KUHN, CPU)["current"]
    assert loaded.instance_count == player.instance_count
    assert np.array_equal(loaded.action_probs(records), player.action_probs(records))


@pytest.fixture
def run(tmp_path):
    """Return a run folder with two snapshots of different players."""
    folder = tmp_path / "a:b"  # a colon in a path does not start a player's name
    folder.mkdir()
    save(folder, 90, {"current": bot("fold"), "average": bot("uniform")})
    save(folder, 100, {"current": bot("raise"), "average": bot("call")})
    return folder


@pytest.mark.parametrize(
    ("suffix", "expected"),
    [
        ("", "raise"),  # the first player of the newest snapshot
        (":average", "call"),
        ("@90", "fold"),
        ("@90:average", "uniform"),
        ("/players/90.pt", "fold"),
        ("/players/90.pt:average", "uniform"),
    ],
)
def test_ways_to_name_a_saved_player(suffix, expected, run):
    records = sample_decisions(KUHN, 200)
    probs = bot(expected).action_probs(records)
    assert np.array_equal(load(f"{run}{suffix}").action_probs(records), probs)
    assert np.array_equal(load(expected).action_probs(records), probs)


def test_instance_is_selected_by_its_number(tmp_path):
    player = network(KUHN, instances=3)
    save(tmp_path, 1, {"current": player})
    records = sample_decisions(KUHN, 200)
    chosen = load(f"{tmp_path}:current.2").action_probs(records)
    assert np.array_equal(chosen, player.select_instance(2).action_probs(records))
    with pytest.raises(ConfigError, match="no such file"):
        load(f"{tmp_path}:current.x")
    for spec in ("", ":current", ":current.3"):
        with pytest.raises(ConfigError, match=r"3 copies; choose :current.0 to :current.2"):
            load(f"{tmp_path}{spec}")


def test_greedy_takes_the_most_probable_action(tmp_path):
    trained, named_greedy = network(LEDUC), table_player(LEDUC)
    save(tmp_path, 1, {"current": trained, "greedy": named_greedy}, LEDUC)
    records = sample_decisions(LEDUC, 200)
    probs = trained.action_probs(records)
    greedy = load(f"{tmp_path}@1:current:greedy", LEDUC)
    assert np.array_equal(greedy.action_probs(records), probs == probs.max(1, keepdims=True))
    loaded = type(greedy).from_dict(greedy.to_dict(), LEDUC, CPU)
    assert np.array_equal(loaded.action_probs(records), greedy.action_probs(records))
    loaded_probs = load(f"{tmp_path}:greedy", LEDUC).action_probs(records)
    assert np.array_equal(loaded_probs, named_greedy.action_probs(records))
    # Of two equally likely actions it takes the first.
    assert np.array_equal(load("uniform:greedy").action_probs(KUHN_FIRST), [[0, 1, 0]])
    with pytest.raises(ConfigError, match="nobody"):
        load(f"{tmp_path}:nobody:greedy", LEDUC)
    with pytest.raises(ConfigError, match="a name of conf/player has no suffix but :greedy"):
        load("uniform:greedy:greedy", LEDUC)


def test_invalid_player_names_and_files_are_refused(run, tmp_path):
    def write(name, players):
        tree = {"game": KUHN.to_dict(), "players": players}
        checkpoint.save_atomically(tmp_path / f"{name}.pt", tree)

    (tmp_path / "damaged.pt").write_bytes((run / "players/90.pt").read_bytes()[:500])
    (tmp_path / "no_snapshots").mkdir()
    state = network(KUHN).to_dict()
    write("lacks", {"current": {"_target_": state["_target_"]}})
    write("shape", {"current": state | {"instances": 2}})
    write("foreign", {"current": {"_target_": "pathlib.Path"}})
    write("not_dict", {"current": 3})
    write("empty", {})
    state["weights"] = {key: value / 0 for key, value in state["weights"].items()}
    write("nan", {"current": state})
    write("path", {"../x": state})
    for spec, message in {
        "unifrm": "did you mean uniform",
        f"{run}:averge": "no player averge; it has current, average",
        f"{run}@95": "no snapshot 95; it has 90, 100",
        f"{run}:current@90": "there is no run folder .*:current; RUN@DECISIONS:PLAYER needs one",
        f"{tmp_path}/no_snapshots": "no player snapshots",
        f"{tmp_path}/damaged.pt": "damaged",
        f"{tmp_path}/lacks.pt": "does not hold the players of a kuhn run",
        f"{tmp_path}/shape.pt": "does not hold the players of a kuhn run",
        f"{tmp_path}/not_dict.pt": "does not hold the players of a kuhn run",
        f"{tmp_path}/nan.pt": r"can't be played with: current\..* is not finite",
        f"{tmp_path}/path.pt": r"'\.\./x' is not the name of a player; allowed: up to 60",
        f"{tmp_path}/empty.pt": "holds no players",
        f"{tmp_path}/foreign.pt": '"pathlib.Path" is not a class of poker_rl',
    }.items():
        with pytest.raises(ConfigError, match=message) as refusal:
            load(spec)
        assert "\n" not in str(refusal.value)
    with pytest.raises(ConfigError, match=r"90\.pt is of kuhn, not of this leduc"):
        load(f"{run}@90", LEDUC)
    with pytest.raises(ConfigError, match="is of another kuhn: ante, not of this kuhn"):
        load(f"{run}@90", replace(KUHN, ante=2))


@pytest.mark.parametrize("name", ["tight", "network"])
def test_threads_can_share_a_player(name):
    player = network(HOLDEM, features="sorted_suits") if name == "network" else bot(name, HOLDEM)
    halves = [
        [records[i : i + 1] for i in range(20)]
        for records in (sample_decisions(HOLDEM, 200, seed) for seed in (1, 2))
    ]
    expected_probs = [[player.action_probs(table) for table in half] for half in halves]
    barrier = Barrier(2)

    def check_half(half, expected):
        barrier.wait()
        for _ in range(10):
            for table, probs in zip(half, expected, strict=True):
                assert (player.action_probs(table) == probs).all()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(check_half, halves, expected_probs))
    finally:
        sys.setswitchinterval(interval)


class Faulty(Player):
    """Player that returns the same row of probabilities, valid or not, at each table."""

    def __init__(self, row):
        self.row = row

    def action_probs(self, records):
        return np.tile(np.array(self.row), (len(records), 1))


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ([0.0, 0.5, 0.25], "the sum 0.75"),
        ([0.0, -0.25, 1.25], "call the probability -0.25, less than 0: 0 J"),
        ([0.0, np.nan, 1.0], "not numbers"),
        ([0.5, 0.25, 0.25], "gives fold the probability 0.5 where it is illegal: 0 J"),
        ([1.0], r"an array of shape \(1, 1\) instead of \(1, 3\)"),
    ],
)
def test_invalid_probabilities_are_refused(row, problem):
    valid = [0.0, 0.25, 0.75]
    assert compute_checked_probs(KUHN, Faulty(valid), KUHN_FIRST).tolist() == [valid]
    with pytest.raises(ConfigError, match=f"player test_players.Faulty .*{problem}"):
        compute_checked_probs(KUHN, Faulty(row), KUHN_FIRST)


def test_greedy_raises_if_all_sizes_together_are_most_probable():
    game = load_game("nolimit_leduc")
    mixed = Faulty([0, 0.4, 0.1, 0.3, 0.2, 0, 0])  # call, or raise to 2, 3, 4 chips
    greedy = GreedyWrapper(game, mixed).action_probs(deal_tables(game).records)
    assert greedy.tolist() == [[0, 0, 0, 1, 0, 0, 0]]


PRETRAINED = sorted(PRETRAINED_FOLDER.glob("*.pt"))


def test_checksums_of_all_pretrained_files_are_listed():
    lines = (PRETRAINED_FOLDER / CHECKSUM_FILE).read_text().splitlines()
    assert lines == [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}" for f in PRETRAINED]


def test_changed_or_unlisted_pretrained_file_is_refused(tmp_path, monkeypatch, get_refusal):
    for file in (CHECKSUM_FILE, "leduc_ac.pt"):
        shutil.copy(PRETRAINED_FOLDER / file, tmp_path)
    monkeypatch.setattr(pretrained_bot, "PRETRAINED_FOLDER", tmp_path)
    loader(LEDUC)("leduc_ac")
    with (tmp_path / "leduc_ac.pt").open("ab") as opened:
        opened.write(b"0")
    refusal = get_refusal("evaluate", "game=leduc", "player=leduc_ac")
    message = f"{tmp_path / 'leduc_ac.pt'} does not match SHA256SUMS; reinstall poker-rl"
    assert refusal == f"player: leduc_ac: {message}"
    (tmp_path / CHECKSUM_FILE).write_text("0  other.pt\n")
    with pytest.raises(ConfigError, match=r"leduc_ac.pt is no bundled .*; allowed: other.pt$"):
        loader(LEDUC)("leduc_ac")


@pytest.mark.parametrize("file", PRETRAINED, ids=lambda file: file.stem)
def test_pretrained_file_holds_one_float16_player_and_its_origin(file):
    tree = load_snapshot(file)
    (state,) = tree["players"].values()
    assert {weight.dtype for weight in state["weights"].values()} == {torch.float16}
    assert {"command", "experiment", "seed", "decisions", "commit", "date"} <= set(tree["origin"])
    assert (SHIPPED_OPTION_DIR / "experiment" / f"{tree['origin']['experiment']}.yaml").is_file()


def test_pretrained_leduc_player_has_its_documented_exploitability():
    tree = get_tree(LEDUC)
    policy = loader(LEDUC)("leduc_ac").action_probs(tree.infoset_records)
    distance = exploitability(tree, policy) / LEDUC.unit_chips
    comment = read_first_comment(SHIPPED_OPTION_DIR / "player" / "leduc_ac.yaml")
    assert f"exploitability {distance:.4f}" in comment


def test_pretrained_limit_holdem_player_beats_call_and_values_hands():
    """In 500 deals it wins about 350 ± 140 mbb/hand."""
    load = loader(HOLDEM)
    player = load("lhe_ppo")
    won = play_match(HOLDEM, player, load("call"), "call", 500, 0)
    assert won.value - (won.half_width or 0) > 0
    records = deal_tables(HOLDEM, 100).records
    values = player.state_values(records)
    assert values.shape == (100,)
    strength = loader(HOLDEM)("tight").action_probs(records)[:, 2]
    assert np.corrcoef(values, strength)[0, 1] > 0.5  # strong hands are worth more


def test_pretrained_big2_player_beats_uniform_by_ten_points():
    load = loader(BIG2)
    won = play_match(BIG2, load("big2_vine"), load("uniform"), "uniform", 100, 0)
    assert won.value - (won.half_width or 0) > 10
