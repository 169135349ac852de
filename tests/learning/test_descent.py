"""Steps on batches from a memory, and what of them belongs to the device."""

from __future__ import annotations

import torch
from torch import nn

from poker_rl.config.schedules import Constant
from poker_rl.learning.clock import Clock
from poker_rl.learning.descent import Descent


def test_a_state_of_a_gpu_is_taken_up_as_one_of_this_device() -> None:
    """There steps are recorded, for which the optimiser has to be capturable; here they are not."""
    module = nn.Linear(2, 1)
    descent = Descent(
        module,
        "adam",
        Constant(start=0.1),
        None,
        lambda: module(torch.ones(1, 2)).sum(),
        torch.Generator(),
        Clock(),
    )
    descent.step()
    state = descent.state_dict()
    state["optimiser"]["param_groups"][0]["capturable"] = True
    descent.load_state_dict(state)
    assert descent.state_dict()["optimiser"]["param_groups"][0]["capturable"] is False
    descent.step()
    assert descent.updates == 2
