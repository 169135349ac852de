"""Every learner trains, is evaluated, saves and resumes on the simulated device."""

from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from commands import replace_settings, run_command
from device_simulator import DEVICE, simulate_device
from small_learners import LEARNERS
from tiny_run import read_rows

from poker_rl.training import start_run
from poker_rl.training.trainer import Trainer

TRAIN = ["budget=200", "budget_unit=decisions", "evaluate_every=100", "checkpoint_every=120"]
TRAIN += ["evaluation.deals=30", "figures=false"]


# Settings that cause more work on the device; other learners play Kuhn poker with small settings.
EXTRA_SETTINGS = {
    "mmd": "game=leduc algo.network_sharing=per_betting_node algo.instances=2"
    " algo.critic_view=perfect_information algo.entropy_over=action_types",
    "vpg": "game=leduc opponents=[leduc_ac]",
    "actor_critic": "algo.enumerate_deals=true algo.hands_per_iteration=24 algo.instances=2",
    "dqn": "algo.optimizer=sgd algo.max_grad_norm=1",
    "apu": "game=kuhn_3p algo.variant=dual_apu algo.reward_type=published net=lstm",
}


@pytest.fixture(autouse=True)
def device(working_folder):
    with simulate_device():
        yield


def train(device, *settings):
    """Train on the device with this name; return the exit code."""

    def prepare_on_gpu(*command):
        prepare_on_cpu("cpu", *command[1:])
        return torch.device(device)

    prepare_on_cpu = start_run.prepare_process
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start_run, "prepare_process", prepare_on_gpu)
        return run_command("train", *settings)


def train_and_fail(device, name, *settings):
    """Train a run that fails at its end, after its last checkpoint; return its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "finish", Mock(side_effect=OSError("no power")))
        assert train(device, *settings, f"name={name}") == 1
    (folder,) = Path("outputs").glob(f"*/*/{name}")
    return folder


@pytest.mark.parametrize("algo", LEARNERS)
def test_training_matches_cpu(algo):
    """A run that is resumed on the device differs from one on the CPU by rounding only."""
    command = [*LEARNERS[algo], *TRAIN, f"algo={algo}", "game=kuhn"]
    settings = replace_settings(command, *EXTRA_SETTINGS.get(algo, "").split())
    folder = train_and_fail(DEVICE, "device", *settings)
    assert train(DEVICE, f"resume={folder}") == 0
    metrics = read_rows(folder)
    assert train("cpu", *settings, "name=cpu") == 0
    (folder,) = Path("outputs").glob("*/*/cpu")
    cpu_metrics = read_rows(folder)
    assert len(metrics) == len(cpu_metrics) > 1
    for row, cpu_row in zip(metrics, cpu_metrics, strict=True):
        assert row == pytest.approx(cpu_row, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(
    ("algo", "old", "new"), [("nfsp_ppo", "cpu", DEVICE), ("nfsp", DEVICE, "cpu")]
)
def test_run_resumes_on_another_device(algo, old, new):
    folder = train_and_fail(old, "moved", *LEARNERS[algo], *TRAIN, "game=kuhn", f"algo={algo}")
    assert train(new, f"resume={folder}", f"device={'cuda' if new == DEVICE else new}") == 0
    assert read_rows(folder)[-1]["decisions"] >= 200
