"""Trained players of the package: small, complete, and as good as their YAML says."""

from __future__ import annotations

import hashlib
import shutil

import numpy as np
import pytest
import torch
from big2_tables import BIG2
from commands import run_command
from evaluations import HOLDEM, LEDUC, loader

from poker_rl.config.option_files import SHIPPED_OPTION_DIR
from poker_rl.config.option_listing import read_first_comment
from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.exact.exploitability import exploitability
from poker_rl.evaluation.matches.duplicate_match import play_match
from poker_rl.games.game_tree import get_tree
from poker_rl.games.tables import Tables
from poker_rl.players.bots import pretrained
from poker_rl.players.bots.pretrained import CHECKSUM_FILE, PRETRAINED_FOLDER
from poker_rl.storage.checkpoint import load_snapshot

FILES = sorted(PRETRAINED_FOLDER.glob("*.pt"))


def test_together_they_are_small():
    assert len(FILES) >= 3
    assert sum(file.stat().st_size for file in FILES) < 8e6


def test_checksums_of_all_files_are_listed():
    lines = (PRETRAINED_FOLDER / CHECKSUM_FILE).read_text().splitlines()
    assert lines == [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}" for f in FILES]


def test_a_changed_or_unlisted_file_is_an_error(tmp_path, monkeypatch, capsys):
    for file in (CHECKSUM_FILE, "leduc_ac.pt"):
        shutil.copy(PRETRAINED_FOLDER / file, tmp_path)
    monkeypatch.setattr(pretrained, "PRETRAINED_FOLDER", tmp_path)
    loader(LEDUC)("leduc_ac")
    with (tmp_path / "leduc_ac.pt").open("ab") as opened:
        opened.write(b"0")
    assert run_command("evaluate", "game=leduc", "player=leduc_ac") == 2
    path = tmp_path / "leduc_ac.pt"
    message = f"{path} does not match SHA256SUMS; reinstall poker-rl"
    assert capsys.readouterr().err == f"poker-rl: player: leduc_ac: {message}\n"
    (tmp_path / CHECKSUM_FILE).write_text("0  other.pt\n")
    with pytest.raises(ConfigError, match=r"leduc_ac.pt is no bundled .*; allowed: other.pt$"):
        loader(LEDUC)("leduc_ac")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_file_holds_one_player_in_16_bits_and_its_origin(file):
    tree = load_snapshot(file)
    (state,) = tree["players"].values()
    assert {weight.dtype for weight in state["weights"].values()} == {torch.float16}
    assert set(tree["origin"]) - {"status"} == {
        "command",
        "experiment",
        "seed",
        "decisions",
        "commit",
        "date",
    }
    assert (SHIPPED_OPTION_DIR / "experiment" / f"{tree['origin']['experiment']}.yaml").is_file()


def test_the_leduc_player_has_the_exploitability_of_its_comment():
    tree = get_tree(LEDUC)
    policy = loader(LEDUC)("leduc_ac").action_probs(tree.infoset_records)
    distance = exploitability(tree, policy) / LEDUC.unit_chips
    assert f"exploitability {distance:.4f}" in read_first_comment(
        SHIPPED_OPTION_DIR / "player" / "leduc_ac.yaml"
    )


def test_the_limit_holdem_player_beats_call_and_values_its_hands():
    """Of 500 deals the interval is some 140 thousandths of a big blind on either side of 350."""
    load = loader(HOLDEM)
    player = load("lhe_ppo")
    won = play_match(HOLDEM, player, load("call"), "call", 500, 0)
    assert won.value - (won.half_width or 0) > 0
    tables = Tables(HOLDEM, 100, 0)
    tables.deal()
    worth = player.state_values(tables.records)
    assert worth is not None
    assert worth.shape == (100,)
    strength = loader(HOLDEM)("tight").action_probs(tables.records)[:, 2]
    assert np.corrcoef(worth, strength)[0, 1] > 0.5  # strong hands are worth more


def test_the_big2_player_beats_uniform_by_ten_points():
    load = loader(BIG2)
    won = play_match(BIG2, load("big2_vine"), load("uniform"), "uniform", 100, 0)
    assert won.value - (won.half_width or 0) > 10
