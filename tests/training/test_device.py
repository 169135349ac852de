"""The device that `device=auto` chooses on a machine with a GPU, and hardware options."""

import pytest
import torch
from commands import TRAIN, list_runs, read_last_row, run_command

from poker_rl.config.build import build
from poker_rl.config.compose import compose_plain_config
from poker_rl.config.option_files import read_plain_yaml
from poker_rl.games import Game
from poker_rl.training.rank_and_device import choose_faster_device

SMALL = ["train", "game=kuhn", "algo=reinforce", "budget=2", "evaluation.deals=30"]


@pytest.mark.parametrize(
    ("settings", "device", "reason"),
    [
        ("game=kuhn algo=ppo", "cuda", "networks of this size"),
        ("game=kuhn algo=ppo algo.tables=64", "cpu", "networks this small"),
        ("game=kuhn algo=ppo algo.tables=64 algo.instances=10", "cuda", "networks of this size"),
        ("game=kuhn algo=cfr", "cpu", "no networks"),
        ("experiment=nfsp_lhe", "cuda", "networks of this size"),
    ],
)
def test_auto_chooses_the_faster_device(settings, device, reason):
    config = compose_plain_config(settings.split())
    game = build(config["game"], "game", Game)
    chosen, explanation = choose_faster_device(config, game)
    assert chosen.type == device
    assert reason in explanation


@pytest.mark.skipif(
    torch.backends.cuda.is_built() and not torch.cuda.is_available(),
    reason="this build of torch would look for the GPU that the test pretends",
)
@pytest.mark.usefixtures("working_folder")
def test_auto_device_is_printed_only_if_there_is_a_gpu(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert run_command(*SMALL, "name=no_gpu") == 0
    assert "device:" not in capsys.readouterr().out
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert run_command(*SMALL, "name=auto") == 0
    reason = "faster than the GPU for networks this small (device=cuda uses it anyway)"
    assert f"device: cpu, {reason}\n" in capsys.readouterr().out
    assert run_command(*SMALL, "name=cpu", "device=cpu") == 0
    assert "device:" not in capsys.readouterr().out


@pytest.mark.usefixtures("working_folder")
def test_hardware_settings_are_saved_and_kept_by_a_resumed_run(monkeypatch, get_refusal):
    monkeypatch.setattr("poker_rl.training.run_config.count_cores", lambda: 1)
    assert run_command(*TRAIN, "hardware=gpu", "device=cpu", "name=a") == 0
    (folder,) = list_runs()
    config = read_plain_yaml(folder / "config.yaml")
    assert (config["threads"], config["precision"]) == (1, "high")
    assert run_command("train", f"resume={folder}", "budget=20") == 0
    assert read_last_row(folder)["iterations"] == 20
    message = "hardware: a resumed run keeps its settings, only "
    assert get_refusal("train", f"resume={folder}", "hardware=gpu").startswith(message)


@pytest.mark.usefixtures("working_folder")
def test_hardware_option_sets_device_threads_and_tables(get_refusal, capsys):
    problem = get_refusal("train", "algo=nfsp", "hardware=gpu_ppo", "device=cpu")
    assert problem.startswith("algo.minibatches: no such setting")
    assert run_command("train", "experiment=ppo_lhe", "hardware=gpu_ppo", "-c", "job") == 0
    out = capsys.readouterr().out
    for line in ("device: cuda", "precision: high  # TF32", "threads: auto  # all cores"):
        assert f"\n{line}" in out
    assert "\n  tables: 32768  # tables of each instance; memory" in out
