"""Comparison of a resumed learner with an uninterrupted one."""

import io

import numpy as np
import torch

from poker_rl.games import get_tree


def check_bitwise_resume(game, build, steps=3):
    """Check that resuming a learner saved after `steps` iterations is bitwise exact for three more.

    Args:
        game: a game small enough to enumerate.
        build: creates a learner with a seed.
    """
    uninterrupted, saved, resumed = build(3), build(3), build(4)
    metrics = [uninterrupted.learn() for _ in range(steps + 3)]
    for _ in range(steps):
        saved.learn()
    file = io.BytesIO()
    torch.save(saved.state_dict(), file)
    file.seek(0)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    for expected in metrics[steps:]:
        resumed.players(), resumed.state_dict()  # neither may change the learner
        actual = resumed.learn()
        for tag in expected:
            assert tag.startswith("time/") or actual[tag] == expected[tag], tag
    tree = get_tree(game)
    for name, player in uninterrupted.players().items():
        records = np.tile(tree.infoset_records, player.instance_count)
        resumed_probs = resumed.players()[name].action_probs(records)
        assert (player.action_probs(records) == resumed_probs).all()
    assert resumed.progress == uninterrupted.progress
