"""Checks of tables from a file: only tables that play leads to reach the rules."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from random_games import NAMES, game, play

from poker_rl.games.game import Game
from poker_rl.games.tables import Tables, copy_records, tables_from_records
from poker_rl.games.untrusted_tables import check_tables

GAMES = ["big2", "kuhn", "limit_holdem_2to9", "nolimit_holdem_6p"]
ACCEPTED = re.compile(r"(\S+): (\d+) of (\d+) damaged tables accepted")


@pytest.mark.parametrize("name", NAMES)
def test_what_play_leads_to_is_accepted(name: str) -> None:
    definition = game(name)
    check_tables(definition, Tables(definition, 3, 0).records)  # before the first hand
    tables, moves = play(definition, 40, 1)
    for move in moves:
        check_tables(definition, move.records)
    check_tables(definition, tables.records)  # hands that are over
    tables.deal()  # what is left of them lies beyond the new ones
    check_tables(definition, tables.records)


def damaged(game: Game, record: np.ndarray) -> np.ndarray:
    """Copies of a table [1], in each of which one integer of one field is an extreme one."""
    whole = []
    for name in game.table_dtype.names or ():
        kind = np.iinfo(game.table_dtype[name].base)
        for position in range(record[name].size):
            for value in (kind.min, kind.max, -1 if kind.min else 60, 1):
                one = copy_records(record)
                one[name].reshape(-1)[position] = value
                whole.append(one)
    return np.concatenate(whole)


def play_damaged(name: str) -> None:
    """Play on from all damaged tables that are accepted; a process that survives this says so."""
    definition, generator = game(name), np.random.default_rng(0)
    moves = play(definition, 8, 3)[1]
    tables = np.concatenate([damaged(definition, move.records[:1]) for move in moves[:5:4]])
    accepted, messages = [], []
    for i in range(len(tables)):
        try:
            check_tables(definition, tables[i : i + 1])
        except ValueError as error:
            messages.append(str(error))
        else:
            accepted.append(i)
    assert messages
    assert "\n" not in "".join(messages)
    used = tables_from_records(definition, tables[accepted])
    while len(rows := np.flatnonzero(used.records["over"] == 0)):
        used.observe(rows), used.reveal(rows), used.infoset_keys(rows)
        if definition.history_step_size:
            used.history(rows)
        tables_from_records(definition, used.records[rows]).resample_hidden_cards()
        legal = used.legal_mask(rows)
        used.step((generator.random(legal.shape) * legal).argmax(1), rows)
    assert (used.payoffs().sum(1) == 0).all()
    print(f"{name}: {len(accepted)} of {len(tables)} damaged tables accepted", flush=True)


def test_no_damaged_table_ends_the_process() -> None:
    """In a process of its own, as compiled rules that index out of bounds may kill it."""
    program = f"import test_untrusted_tables as t; [t.play_damaged(name) for name in {GAMES}]"
    paths = f"import sys; sys.path[:0] = {sys.path}; "
    done = subprocess.run(
        [sys.executable, "-c", paths + program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [name for name, _, _ in ACCEPTED.findall(done.stdout)] == GAMES
