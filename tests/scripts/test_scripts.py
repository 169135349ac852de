"""Scripts: release of players, tables of APU, comparison of metrics, and checks on a GPU."""

import hashlib
from pathlib import Path

import add_pretrained_player as release
import numpy as np
import pytest
import reproduce_apu
import torch
from benchmark_libraries import create_environment_benchmarks, create_range_showdown_benchmarks
from commands import list_runs, run_command
from gpu import CHECK_ROWS, SPEED_ROWS
from same_metrics import compare_metrics, train_and_read_metrics
from toy_games import kuhn

from poker_rl.config import ConfigError
from poker_rl.config.compose import compose_plain_config
from poker_rl.games import get_tree
from poker_rl.players import load_player
from poker_rl.storage.checkpoint import load_snapshot

pytestmark = pytest.mark.usefixtures("working_folder")

SHORT = ["train", "algo=ppo", "budget=2000", "evaluate_every=2000", "algo.tables=32"]


def test_release_script_writes_the_headline_player_in_float16(monkeypatch):
    assert run_command(*SHORT, "seed=3") == 0
    (run,) = list_runs()
    Path("player").mkdir()
    for constant in ("PRETRAINED_FOLDER", "SHIPPED_OPTION_DIR"):
        monkeypatch.setattr(release, constant, Path())
    monkeypatch.setattr("sys.argv", ["add_pretrained_player.py", str(run), "mine"])
    release.main()
    comment, target, file = Path("player/mine.yaml").read_text().splitlines()
    assert comment.startswith("# kuhn, by poker-rl train ")
    assert "seed=3" in comment
    assert comment.endswith(": not yet measured")
    assert target.endswith(": poker_rl.players.bots.pretrained_bot.PretrainedBot")
    assert file == "file: mine.pt"
    checksum = hashlib.sha256(Path("mine.pt").read_bytes()).hexdigest()
    assert Path("SHA256SUMS").read_text() == f"{checksum}  mine.pt\n"
    tree = load_snapshot(Path("mine.pt"))
    assert list(tree["players"]) == ["weight_average"]
    weights = tree["players"]["weight_average"]["weights"].values()
    assert {weight.dtype for weight in weights} == {torch.float16}
    assert tree["origin"]["seed"] == 3
    assert tree["origin"]["decisions"] >= 2000
    game = kuhn()
    records = get_tree(game).infoset_records
    half, full = (load_player(spec, game) for spec in ("mine.pt", str(run)))
    np.testing.assert_allclose(half.action_probs(records), full.action_probs(records), atol=1e-3)
    values, expected = half.state_values(records), full.state_values(records)
    np.testing.assert_allclose(values, expected, atol=1e-2)


def test_release_script_refuses_a_run_with_other_opponents():
    assert run_command("train", "algo=reinforce", "budget=2", "opponents=[uniform]") == 0
    (run,) = list_runs()
    with pytest.raises(ConfigError, match="trained against uniform, not in self-play"):
        release.build_pretrained_snapshot(run)


def test_experiments_named_in_scripts_exist_and_have_valid_settings():
    folder = Path(__file__).parents[2] / "conf" / "experiment"
    existing = {path.stem for path in folder.glob("*.yaml")}
    linear = {f"{name}_linear" for name in reproduce_apu.EXPERIMENTS}
    assert {*reproduce_apu.EXPERIMENTS, *linear, *reproduce_apu.OURS} <= existing
    names = {name for rows in reproduce_apu.TABLES.values() for name, _, _ in rows}
    assert names <= set(reproduce_apu.EXPERIMENTS)
    for row in (*CHECK_ROWS, *SPEED_ROWS):
        assert "net" in compose_plain_config(row.split()), row


def test_benchmarks_of_environments_and_showdowns_run():
    for name, run in (
        create_environment_benchmarks(False) | create_range_showdown_benchmarks()
    ).items():
        assert run() > 0, name


def test_compare_metrics_reports_a_difference():
    run = "game=kuhn algo=reinforce budget=400"
    first = train_and_read_metrics(run)
    assert len(first) > 2
    assert list(compare_metrics({run: first}, {run: first})) == [f"equal: {run}"]
    (line,) = compare_metrics({run: first}, {run: [first[0] | {"loss/policy": 7.0}, *first[1:]]})
    assert line == f"DIFFERENT ['loss/policy']: {run}"
