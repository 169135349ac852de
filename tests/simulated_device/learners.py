"""Every learner trains, is measured, saves and goes on, where no tensor of the CPU is taken."""

from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from commands import replace_settings, run_command
from device_simulator import NAME, simulate_device
from small_learners import LEARNERS
from tiny import rows

from poker_rl.training import start_run
from poker_rl.training.trainer import Trainer

TRAIN = ["budget=200", "budget_unit=decisions", "evaluate_every=100", "checkpoint_every=120"]
TRAIN += ["evaluation.deals=30", "figures=false"]


# Settings with work of their own on the device; the other learners play Kuhn poker as they are.
MORE = {
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


def train(on, *settings):
    """Train on a device of this name; return the exit code."""

    def on_it(*command):
        prepare("cpu", *command[1:])
        return torch.device(on)

    prepare = start_run.prepare_process
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start_run, "prepare_process", on_it)
        return run_command("train", *settings)


def broken_off(on, name, *settings):
    """Return the folder of a run whose machine fails at its end, after its last checkpoint."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "finish", Mock(side_effect=OSError("no power")))
        assert train(on, *settings, f"name={name}") == 1
    (folder,) = Path("outputs").glob(f"*/*/{name}")
    return folder


@pytest.mark.parametrize("algo", LEARNERS)
def test_a_run_learns_what_it_does_on_the_cpu(algo):
    """Where nothing is lost on the way to the device and back, only rounding may differ."""
    command = [*LEARNERS[algo], *TRAIN, f"algo={algo}", "game=kuhn"]
    settings = replace_settings(command, *MORE.get(algo, "").split())
    folder = broken_off(NAME, "device", *settings)
    assert train(NAME, f"resume={folder}") == 0
    found = rows(folder)
    assert train("cpu", *settings, "name=cpu") == 0
    (folder,) = Path("outputs").glob("*/*/cpu")
    expected = rows(folder)
    assert len(found) == len(expected) > 1
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize(
    ("algo", "one", "other"), [("nfsp_ppo", "cpu", NAME), ("nfsp", NAME, "cpu")]
)
def test_a_run_goes_on_on_another_device(algo, one, other):
    folder = broken_off(one, "moved", *LEARNERS[algo], *TRAIN, "game=kuhn", f"algo={algo}")
    assert train(other, f"resume={folder}", f"device={'cuda' if other == NAME else other}") == 0
    assert rows(folder)[-1]["decisions"] >= 200
