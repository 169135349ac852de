"""The enumerated tree: sizes from the literature, lookup of information sets, and refusals."""

import numpy as np
import pytest
from random_games import deal_tables
from toy_games import imperfect_recall_kuhn, kuhn, label, leduc

from poker_rl.config import ConfigError
from poker_rl.games import GameTree, game_tree, get_tree, load_game
from poker_rl.games.game_tree import count_nodes
from poker_rl.games.tables import tables_from_records

SMALL = [kuhn(), kuhn(3), leduc()]


def count_histories(tree):
    """Return the numbers of distinct decision and terminal histories: known cards and actions."""
    histories = set(), set()
    for deal in range(tree.deal_count):
        tables = deal_tables(tree.game, decks=tree.game.list_deals()[deal : deal + 1])
        while len(tables.records):
            for record in tables.records:
                known_cards = tree.game.seats + sum(tree.game.board_cards[: record["street"] + 1])
                key = bytes(record["deck"][:known_cards]), bytes(record["line"][: record["moves"]])
                histories[int(record["over"])].add(key)
            live = np.flatnonzero(tables.records["over"] == 0)
            row, action = np.nonzero(tables.legal_mask(live))
            tables.load_records(tables.records[live[row]])
            tables.step(action)
    return len(histories[0]), len(histories[1])


@pytest.mark.parametrize(
    ("game", "decisions", "terminals", "infosets", "actions"),
    [(kuhn(), 24, 30, 12, 24), (leduc(), 3_780, 5_520, 936, 2_184)],
    ids=["kuhn", "leduc"],
)
def test_tree_sizes_match_the_literature(game, decisions, terminals, infosets, actions):
    tree = GameTree(game)
    assert count_histories(tree) == (decisions, terminals)
    assert tree.sequence_form.leaf_edge.shape == (2, 2 * terminals)
    assert (tree.infoset_count, tree.legal_mask.sum()) == (infosets, actions)


@pytest.mark.parametrize(("seats", "infosets"), [(2, 12), (3, 48), (4, 160), (5, 480)])
def test_infoset_counts_of_kuhn_with_more_seats(seats, infosets):
    tree = GameTree(kuhn(seats))
    assert tree.infoset_count == infosets
    assert tree.betting_node_count == infosets // (seats + 1)  # a node has seats + 1 infosets
    assert (np.diff(tree.first_infoset_of_seat) == np.bincount(tree.infoset_seat)).all()


def test_tree_too_large_for_memory_is_refused_before_building(monkeypatch):
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
def test_lookup_infosets_finds_the_infoset_of_each_table(game):
    tree = get_tree(game)
    tables = deal_tables(game, 500, 3)
    generator = np.random.default_rng(0)
    record_batches = [tree.infoset_records, tables.records.copy()]
    for _ in range(2):
        live = np.flatnonzero(tables.records["over"] == 0)
        uniform = generator.random((len(live), game.action_count))
        tables.step((tables.legal_mask(live) * uniform).argmax(1), live)
        record_batches.append(tables.records[tables.records["over"] == 0])
    assert (tree.lookup_infosets(tree.infoset_records) == np.arange(tree.infoset_count)).all()
    for records in record_batches:
        infoset = tree.lookup_infosets(records)
        infoset_tables = tables_from_records(game, tree.infoset_records[infoset])
        tables_of_records = tables_from_records(game, records)
        assert (infoset_tables.infoset_keys() == tables_of_records.infoset_keys()).all()
        assert (infoset_tables.legal_mask() == tree.legal_mask[infoset]).all()
        assert (records["to_act"] == tree.infoset_seat[infoset]).all()


def test_imperfect_recall_and_foreign_records_are_refused(monkeypatch):
    """The game `forgetful` can reach one information set after different numbers of moves."""
    why = r"^game: forgetful has an information set that is reached after"
    with pytest.raises(ConfigError, match=why):
        GameTree(imperfect_recall_kuhn(monkeypatch))
    with pytest.raises(KeyError, match="not in this tree"):
        get_tree(kuhn()).lookup_infosets(get_tree(kuhn(3)).infoset_records)
