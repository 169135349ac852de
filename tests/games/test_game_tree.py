"""The enumerated tree: sizes from the literature, and the order that every pass relies on."""

import numpy as np
import pytest
from random_games import deal_tables
from toy_games import imperfect_recall_kuhn, kuhn, label, leduc

from poker_rl.config import ConfigError
from poker_rl.games import GameTree, game_tree, get_tree, load_game
from poker_rl.games.game_tree import count_nodes
from poker_rl.games.tables import tables_from_records

SMALL = [kuhn(), kuhn(3), leduc()]


def histories(tree):
    """Decision and terminal histories, distinguished by actions and the cards dealt so far."""
    seen = set(), set()
    for deal in range(tree.deal_count):
        tables = deal_tables(tree.game, decks=tree.game.list_deals()[deal : deal + 1])
        while len(tables.records):
            for record in tables.records:
                shown = tree.game.seats + sum(tree.game.board_cards[: record["street"] + 1])
                key = bytes(record["deck"][:shown]), bytes(record["line"][: record["moves"]])
                seen[int(record["over"])].add(key)
            live = np.flatnonzero(tables.records["over"] == 0)
            row, action = np.nonzero(tables.legal_mask(live))
            tables.load_records(tables.records[live[row]])
            tables.step(action)
    return len(seen[0]), len(seen[1])


@pytest.mark.parametrize(
    ("game", "decisions", "terminals", "infosets", "actions"),
    [(kuhn(), 24, 30, 12, 24), (leduc(), 3_780, 5_520, 936, 2_184)],
    ids=["kuhn", "leduc"],
)
def test_sizes(game, decisions, terminals, infosets, actions):
    tree = GameTree(game)
    assert histories(tree) == (decisions, terminals)
    assert tree.sequence_form.leaf_edge.shape == (2, 2 * terminals)
    assert (tree.infoset_count, tree.legal_mask.sum()) == (infosets, actions)


@pytest.mark.parametrize(("seats", "infosets"), [(2, 12), (3, 48), (4, 160), (5, 480)])
def test_kuhn_with_more_seats(seats, infosets):
    tree = GameTree(kuhn(seats))
    assert tree.infoset_count == infosets
    assert tree.betting_node_count == infosets // (seats + 1)  # each line once for each own card
    assert (np.diff(tree.first_infoset_of_seat) == np.bincount(tree.infoset_seat)).all()


def test_rows_are_counted_before_building(monkeypatch):
    assert count_nodes(leduc(), 10**6) == len(get_tree(leduc()).parent) == 120 * 85
    assert count_nodes(leduc(3), 10**7) == 1_881_600
    message = r"limit_holdem has more than 8e\+06 nodes; .* more than 4 GB"
    with pytest.raises(ConfigError, match=message):
        GameTree(load_game("limit_holdem"))
    monkeypatch.setattr(game_tree, "MAX_BYTES", 10**4)
    message = r"kuhn has more than 2e\+01 nodes; .* more than 1e-05 GB"
    with pytest.raises(ConfigError, match=message):
        GameTree(kuhn())


@pytest.mark.parametrize("game", SMALL, ids=label)
def test_tables_find_their_information_set(game):
    tree = get_tree(game)
    tables = deal_tables(game, 500, 3)
    generator = np.random.default_rng(0)
    where = [tree.infoset_records, tables.records.copy()]
    for _ in range(2):
        live = np.flatnonzero(tables.records["over"] == 0)
        numbers = generator.random((len(live), game.action_count))
        tables.step((tables.legal_mask(live) * numbers).argmax(1), live)
        where.append(tables.records[tables.records["over"] == 0])
    assert (tree.lookup_infosets(tree.infoset_records) == np.arange(tree.infoset_count)).all()
    for records in where:
        infoset = tree.lookup_infosets(records)
        found = tables_from_records(game, tree.infoset_records[infoset])
        other = tables_from_records(game, records)
        assert (found.infoset_keys() == other.infoset_keys()).all()
        assert (found.legal_mask() == tree.legal_mask[infoset]).all()
        assert (records["to_act"] == tree.infoset_seat[infoset]).all()


def test_what_is_not_in_a_tree_is_refused(monkeypatch):
    """Such as an information set after different numbers of moves, which would be two."""
    why = r"^game: forgetful has an information set that is reached after"
    with pytest.raises(ConfigError, match=why):
        GameTree(imperfect_recall_kuhn(monkeypatch))
    with pytest.raises(KeyError, match="not in this tree"):
        get_tree(kuhn()).lookup_infosets(get_tree(kuhn(3)).infoset_records)
