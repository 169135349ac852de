"""Decisions of a PPO learner in order of play, recorded while it trains."""

from dataclasses import fields
from itertools import pairwise

import numpy as np

from poker_rl.learning.rollout import HAND_ENDED, NEXT_PENDING, NO_ROW, RolloutBatch


def order_decisions(batch):
    """Return the N decisions of a batch in order of play, and which ones are learned from, [N].

    Decisions carried over come first. The column `agent` holds seats, as if seating were fixed.
    """
    columns = {field.name: getattr(batch, field.name).cpu().numpy() for field in fields(batch)}
    indices = np.nonzero(columns["is_decision"])
    seats = columns["payoffs"].shape[2]
    next_row = np.full(len(indices[0]), NEXT_PENDING)
    reward = np.zeros(len(indices[0]), np.float32)
    last_row = np.full((columns["seat"].shape[1], seats), NO_ROW)
    starts = np.searchsorted(indices[0], np.arange(len(columns["seat"]) + 1))
    for i, (start, end) in enumerate(pairwise(starts)):
        table, rows = indices[1][start:end], np.arange(start, end)
        seat = columns["seat"][i, table]
        previous = last_row[table, seat]
        next_row[previous[previous != NO_ROW]] = rows[previous != NO_ROW]
        last_row[table, seat] = rows
        if i < seats:
            continue
        ended = np.flatnonzero(columns["is_over"][i - seats])
        final = last_row[ended]
        next_row[final[final != NO_ROW]] = HAND_ENDED
        reward[final[final != NO_ROW]] = columns["payoffs"][i - seats, ended][final != NO_ROW]
        last_row[ended] = NO_ROW
    names = ("observation", "hidden_cards", "mask", "action", "log_prob", "seat", "replica")
    selected = {name: columns[name][indices] for name in names}
    selected |= {"table": indices[1], "agent": columns["seat"][indices]}
    rows = RolloutBatch(**selected, next_row=next_row, reward=reward)
    return rows, columns["is_learner"][indices]


def record_decisions(learner):
    """Return a list to which each later iteration appends the result of `order_decisions`.

    It also checks that the learner uses exactly its own decisions that are not pending.
    """
    batches, prepare = [], learner._prepare_data

    def prepare_and_record():
        prepare()
        batch = learner._rollout.batch
        rows, is_learner = order_decisions(batch)
        batches.append((rows, is_learner))
        is_used = batch.is_decision.new_zeros(batch.is_decision.numel())
        is_used[learner._inputs.cells] = learner._inputs.columns["is_used"]
        actual = is_used.view_as(batch.is_decision)[batch.is_decision]
        np.testing.assert_array_equal(actual, is_learner & (rows.next_row != NEXT_PENDING))
        assert int(is_used.sum()) == len(actual.nonzero())

    learner._prepare_data = prepare_and_record
    return batches
