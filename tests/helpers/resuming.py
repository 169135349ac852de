"""A learner that goes on from its state beside one that was never stopped."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from poker_rl.games.tree import tree_of


def demand_resumes_to_the_bit(game: Any, begin: Callable[[], Any]) -> None:
    """Six steps in a row equal three, saving, loading and three more.

    Args:
        game: one that is small enough to enumerate.
        begin: makes a learner of it, each time the same.
    """
    whole, half, resumed = (begin() for _ in range(3))
    metrics = [whole.learn() for _ in range(6)]
    for _ in range(3):
        half.learn()
    file = io.BytesIO()
    torch.save(half.state_dict(), file)
    file.seek(0)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    for expected in metrics[3:]:
        got = resumed.learn()
        for tag in expected:
            assert tag.startswith("time/") or got[tag] == expected[tag], tag
    tree = tree_of(game)
    for name, player in whole.players().items():
        records = np.tile(tree.records, player.instances)
        again = resumed.players()[name].probabilities(records)
        assert (player.probabilities(records) == again).all()
    assert resumed.progress == whole.progress
