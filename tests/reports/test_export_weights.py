"""Weights as safetensors and ONNX: equal probabilities, a model card, no code of strangers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
import yaml
from commands import run_command
from random_games import game, sample_decisions
from safetensors import safe_open
from safetensors.torch import save_file

from poker_rl.config import plugins
from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.config.validation import ConfigError
from poker_rl.games.tables import tables_from_records
from poker_rl.nets.dense import NetDimensions
from poker_rl.nets.encoders import ObservationEncoder
from poker_rl.players.network_player import NetworkPlayer, RegretMatchingPlayer, count_networks
from poker_rl.players.player_loader import load_player
from poker_rl.reports.onnx_policy import save_onnx
from poker_rl.storage.safetensors_file import METADATA_KEY, save_safetensors

pytestmark = pytest.mark.usefixtures("working_folder")


def build_player(player_class, name, net, sharing="shared"):
    """Return a player with random weights, of which none is near 0."""
    definition, config = game(name), build(load_option("net", net), "net")
    encoder = ObservationEncoder(definition, config.features)
    dimensions = NetDimensions(
        inputs=encoder.size,
        outputs=definition.action_count,
        replicas=count_networks(definition, sharing),
        history_shape=encoder.history_shape,
    )
    generator = torch.Generator().manual_seed(0)
    module = config.build_module(dimensions, generator)
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(0.1 * torch.randn(weight.shape, generator=generator))
    return player_class(definition, config, module, sharing)


def read_parts(path):
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


def test_a_run_as_safetensors_plays_the_same_and_its_card_says_what_it_is(finished_run) -> None:
    run = finished_run
    assert run_command("evaluate", f"run={run}", "against=[call]", "deals=50") == 0
    assert run_command("export", f"run={run}", "weights=hub/policy.safetensors") == 0
    definition = game("kuhn")
    records = sample_decisions(definition, 50)
    ours, loaded = (load_player(s, definition) for s in (str(run), "hub/policy.safetensors"))
    np.testing.assert_array_equal(loaded.action_probs(records), ours.action_probs(records))

    _, front, body = Path("hub/policy.md").read_text().split("---\n", 2)
    metadata = yaml.safe_load(front)
    metrics = metadata["model-index"][0]["results"][0]["metrics"]
    assert {"exploitability", "against/call"} <= {metric["type"] for metric in metrics}
    assert metadata["tags"][-1] == "kuhn"
    assert "| seed | 0 |" in body
    assert "exploitability" in body
    hub = "player=hub/policy.safetensors"
    assert run_command("evaluate", "game=kuhn", f"{hub}:average:greedy") == 0
    assert run_command("advise", "game=kuhn", hub, "hand=K") == 0
    assert run_command("export", "game=kuhn", hub, "weights=again.safetensors") == 0
    assert json.loads(read_parts("again.safetensors")[1][METADATA_KEY])["origin"]["seed"] == 0


def test_a_bundled_player_is_exported_with_its_origin() -> None:
    assert run_command("export", "game=leduc", "player=leduc_ac", "weights=l.safetensors") == 0
    definition = game("leduc")
    records = sample_decisions(definition, 50)
    ours, loaded = (load_player(spec, definition) for spec in ("leduc_ac", "l.safetensors"))
    np.testing.assert_array_equal(loaded.action_probs(records), ours.action_probs(records))
    np.testing.assert_array_equal(loaded.state_values(records), ours.state_values(records))
    assert "| experiment | ac\\_leduc |" in Path("l.md").read_text()


@pytest.mark.parametrize(
    ("player_class", "name", "net", "sharing"),
    [
        (RegretMatchingPlayer, "leduc", "mlp_small", "per_seat"),
        (NetworkPlayer, "nolimit_holdem_20", "amounts", "shared"),
    ],
)
def test_onnx_runtime_computes_the_same_probabilities(player_class, name, net, sharing) -> None:
    """A RegretMatchingPlayer of two seats, and a network that reads sparse inputs."""
    player, definition = build_player(player_class, name, net, sharing), game(name)
    save_onnx(Path("p.onnx"), definition, player, {"game": definition.to_dict()})
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
def test_players_without_onnx(name, net, sharing, reason) -> None:
    player = build_player(NetworkPlayer, name, net, sharing)
    with pytest.raises(ConfigError, match=f"{reason}; give FILE.safetensors"):
        save_onnx(Path("p.onnx"), game(name), player, {})


def test_only_trained_players_are_exported(get_refusal) -> None:
    refusal = get_refusal("export", "game=kuhn", "player=call", "weights=a.safetensors")
    assert "weights: call is no trained player, and has no weights" in refusal
    assert "does not end in" in get_refusal("export", "game=kuhn", "player=call", "weights=a.pt")
    Path("a.md").write_text("mine")
    arguments = ["export", "game=leduc", "player=leduc_ac", "weights=a.safetensors"]
    assert "weights: a.md is there already" in get_refusal(*arguments)


def change_class(tensors, tree):
    tree["players"]["current"]["_target_"] = "os.system"


def change_shape(tensors, tree):
    name = next(iter(tensors))
    tensors[name] = tensors[name][:, :-1].contiguous()


def change_dtype(tensors, tree):
    for name in tensors:
        tensors[name] = tensors[name].to(torch.float8_e4m3fn)


def remove_tensor(tensors, tree):
    del tensors[next(iter(tensors))]


def remove_metadata(tensors, tree):
    tree.clear()


def nest_too_deep(tensors, tree):
    tree["players"] = None
    return json.dumps(tree).replace("null", "[" * 100_000 + "]" * 100_000)


@pytest.mark.parametrize(
    "change",
    [change_class, change_shape, change_dtype, remove_tensor, remove_metadata, nest_too_deep],
)
def test_files_of_strangers_are_refused_in_one_line(change, get_refusal) -> None:
    player = build_player(NetworkPlayer, "kuhn", "mlp_small")
    tree = {"game": game("kuhn").to_dict(), "players": {"current": player.to_dict()}}
    save_safetensors(Path("a.safetensors"), tree)
    command = ["advise", "game=kuhn", "player=a.safetensors", "hand=K"]
    assert run_command(*command) == 0
    tensors, metadata = read_parts("a.safetensors")
    tree = json.loads(metadata[METADATA_KEY])
    text = change(tensors, tree) or json.dumps(tree)
    save_file(tensors, "a.safetensors", {METADATA_KEY: text})
    assert get_refusal(*command).startswith("player: ")


@pytest.mark.parametrize("content", [b"", b"\xff" * 100, b"PK\x03\x04"])
def test_other_files_are_refused_in_one_line(content, get_refusal) -> None:
    Path("a.safetensors").write_bytes(content)
    refusal = get_refusal("evaluate", "game=kuhn", "player=a.safetensors")
    assert "a.safetensors is damaged or no player" in refusal
    assert "no such file" in get_refusal("evaluate", "game=kuhn", "player=b.safetensors")


def test_missing_packages_are_named(get_refusal, monkeypatch) -> None:
    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    for command, extra in (
        (["export", "game=leduc", "player=leduc_ac", "weights=a.onnx"], "export"),
        (["evaluate", "game=leduc", "player=a.safetensors"], "export"),
        (["review", "game=limit_holdem", "player=call", "hands=a.phh"], "review"),
    ):
        assert f"needs more packages: pip install 'poker-rl[{extra}]'" in get_refusal(*command)
