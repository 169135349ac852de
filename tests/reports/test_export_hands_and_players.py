"""`poker-rl export`: other programs read the exported policies, hands and weights."""

import csv
import json
from pathlib import Path

import numpy as np
import onnxruntime
import pyspiel
import pytest
import torch
import yaml
from commands import run_command
from evaluations import build_network_player, random_policies
from open_spiel.python.algorithms.exploitability import nash_conv as spiel_nash_conv
from open_spiel.python.policy import TabularPolicy
from pokerkit import HandHistory
from random_games import game, sample_decisions
from safetensors import safe_open
from safetensors.torch import save_file
from toy_games import kuhn, leduc

from poker_rl.config import ConfigError, plugins
from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.evaluation import nash_conv
from poker_rl.games import get_tree
from poker_rl.games.tables import tables_from_records
from poker_rl.players import load_player
from poker_rl.players.network_player import NetworkPlayer, RegretMatchingPlayer
from poker_rl.reports.export_hands_and_players import (
    create_hand_histories,
    find_open_spiel_name,
    format_policy_as_csv,
)
from poker_rl.reports.export_weights import save_and_check_onnx
from poker_rl.storage.checkpoint import METADATA_KEY, save_safetensors

pytestmark = pytest.mark.usefixtures("working_folder")

OPENSPIEL_GAMES = [kuhn(2), kuhn(3), leduc(2)]


def read_policy_csv(text):
    """Return the action probabilities [A] in the text of a CSV file, by information set."""
    header, *rows = csv.reader(text.splitlines())
    assert header[1:] == [f"action_{action}" for action in range(len(header) - 1)]
    return {name: np.array(probs, float) for name, *probs in rows}


@pytest.mark.parametrize("definition", OPENSPIEL_GAMES, ids=lambda g: f"{g.name}_{g.seats}")
def test_openspiel_finds_the_same_nash_conv_of_exported_policy(definition):
    tree, policy = get_tree(definition), random_policies(definition, seed=3)[0]
    spiel_game = pyspiel.load_game(find_open_spiel_name(definition), {"players": definition.seats})
    exported, probs = TabularPolicy(spiel_game), read_policy_csv(format_policy_as_csv(tree, policy))
    assert probs.keys() == exported.state_lookup.keys()
    for name, row in probs.items():
        exported.policy_for_key(name)[:] = row
    assert (exported.action_probability_array[~exported.legal_actions_mask.astype(bool)] == 0).all()
    assert spiel_nash_conv(spiel_game, exported) == pytest.approx(nash_conv(tree, policy), abs=1e-9)


def test_exported_hands_have_distinct_deals_and_rotating_seats():
    definition = game("limit_holdem_2to9")
    fold, call = (load_player(name, definition) for name in ("fold", "call"))
    histories = create_hand_histories(definition, (fold, call), 60, seed=5)
    assert len(histories) == len({hand.deck for hand, _ in histories}) == 60
    for number, (hand, seat) in enumerate(histories):
        seats = hand.variant + definition.min_seats
        assert seat == number % seats
        folds = [action for action in hand.actions if action == 0]
        assert len(folds) <= 1  # the player `fold`; `call` never folds


def test_policies_and_hands_are_exported(finished_run, capsys):
    assert run_command("export", f"run={finished_run}", "policy=a/kuhn.csv") == 0
    assert "12 information sets" in capsys.readouterr().out
    assert len(read_policy_csv(Path("a/kuhn.csv").read_text())) == 12
    assert run_command("export", "game=nolimit_leduc", "player=uniform", "policy=own.csv") == 0
    assert "named as in this program" in capsys.readouterr().out
    command = ["export", "game=limit_holdem", "player=sklansky", "against=call"]
    assert run_command(*command, "hands=7", "out=h.phhs") == 0
    with Path("h.phhs").open("rb") as file:
        hands = list(HandHistory.load_all(file))
    assert [hand.players for hand in hands[:2]] == [["sklansky", "call"], ["call", "sklansky"]]
    assert len(hands) == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["policy=a.csv"], "run: missing"),
        (["game=kuhn", "player=uniform"], "hands, policy, weights: give"),
        (["game=kuhn", "player=uniform", "policy=a.txt"], "policy: a.txt does not end in"),
        (["game=limit_holdem", "player=call", "policy=a.csv"], "policy: limit_holdem is too"),
        (["game=kuhn", "player=call", "hands=3", "out=a.phhs"], "hands: kuhn can't be written"),
        (["game=kuhn", "player=call", "policy=there.csv"], "policy: there.csv is there already"),
    ],
)
def test_wrong_settings_are_refused(arguments, message, get_refusal):
    Path("there.csv").write_text("mine")
    assert message in get_refusal("export", *arguments)
    assert Path("there.csv").read_text() == "mine"
    assert sorted(path.name for path in Path().iterdir()) == ["there.csv"]


def build_player(player_class, name, net, sharing="shared"):
    """Return a player with random weights, also in layers that usually start near 0."""
    config, generator = build(load_option("net", net), "net"), torch.Generator().manual_seed(1)
    player = build_network_player(game(name), config, sharing, player_class, scale=1.0)
    with torch.no_grad():
        for weight in player.module.parameters():
            weight.add_(0.1 * torch.randn(weight.shape, generator=generator))
    return player


def read_safetensors(path):
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


def test_safetensors_player_equals_its_run_and_has_a_model_card(finished_run):
    run = finished_run
    assert run_command("evaluate", f"run={run}", "against=[call]", "deals=50") == 0
    assert run_command("export", f"run={run}", "weights=hub/policy.safetensors") == 0
    definition = game("kuhn")
    records = sample_decisions(definition, 50)
    original, loaded = (load_player(s, definition) for s in (str(run), "hub/policy.safetensors"))
    np.testing.assert_array_equal(loaded.action_probs(records), original.action_probs(records))

    _, front_matter, body = Path("hub/policy.md").read_text().split("---\n", 2)
    metadata = yaml.safe_load(front_matter)
    metrics = metadata["model-index"][0]["results"][0]["metrics"]
    assert {"exploitability", "against/call"} <= {metric["type"] for metric in metrics}
    assert metadata["tags"][-1] == "kuhn"
    assert "| seed | 0 |" in body
    assert "exploitability" in body
    hub_player = "player=hub/policy.safetensors"
    assert run_command("evaluate", "game=kuhn", f"{hub_player}:average:greedy") == 0
    assert run_command("advise", "game=kuhn", hub_player, "hand=K") == 0
    assert run_command("export", "game=kuhn", hub_player, "weights=again.safetensors") == 0
    assert json.loads(read_safetensors("again.safetensors")[1][METADATA_KEY])["origin"]["seed"] == 0


def test_bundled_player_is_exported_with_its_origin():
    assert run_command("export", "game=leduc", "player=leduc_ac", "weights=l.safetensors") == 0
    definition = game("leduc")
    records = sample_decisions(definition, 50)
    original, loaded = (load_player(spec, definition) for spec in ("leduc_ac", "l.safetensors"))
    np.testing.assert_array_equal(loaded.action_probs(records), original.action_probs(records))
    np.testing.assert_array_equal(loaded.state_values(records), original.state_values(records))
    assert "| experiment | ac\\_leduc |" in Path("l.md").read_text()


@pytest.mark.parametrize(
    ("player_class", "name", "net", "sharing"),
    [
        (RegretMatchingPlayer, "leduc", "mlp_small", "per_seat"),
        (NetworkPlayer, "nolimit_holdem_20", "amounts", "shared"),
    ],
)
def test_onnx_runtime_computes_the_same_probabilities(player_class, name, net, sharing):
    """Cases: a RegretMatchingPlayer with a network per seat, and a network with sparse inputs."""
    player, definition = build_player(player_class, name, net, sharing), game(name)
    save_and_check_onnx(Path("p.onnx"), definition, player, {"game": definition.to_dict()})
    session = onnxruntime.InferenceSession("p.onnx")
    records = sample_decisions(definition, 77, seed=5)
    inputs = {
        "observation": player.encoder(records).astype(np.float32),
        "mask": tables_from_records(definition, records).legal_mask(),
        "seat": records["to_act"].astype(np.int64),
    }
    names = [node.name for node in session.get_inputs()]
    (probs,) = session.run(["probs"], {key: inputs[key] for key in names})
    np.testing.assert_allclose(probs, player.action_probs(records), atol=1e-5)
    metadata = session.get_modelmeta().custom_metadata_map["poker_rl"]
    assert json.loads(metadata)["game"] == definition.to_dict()


@pytest.mark.parametrize(
    ("name", "net", "sharing", "reason"),
    [
        ("limit_holdem_6p", "lstm", "shared", "its network has an LSTM"),
        ("kuhn", "mlp_small", "per_betting_node", "a network for each betting line"),
    ],
)
def test_players_that_onnx_cannot_store_are_refused(name, net, sharing, reason):
    player = build_player(NetworkPlayer, name, net, sharing)
    with pytest.raises(ConfigError, match=f"{reason}; give FILE.safetensors"):
        save_and_check_onnx(Path("p.onnx"), game(name), player, {})


def test_only_weights_of_trained_players_are_exported(get_refusal):
    refusal = get_refusal("export", "game=kuhn", "player=call", "weights=a.safetensors")
    assert "weights: call is no trained player, and has no weights" in refusal
    assert "does not end in" in get_refusal("export", "game=kuhn", "player=call", "weights=a.pt")
    Path("a.md").write_text("mine")
    arguments = ["export", "game=leduc", "player=leduc_ac", "weights=a.safetensors"]
    assert "weights: a.md is there already" in get_refusal(*arguments)


def drop_column(tensors, tree):
    name = next(iter(tensors))
    tensors[name] = tensors[name][:, :-1].contiguous()


def nest_too_deep(tensors, tree):
    tree["players"] = None
    return json.dumps(tree).replace("null", "[" * 100_000 + "]" * 100_000)


MANIPULATIONS = {
    "class": lambda tensors, tree: tree["players"]["current"].update(_target_="os.system"),
    "shape": drop_column,
    "missing": lambda tensors, tree: tensors.popitem() and None,
    "metadata": lambda tensors, tree: tree.clear(),
    "depth": nest_too_deep,
}


@pytest.mark.parametrize("change", MANIPULATIONS)
def test_manipulated_safetensors_are_refused(change, get_refusal):
    player = build_player(NetworkPlayer, "kuhn", "mlp_small")
    tree = {"game": game("kuhn").to_dict(), "players": {"current": player.to_dict()}}
    save_safetensors(Path("a.safetensors"), tree)
    command = ["advise", "game=kuhn", "player=a.safetensors", "hand=K"]
    assert run_command(*command) == 0
    tensors, metadata = read_safetensors("a.safetensors")
    tree = json.loads(metadata[METADATA_KEY])
    text = MANIPULATIONS[change](tensors, tree) or json.dumps(tree)
    save_file(tensors, "a.safetensors", {METADATA_KEY: text})
    assert get_refusal(*command).startswith("player: ")


@pytest.mark.parametrize("content", [b"", b"\xff" * 100, b"PK\x03\x04"])
def test_files_that_are_not_safetensors_are_refused(content, get_refusal):
    Path("a.safetensors").write_bytes(content)
    refusal = get_refusal("evaluate", "game=kuhn", "player=a.safetensors")
    assert "a.safetensors is damaged or no player" in refusal
    assert "no such file" in get_refusal("evaluate", "game=kuhn", "player=b.safetensors")


def test_missing_packages_are_named(get_refusal, monkeypatch):
    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    for command, extra in (
        (["export", "game=leduc", "player=leduc_ac", "weights=a.onnx"], "export"),
        (["evaluate", "game=leduc", "player=a.safetensors"], "export"),
        (["review", "game=limit_holdem", "player=call", "hands=a.phh"], "review"),
    ):
        assert f"needs more packages: pip install 'poker-rl[{extra}]'" in get_refusal(*command)
