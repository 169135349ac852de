"""Steps on batches from a memory, and what of them belongs to the device."""

from __future__ import annotations

import torch
from torch import nn

from poker_rl.config.schedules import Constant
from poker_rl.learning.gradient_steps import GradientStepper
from poker_rl.learning.timing import LearnerTimer


def test_a_state_of_a_gpu_is_taken_up_as_one_of_this_device() -> None:
    """There steps are recorded, for which the optimiser has to be capturable; here they are not."""
    module = nn.Linear(2, 1)
    descent = GradientStepper(
        module,
        "adam",
        Constant(start=0.1),
        None,
        lambda: module(torch.ones(1, 2)).sum(),
        torch.Generator(),
        LearnerTimer(torch.device("cpu")),
    )
    descent.step()
    state = descent.state_dict()
    state["optimizer"]["param_groups"][0]["capturable"] = True
    descent.load_state_dict(state)
    assert descent.state_dict()["optimizer"]["param_groups"][0]["capturable"] is False
    descent.step()
    assert descent.updates == 2


def test_the_mean_loss_is_that_of_a_copy_and_a_step() -> None:
    module, losses = nn.Linear(1, 2), iter([2.0, 6.0, 10.0, 4.0])  # two copies
    descent = GradientStepper(
        module,
        "sgd",
        Constant(start=0.1),
        None,
        lambda: module(torch.zeros(1, 1)).sum() * 0 + next(losses),
        torch.Generator(),
        LearnerTimer(torch.device("cpu")),
    )
    for _ in range(3):
        descent.step()
    assert descent.pop_mean_loss() == 3.0  # 18 of three steps and two copies
    descent.step()
    assert descent.pop_mean_loss() == 2.0
