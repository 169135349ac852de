"""Each game's transcript, written by scripts/transcripts.py, replayed line by line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from random_games import NAMES, game
from transcripts import HEADER_TEXTS, describe_moves

from poker_rl.games.cards import parse_cards
from poker_rl.games.tables import Tables

FOLDER = Path(__file__).parent / "transcripts"


def test_every_game_has_a_transcript():
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_replay(name):
    definition = game(name)
    tables = Tables(definition, 1, 0)
    hands, taken = 0, set()
    for line in (FOLDER / f"{name}.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word == "hand":
            deck = parse_cards(rest, definition.ranks, definition.suits)
            variant = definition.definitions["dealt"].tolist().index(len(deck))
            tables.deal(decks=np.array([deck]), variants=variant)
        elif word == "won":
            assert tables.records["over"][0]
            won = [int(chips) for chips in rest.split()]
            assert tables.payoffs()[0].tolist() == won + [0] * (definition.seats - len(won))
            hands += 1
        else:
            infoset, standing, legal, ones, action = line.split(" | ")
            record = tables.records[0]
            assert definition.infoset_name(record) == infoset
            count = [int(n) for n in standing.split()]
            assert tables.gather_definitions()["seats"] == len(count)
            (field,) = HEADER_TEXTS.keys() & set(definition.table_dtype.names)
            assert record[field][: len(count)].tolist() == count
            moves = {
                definition.move_name(record, a): a for a in np.flatnonzero(tables.legal_mask()[0])
            }
            assert describe_moves(list(moves)) == legal
            assert np.flatnonzero(tables.observe()[0]).tolist() == [int(n) for n in ones.split()]
            tables.step(np.array([moves[action]]))
            taken.add(definition.action_name(moves[action]))
    assert hands >= 5
    actions = {definition.action_name(action) for action in range(definition.action_count)}
    assert taken == actions or len(taken) > 12
