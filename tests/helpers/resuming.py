"""Comparison of a resumed learner with an uninterrupted one."""

import io

import numpy as np
import torch

from poker_rl.games import get_tree


def check_resumes_to_the_bit(game, build, steps=3):
    """Check that `steps` steps, saving, loading and three more steps equal all steps at once.

    Args:
        game: a game small enough to enumerate.
        build: creates a learner with a seed.
    """
    whole, half, resumed = build(3), build(3), build(4)
    metrics = [whole.learn() for _ in range(steps + 3)]
    for _ in range(steps):
        half.learn()
    file = io.BytesIO()
    torch.save(half.state_dict(), file)
    file.seek(0)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    for expected in metrics[steps:]:
        resumed.players(), resumed.state_dict()  # these change nothing
        got = resumed.learn()
        for tag in expected:
            assert tag.startswith("time/") or got[tag] == expected[tag], tag
    tree = get_tree(game)
    for name, player in whole.players().items():
        records = np.tile(tree.infoset_records, player.instance_count)
        again = resumed.players()[name].action_probs(records)
        assert (player.action_probs(records) == again).all()
    assert resumed.progress == whole.progress
