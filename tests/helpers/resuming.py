"""Comparison of a resumed learner with an uninterrupted one."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from poker_rl.games.game_tree import get_tree


def check_resumes_to_the_bit(game: Any, begin: Callable[[], Any]) -> None:
    """Check that six steps equal three steps, saving, loading and three more steps.

    Args:
        game: a game small enough to enumerate.
        begin: creates equal learners.
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
    tree = get_tree(game)
    for name, player in whole.players().items():
        records = np.tile(tree.infoset_records, player.instances)
        again = resumed.players()[name].action_probs(records)
        assert (player.action_probs(records) == again).all()
    assert resumed.progress == whole.progress
