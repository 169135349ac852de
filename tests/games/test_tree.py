"""The enumerated tree: sizes from the literature, and order that every pass relies on."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from toy_games import forgetful, kuhn, label, leduc

from poker_rl.config.build import build
from poker_rl.config.options import option
from poker_rl.config.settings import Refused
from poker_rl.games import layout
from poker_rl.games.tables import Tables
from poker_rl.games.tree import Tree, byte_count, row_count, tree_of

SMALL = [kuhn(), kuhn(3), leduc()]


def histories(tree: Tree) -> tuple[int, int]:
    """Decision and terminal histories, told apart by actions and the cards dealt so far."""
    seen: tuple[set[bytes], set[bytes]] = set(), set()
    for deal in range(tree.deals):
        tables = Tables(tree.game, 1, 0)
        tables.deal(decks=tree.game.deals()[deal : deal + 1])
        while len(tables.records):
            for record in tables.records:
                shown = tree.game.seats + sum(tree.game.board_cards[: record["street"] + 1])
                key = (
                    bytes(record["deck"][:shown]) + b"|" + bytes(record["line"][: record["moves"]])
                )
                seen[int(record["over"])].add(key)
            live = np.flatnonzero(tables.records["over"] == 0)
            row, action = np.nonzero(tables.legal(live))
            tables.use(tables.records[live[row]])
            tables.step(action)
    return len(seen[0]), len(seen[1])


@pytest.mark.parametrize(
    ("game", "decisions", "terminals", "infosets", "actions"),
    [(kuhn(), 24, 30, 12, 24), (leduc(), 3_780, 5_520, 936, 2_184)],
    ids=["kuhn", "leduc"],
)
def test_sizes(game, decisions, terminals, infosets, actions):
    tree = Tree(game)
    assert histories(tree) == (decisions, terminals)
    assert tree.sequences.leaf_edge.shape == (2, 2 * terminals)
    assert (tree.size, tree.legal.sum()) == (infosets, actions)


@pytest.mark.parametrize(("seats", "infosets"), [(2, 12), (3, 48), (4, 160), (5, 480)])
def test_kuhn_with_more_seats(seats, infosets):
    tree = Tree(kuhn(seats))
    assert tree.size == infosets
    assert tree.node_count == infosets // (seats + 1)  # each line once for each own card
    assert (np.diff(tree.first) == np.bincount(tree.owner)).all()


def test_rows_are_told_before_building():
    assert row_count(leduc(), 10**6) == len(tree_of(leduc()).parent) == 120 * 85
    assert row_count(leduc(3), 10**7) == 1_881_600
    with pytest.raises(Refused, match=r"limit_holdem has 9\.23e\+17 nodes; .* more than 4 GB"):
        Tree(build(option("game", "limit_holdem"), "game"))
    with pytest.raises(Refused, match=r"kuhn has 54 nodes; .* more than 1e-05 GB of memory"):
        Tree(kuhn(), most_bytes=10**4)


def test_information_sets_count_in_memory_too():
    nodes = byte_count(leduc(), 10**9)
    records = 936 * (leduc().table.itemsize + 2 * leduc().actions)
    with pytest.raises(Refused, match=r"leduc has .* more than"):
        Tree(leduc(), most_bytes=nodes + records - 1)
    Tree(leduc(), most_bytes=nodes + records)


def traced(work: Callable[[], object]) -> int:
    """The most bytes that Python and NumPy held at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_is_told_before_building():
    """Measured: 1.03 of what is told, with stacks of 6, 8 and 10."""
    small, larger = (
        build({**option("game", "nolimit_leduc"), "stacks": stacks}, "game") for stacks in (3, 8)
    )
    Tree(small)  # compiles the rules, which takes memory too
    told = byte_count(larger, 10**9)
    assert 0.8 < traced(lambda: Tree(larger)) / told < 1.2


def test_memory_of_many_actions_is_told_before_building():
    few_raises = {"ranks": "JQK", "suits": "s", "board_cards": [0], "openers": [0]}
    few_raises |= {"stacks": 1500, "min_bet": 751}
    wide = build({**option("game", "nolimit_leduc"), **few_raises}, "game")
    Tree(kuhn())  # compiles the rules, which takes memory too
    tree = Tree(wide)
    told = byte_count(wide, 10**9) + tree.size * (wide.table.itemsize + 2 * wide.actions)
    assert 2 * tree.legal.size > 0.15 * told  # and as much again while a level is made
    assert 0.4 < traced(lambda: Tree(wide)) / told < 1


def test_a_game_of_many_nodes_is_refused_before_it_takes_memory():
    """It has 13.8 million nodes, fewer than the limit was (20 million), and would take 7.5 GB."""
    definition = build({**option("game", "nolimit_leduc"), "stacks": 15}, "game")

    def enumerated() -> None:
        with pytest.raises(Refused, match=r"game: nolimit_leduc has .* more than 4 GB of memory"):
            Tree(definition)

    assert traced(enumerated) < 400e6


def test_equal_games_share_a_tree():
    assert tree_of(leduc()) is tree_of(leduc())
    assert tree_of(leduc()) is not tree_of(kuhn())


@pytest.mark.parametrize("game", SMALL, ids=label)
def test_nodes_below_come_later(game):
    tree = tree_of(game)
    below = np.arange(tree.deals, len(tree.parent))
    assert (tree.parent[: tree.deals] == -1).all()
    assert (tree.parent[below] < below).all()
    for depth in range(2, len(tree.levels) - 1):
        level = slice(tree.levels[depth], tree.levels[depth + 1])
        above = tree.parent[level]
        assert (tree.levels[depth - 1] <= above).all()
        assert (above < tree.levels[depth]).all()
    assert (tree.infoset[tree.parent[below]] == tree.edge[below] // game.actions).all()
    assert tree.legal.ravel()[tree.edge[below]].all()
    counts = np.bincount(tree.parent[below], minlength=len(tree.parent))
    for node in np.flatnonzero(counts):
        assert (tree.parent[tree.child[node] : tree.child[node] + counts[node]] == node).all()
    assert (tree.child[counts == 0] == len(tree.parent)).all()


@pytest.mark.parametrize("most", [0, 10**6], ids=["by hands", "a part a seat"])
@pytest.mark.parametrize("game", SMALL, ids=label)
def test_own_moves(game, most, monkeypatch):
    """The sequences agree with a walk from each node up to its deal."""
    monkeypatch.setattr(layout, "PARALLEL_LEAVES", most)
    tree = Tree(game)
    previous, sequences = tree.sequences.previous, tree.sequences
    roots = tree.legal.size + np.arange(game.seats)

    def last(node: int) -> np.ndarray:
        edges = roots.copy()
        while tree.parent[node] >= 0:
            seat = tree.seat[tree.parent[node]]
            if edges[seat] == roots[seat]:
                edges[seat] = tree.edge[node]
            node = tree.parent[node]
        return edges

    assert (np.repeat(np.arange(game.seats), np.diff(tree.first)) == tree.owner).all()
    won: dict[tuple[int, ...], np.ndarray] = {}
    for node in range(len(tree.parent)):
        edges, infoset = last(node), tree.infoset[node]
        if infoset >= 0:
            assert tree.owner[infoset] == tree.seat[node]
            assert previous[infoset] == edges[tree.seat[node]]
        else:
            won[tuple(edges)] = won.get(tuple(edges), 0) + tree.payoffs[node] / tree.deals
    edge_of = previous // game.actions
    assert ((edge_of < np.arange(tree.size)) | (previous >= tree.legal.size)).all()

    part = np.empty(tree.size, np.int64)
    runs = zip(sequences.begin, sequences.end, strict=True)
    in_order = [np.arange(begin, end) for begin, end in runs]
    for number, (first, last) in enumerate(pairwise(sequences.parts)):
        infosets = np.concatenate(in_order[first:last])
        assert (np.diff(infosets) > 0).all()
        part[infosets] = number
    assert (np.sort(np.concatenate(in_order)) == np.arange(tree.size)).all()
    hands = 1 if most else game.cards
    assert sequences.seat_parts.tolist() == [hands * seat for seat in range(game.seats + 1)]
    below = previous < tree.legal.size
    assert (part[below] == part[edge_of[below]]).all()
    deal = np.arange(len(tree.parent))
    for node in range(tree.deals, len(tree.parent)):
        deal[node] = deal[tree.parent[node]]
    live = tree.seat >= 0
    own = part[tree.infoset[live]]
    assert (own == tree.part_of_deal[tree.seat[live], deal[live]]).all()

    group = np.append(part.repeat(game.actions), sequences.seat_parts[-1] + np.arange(game.seats))
    found: dict[tuple[int, ...], np.ndarray] = {}
    for number, (first, last) in enumerate(pairwise(sequences.part_leaves)):
        for leaf in range(first, last):
            edges = sequences.leaf_edge[:, leaf]
            assert group[edges[0]] == number
            seat = (
                int(edges[0] - roots[0])
                if edges[0] >= roots[0]
                else tree.owner[edges[0] // game.actions]
            )
            found.setdefault(tuple(np.roll(edges, seat)), np.zeros(game.seats))[seat] = (
                sequences.leaf_payoff[leaf]
            )
    assert found.keys() == won.keys()
    for edges, paid in found.items():
        np.testing.assert_allclose(paid, won[edges], atol=1e-15)


@pytest.mark.parametrize("game", SMALL, ids=label)
def test_tables_find_their_information_set(game):
    tree = tree_of(game)
    tables = Tables(game, 500, 3)
    tables.deal()
    generator = np.random.default_rng(0)
    where = [tree.records, tables.records.copy()]
    for _ in range(2):
        live = np.flatnonzero(tables.records["over"] == 0)
        tables.step(
            (tables.legal(live) * generator.random((len(live), game.actions))).argmax(1), live
        )
        where.append(tables.records[tables.records["over"] == 0])
    assert (tree.infoset_of(tree.records) == np.arange(tree.size)).all()
    for records in where:
        infoset = tree.infoset_of(records)
        found = Tables(game, 0, 0)
        found.use(tree.records[infoset])
        asked = Tables(game, 0, 0)
        asked.use(records)
        assert (found.infosets() == asked.infosets()).all()
        assert (found.legal() == tree.legal[infoset]).all()
        assert (records["to_act"] == tree.owner[infoset]).all()
        assert (tree.node_of(records) == tree.node[infoset]).all()
    assert (
        len({(node, *record["line"]) for node, record in zip(tree.node, tree.records, strict=True)})
        == tree.node_count
    )


def test_a_table_of_another_game_has_no_information_set():
    with pytest.raises(KeyError, match="not in this tree"):
        tree_of(kuhn()).infoset_of(tree_of(kuhn(3)).records)


def test_uniform_and_names():
    tree = tree_of(leduc())
    np.testing.assert_array_equal(tree.uniform().sum(1), 1)
    assert (tree.uniform()[~tree.legal] == 0).all()
    assert len(set(tree.names)) == tree.size
    assert set(tree_of(kuhn()).names) >= {"0 J", "1 K r", "0 Q cr"}


def test_an_information_set_after_different_numbers_of_moves_is_refused(monkeypatch):
    """It would be two, of which players that look theirs up find one."""
    definition = forgetful(monkeypatch)
    with pytest.raises(Refused, match=r"^game: forgetful has an information set that is met after"):
        Tree(definition)


def test_a_game_with_other_lines_of_moves_with_other_cards_is_refused(monkeypatch):
    """What goes by the first deal's number of nodes would write beyond its arrays."""
    legal = Tables.legal

    def once_less(self, which=None):
        mask = legal(self, which)
        mask[:1, 2] &= mask[:1].sum(1) == 1
        return mask

    monkeypatch.setattr(Tables, "legal", once_less)
    with pytest.raises(Refused, match=r"^game: kuhn has other lines of moves with other cards"):
        Tree(kuhn())
