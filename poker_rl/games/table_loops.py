"""Loops over many tables that call the rules of a game, compiled together with them.

The loops are compiled for each game's rules: they get the globals of the rules module, so `step` in
a loop is that game's `step`. Each loop has a serial form, and a parallel form for thousands of
tables.
"""

from __future__ import annotations

from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numba

from poker_rl.games.game import sample_variant, shuffle_deck


def deal_loop(definitions, tables, rows):
    for i in prange(len(rows)):
        table = tables[rows[i]]
        sample_variant(definitions, table)
        definition = definitions[table.variant]
        shuffle_deck(table, definition.cards, definition.dealt)
        start(definition, table)


def table_rule_loop(definitions, tables, rows):
    """Call a rule that only changes the table, such as `start`, at each table."""
    for i in prange(len(rows)):
        rule(definitions[tables[rows[i]].variant], tables[rows[i]])


def output_rule_loop(definitions, tables, rows, out):
    """Call a rule that writes a row of `out`, such as `legal`, at each table."""
    for i in prange(len(rows)):
        rule(definitions[tables[rows[i]].variant], tables[rows[i]], out[i])


def acting_seat_output_rule_loop(definitions, tables, rows, out):
    """Call a rule that writes what a seat sees, such as `observe`, for each seat to act."""
    for i in prange(len(rows)):
        table = tables[rows[i]]
        rule(definitions[table.variant], table, table.to_act, out[i])


def step_loop(definitions, tables, rows, actions):
    """Play an action at each table; return the number of illegal actions."""
    illegal_count = 0
    for i in prange(len(rows)):
        step(definitions[tables[rows[i]].variant], tables[rows[i]], actions[i])
        illegal_count += tables[rows[i]].error != 0
    return illegal_count


def replay_loop(definitions, tables, rows, action_lines, move_counts):
    illegal_count = 0
    for i in prange(len(rows)):
        table = tables[rows[i]]
        for j in range(move_counts[i]):
            step(definitions[table.variant], table, action_lines[i, j])
            if table.error != 0:
                illegal_count += 1
                break
    return illegal_count


def observe_sorted_log_chips_loop(definitions, tables, rows, logarithms, out):
    for i in prange(len(rows)):
        table = tables[rows[i]]
        observe_sorted_log_chips(
            definitions[table.variant], table, table.to_act, logarithms, out[i]
        )


def observe_history_loop(definitions, tables, rows, out, lengths):
    for i in prange(len(rows)):
        table = tables[rows[i]]
        lengths[i] = observe_history(definitions[table.variant], table, table.to_act, out[i])


def step_autoreset_loop(
    definitions, tables, rows, actions, seats, observations, legal_masks, payoffs_out, is_over
):
    illegal_count = 0
    for i in prange(len(actions)):
        table = tables[i]
        definition = definitions[table.variant]
        step(definition, table, actions[i])
        illegal_count += table.error != 0
        is_over[i] = table.over
        if table.over and table.error == 0:
            payoffs(definition, table, payoffs_out[i])
            sample_variant(definitions, table)
            definition = definitions[table.variant]
            shuffle_deck(table, definition.cards, definition.dealt)
            start(definition, table)
        seats[i] = table.to_act
        if observations is not None:  # numba resolves this test when it compiles
            observe(definition, table, table.to_act, observations[i])
        legal(definition, table, legal_masks[i])
    return illegal_count


@cache
def compile_loop(loop: Any, rules: ModuleType, parallel: bool, rule: str = "") -> Any:
    """Compile a loop for the rules of a game; numba caches the machine code on disk.

    `rule` is the name of the rule that `table_rule_loop`, `output_rule_loop` or
    `acting_seat_output_rule_loop` calls; the other loops need none.
    """
    loop_globals = {
        **vars(rules),
        "rule": getattr(rules, rule, None),
        "sample_variant": sample_variant,
        "shuffle_deck": shuffle_deck,
        "prange": numba.prange if parallel else range,
    }
    bound_loop = FunctionType(loop.__code__, loop_globals, loop.__name__)
    form = "parallel" if parallel else "serial"
    bound_loop.__qualname__ = f"{rules.__name__}.{loop.__name__}.{rule}.{form}"
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
    return numba.njit(bound_loop, parallel=parallel, boundscheck=False, **options)
