"""Programs of docs/environments.md and examples/environments train networks that can play."""

import base64
import io
import json
import pickle
import re
import runpy
import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import run_command
from random_games import deal_tables
from torch import nn

from poker_rl.config import ConfigError
from poker_rl.evaluation import play_match
from poker_rl.games import load_game
from poker_rl.integrations.players_from_pytorch import POLICY_MODULE, MaskablePPOPlayer, MLPPlayer
from poker_rl.players import load_player

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
YAML_FILES = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)
LEDUC = load_game("leduc")

pytestmark = pytest.mark.usefixtures("working_folder")


def run_program(text):
    """Run the only program of docs/environments.md that contains `text`; return its variables."""
    (program,) = (program for program in PROGRAMS if text in program)
    variables = {"__name__": "notebook"}
    exec(compile(program, "environments.md", "exec"), variables)
    return variables


def measure_against_call(player):
    """Return the lower end of the 95 % interval of winnings from `call`, in antes a hand."""
    match = play_match(LEDUC, player, load_player("call", LEDUC), "call", 2000, 0)
    return match.value - match.half_width


@pytest.mark.parametrize("text", ["pettingzoo.env(", "gymnasium.make(", "gymnasium.make_vec("])
def test_short_programs_of_the_documentation_run(text):
    pytest.importorskip("pettingzoo")
    run_program(text)


def test_ppo_of_the_examples_learns_and_plays_in_the_commands(capsys, monkeypatch):
    pytest.importorskip("gymnasium")
    mean_rewards = runpy.run_path(str(ROOT / "examples/environments/ppo.py"))["mean_rewards"]
    assert abs(mean_rewards[0]) < 0.3
    assert np.mean(mean_rewards[-5:]) > 0.9  # 1.2 was measured
    Path("mine.yaml").write_text(YAML_FILES[0])
    assert measure_against_call(load_player("mine.yaml", LEDUC)) > 0.8  # uniform play wins 0
    words = ["game=leduc", "player=mine.yaml", "against=[call]", "deals=50"]
    assert run_command("evaluate", *words) == 0
    assert "against call" in capsys.readouterr().out
    assert run_command("tournament", "game=leduc", "players=[mine.yaml,call]", "deals=50") == 0
    monkeypatch.setattr("sys.stdin", io.StringIO())  # end of input quits the game
    assert run_command("play", "ui=terminal", "game=leduc", "against=[mine.yaml]") == 0


def test_maskable_ppo_learns_and_its_player_has_the_same_probabilities():
    pytest.importorskip("sb3_contrib")
    model = run_program("MaskablePPO(")["model"]
    Path("model.yaml").write_text(YAML_FILES[1])
    player = load_player("model.yaml", LEDUC)
    assert measure_against_call(player) > 0.6  # 1.1 was measured
    tables = deal_tables(LEDUC, 300)
    inputs = torch.from_numpy(tables.observe()).float()
    distribution = model.policy.get_distribution(inputs, tables.legal_mask()).distribution
    expected = distribution.probs.detach().numpy()
    assert np.abs(player.action_probs(tables.records) - expected).max() < 1e-6


def build_network(*sizes, activation=nn.Tanh):
    """Return a network with layers of these sizes; weights are from a fixed seed."""
    torch.manual_seed(0)
    layers = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), activation()]
    return nn.Sequential(*layers[:-1])


def save_model(network, activation="Tanh", **settings):
    """Write model.zip in the format of MaskablePPO; its pickled settings must not be loaded."""
    last = len(network) - 1
    weights = {"value_net.weight": torch.zeros(1, 4), "value_net.bias": torch.zeros(1)}
    for name, weight in network.state_dict().items():
        layer, part = name.split(".")
        prefix = "action_net" if int(layer) == last else f"mlp_extractor.policy_net.{layer}"
        weights[f"{prefix}.{part}"] = weight
    pickled = {":serialized:": base64.b64encode(pickle.dumps(PickleTrap())).decode()}
    function = f"<class 'torch.nn.modules.activation.{activation}'>"
    data = {"policy_class": {"__module__": POLICY_MODULE, **pickled}}
    data["policy_kwargs"] = {"activation_fn": function, **pickled}
    with zipfile.ZipFile("model.zip", "w") as archive:
        archive.writestr("data", json.dumps(data | settings))
        with io.BytesIO() as file:
            torch.save(weights, file)
            archive.writestr("policy.pth", file.getvalue())


class PickleTrap:
    """Object whose pickle creates a file when it is loaded."""

    def __reduce__(self):
        return Path.touch, (Path("trapped"),)


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU])
def test_players_of_both_file_formats_agree_with_the_network(activation):
    network = build_network(LEDUC.observation_size, 8, 3, activation=activation)
    save_model(network, activation.__name__)
    torch.save(network.state_dict(), "actor.pt")
    tables = deal_tables(LEDUC, 300)
    logits = network(torch.from_numpy(tables.observe()).float())
    mask = torch.from_numpy(tables.legal_mask())
    expected = torch.where(mask, logits, -torch.inf).softmax(1).detach().numpy()
    name = activation.__name__.lower()
    players = (
        MaskablePPOPlayer(file="model.zip", game=LEDUC),
        MLPPlayer(file="actor.pt", activation=name, game=LEDUC),
    )
    for player in players:
        assert np.abs(player.action_probs(tables.records) - expected).max() < 1e-6
        restored = type(player).from_dict(player.to_dict(), LEDUC, torch.device("cpu"))
        assert (restored.action_probs(tables.records) == player.action_probs(tables.records)).all()
    assert not Path("trapped").exists()


def test_mlp_player_refuses_files_of_other_networks():
    def expect_error(message, tree):
        torch.save(tree, "actor.pt")
        with pytest.raises(ConfigError, match=message):
            MLPPlayer(file="actor.pt", activation="tanh", game=LEDUC)

    for tree in ({}, {0: 1}, {"a": torch.ones(3)}, {"weight": 1}, {"0.weight": torch.ones(3, 36)}):
        expect_error("file: actor.pt: holds other weights than those of", tree)
    for sizes in ((5, 3), (36, 8), (36, 8, 4)):
        network = build_network(*sizes)
        expect_error("from the 36 features of an observation of leduc to", network.state_dict())
    network = build_network(36, 3)
    network[0].bias.data[0] = torch.nan
    expect_error(r"file: actor\.pt: 0\.bias is not finite", network.state_dict())
    Path("actor.pt").unlink()
    with pytest.raises(ConfigError, match=r"actor\.pt: no such file"):
        MLPPlayer(file="actor.pt", activation="tanh", game=LEDUC)


def test_maskable_ppo_player_refuses_other_models():
    def expect_error(message):
        with pytest.raises(ConfigError, match=f"file: model.zip.*{message}"):
            MaskablePPOPlayer(file="model.zip", game=LEDUC)

    expect_error("no such file")
    Path("model.zip").write_bytes(b"PK")
    expect_error("is not a model of MaskablePPO")
    network = build_network(36, 8, 3)
    save_model(network, policy_class={"__module__": "mine"})
    expect_error("is not of an MlpPolicy")
    save_model(network, "GELU")
    expect_error("is not of an MlpPolicy")
    save_model(network, policy_kwargs=None)
    expect_error("is not a model of MaskablePPO")
    with zipfile.ZipFile("model.zip", "w") as archive:
        archive.writestr("data", "{}")
        with io.BytesIO() as file:
            torch.save({"action_net.weight": PickleTrap()}, file)
            archive.writestr("policy.pth", file.getvalue())
    expect_error("is not a model of MaskablePPO")
    assert not Path("trapped").exists()
