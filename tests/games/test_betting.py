"""Rules of limit poker: order of action, caps, pots, and invariants of every hand."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from random_games import LIMIT, definition, drawn, game, play, variants
from toy_games import kuhn, label, leduc

from poker_rl.config.build import build
from poker_rl.config.option_files import load_option
from poker_rl.games.cards import parse_cards
from poker_rl.games.game_tree import GameTree
from poker_rl.games.poker.betting import CALL, FOLD, RAISE
from poker_rl.games.poker.fixed_limit import FixedLimitPoker
from poker_rl.games.poker.record_dtypes import MAX_MOVES
from poker_rl.games.poker.variable_seats import VariableSeatsPoker
from poker_rl.games.tables import Tables
from poker_rl.games.tree_nodes import count_nodes


@st.composite
def definitions(draw):
    return definition(lambda low, high: draw(st.integers(low, high)))


def variant(name: str, **changes: object) -> FixedLimitPoker:
    return build({**load_option("game", name), **changes}, "game")


def cards(definition: FixedLimitPoker, text: str) -> np.ndarray:
    """A deck that starts with these cards, [1, dealt]."""
    return np.array([parse_cards(text, definition.ranks, definition.suits)], np.int8)


def hand(definition: FixedLimitPoker, deck: str, *actions: int) -> Tables:
    """One table after these cards and actions."""
    tables = Tables(definition, 1, 0)
    tables.deal(decks=cards(definition, deck))
    for action in actions:
        tables.step(np.array([action]))
    return tables


# Every hand of every game


def check_hands(game: FixedLimitPoker | VariableSeatsPoker, hands: int, seed: int) -> None:
    """Play random hands and check what must hold in all of them."""
    tables, moves = play(game, hands, seed)
    played = np.zeros(hands, int)
    for move in moves:
        assert (move.records["moves"] == played[move.rows]).all()
        played[move.rows] += 1
    assert (played <= MAX_MOVES).all()
    won, variant = tables.payoffs(), tables.records["variant"]
    assert set(variant) == set(range(len(variants(game))))
    for i, each in enumerate(variants(game)):
        for move in moves:
            mine = move.records["variant"] == i
            check_decisions(each, move.records[mine], move.legal[mine])
        check_ends(each, tables.records[variant == i], won[variant == i])


def check_decisions(game: FixedLimitPoker, records: np.ndarray, legal: np.ndarray) -> None:
    row, seat = np.arange(len(records)), records["to_act"]
    assert (seat < game.seats).all()
    assert not records["folded"][row, seat].any()
    # Calling is always allowed, folding only facing a bet, raising up to the cap.
    facing = records["paid"][row, seat] < records["price"]
    assert (legal[:, FOLD] == facing).all()
    assert legal[:, CALL].all()
    blind = (len(set(game.blinds)) > 1) & (records["street"] == 0)
    cap = np.array(game.max_raises)[records["street"]] + blind
    assert (legal[:, RAISE] == (records["raises"] < cap)).all()


def check_ends(game: FixedLimitPoker, records: np.ndarray, won: np.ndarray) -> None:
    decks = records["deck"][:, : game.cards_dealt]
    assert ((decks >= 0) & (decks < game.deck_size)).all()
    assert (np.diff(np.sort(decks), axis=1) > 0).all()  # no card twice
    assert not won[:, game.seats :].any()
    won, paid = won[:, : game.seats], records["paid"][:, : game.seats]
    folded = records["folded"][:, : game.seats] != 0
    price = records["price"]
    assert (won.sum(1) == 0).all()
    assert (won[folded] == -paid[folded]).all()
    assert (won >= -paid).all()
    assert (paid <= price[:, None]).all()
    assert (price <= game.max_chips_per_seat).all()
    assert (records["live"] == (~folded).sum(1)).all()
    # Whoever stayed paid the price, but for those the last fold spared it.
    assert ((paid == price[:, None]) | folded | (records["live"] == 1)[:, None]).all()


@pytest.mark.parametrize("name", LIMIT)
def test_invariants(name):
    check_hands(game(name), hands=2000, seed=3)


@hypothesis.given(definitions(), st.integers(0, 2**32))
@hypothesis.settings(max_examples=100, derandomize=True)
def test_invariants_of_any_definition(definition, seed):
    check_hands(definition, hands=20, seed=seed)


@pytest.mark.parametrize("name", LIMIT)
def test_an_illegal_action_raises_and_changes_nothing(name):
    _, moves = play(game(name), 200, seed=4)
    for move in moves:
        for action in (-1, FOLD, CALL, RAISE, 3, 2**40):
            wrong = np.ones(len(move.rows), bool)
            if FOLD <= action <= RAISE:
                wrong = ~move.legal[:, action]
            if wrong.any():
                tables = Tables(game(name), 0, 0)
                tables.load_records(move.records[wrong])
                with pytest.raises(ValueError, match="illegal action"):
                    tables.step(np.full(wrong.sum(), action))
                assert tables.records.tobytes() == move.records[wrong].tobytes()


def test_a_finished_or_undealt_hand_takes_no_action():
    tables = Tables(kuhn(), 1, 0)
    with pytest.raises(ValueError, match="illegal action"):
        tables.step(np.array([CALL]))
    tables.deal()
    tables.step(np.array([RAISE]))
    tables.step(np.array([FOLD]))
    before = tables.payoffs()
    with pytest.raises(ValueError, match="illegal action"):
        tables.step(np.array([CALL]))
    assert (tables.payoffs() == before).all()
    tables.deal()  # a new hand starts clean
    tables.step(np.array([CALL]))


def test_an_action_for_each_table():
    tables = Tables(kuhn(), 3, 0)
    tables.deal()
    with pytest.raises(ValueError, match="2 actions for 3 tables"):
        tables.step(np.array([CALL, CALL]))


# Heads-up limit hold'em

HOLDEM = "2c 3c 2d 3d 7h 8s 9s Jc Ad"


@pytest.fixture(scope="module")
def holdem() -> FixedLimitPoker:
    return game("limit_holdem")


def test_order_of_action(holdem):
    """The button, seat 1, opens before the flop; the big blind, seat 0, on every later street."""
    tables = hand(holdem, HOLDEM)
    order = []
    for street in range(4):
        for _ in range(2):
            record = tables.records[0]
            assert record["street"] == street
            order.append(int(record["to_act"]))
            tables.step(np.array([CALL]))
    assert order == [1, 0, 0, 1, 0, 1, 0, 1]
    assert tables.records["over"].all()


def test_the_big_blind_may_raise_a_limped_pot(holdem):
    tables = hand(holdem, HOLDEM, CALL)
    assert tables.records["street"][0] == 0
    assert tables.legal_mask().tolist() == [[False, True, True]]


def test_four_bets_a_street_the_big_blind_the_first(holdem):
    tables = hand(holdem, HOLDEM)
    raises = []
    for _ in range(4):
        count = 0
        while tables.legal_mask()[0, RAISE]:
            tables.step(np.array([RAISE]))
            count += 1
        raises.append(count)
        tables.step(np.array([CALL]))
    assert raises == [3, 4, 4, 4]
    assert tables.records["paid"][0, :2].tolist() == [48, 48]  # 24 big blinds
    assert holdem.max_chips_per_seat == 24 * holdem.unit_chips


def test_bets_double_on_the_turn(holdem):
    tables = hand(holdem, HOLDEM, CALL, CALL)
    prices = []
    for _ in range(3):
        tables.step(np.array([RAISE]))
        prices.append(int(tables.records["price"][0]))
        tables.step(np.array([CALL]))
    assert np.diff([2, *prices]).tolist() == [2, 4, 4]


def test_always_folding_loses_750_mbb_a_hand(holdem):
    """Half a big blind on the button, one in the big blind to someone who always raises."""
    button = hand(holdem, HOLDEM, FOLD).payoffs()[0, 1]
    big_blind = hand(holdem, HOLDEM, RAISE, FOLD).payoffs()[0, 0]
    assert (button, big_blind) == (-1, -2)
    assert 1000 * (button + big_blind) / 2 / holdem.unit_chips == -750


def test_uniform_hands_end_within_the_bounds(holdem):
    tables, moves = play(holdem, 5000, seed=5)
    assert np.abs(tables.payoffs()).max() <= 48
    assert len(moves) <= 2 * (4 + 5 + 5 + 5)


@pytest.mark.parametrize("seats", [3, 6, 9])
def test_order_of_action_at_a_ring(seats):
    """Left of the big blind first, then left of the button, which is the last seat."""
    ring = game(f"limit_holdem_{seats}p")
    tables = Tables(ring, 1, 0)
    tables.deal()
    assert tables.records["paid"][0, :seats].tolist() == [1, 2] + [0] * (seats - 2)
    orders: list[list[int]] = [[], [], [], []]
    while not tables.records["over"][0]:
        orders[tables.records["street"][0]].append(int(tables.records["to_act"][0]))
        tables.step(np.array([CALL]))
    table = list(range(seats))
    assert orders == [table[2:] + table[:2], table, table, table]
    assert ring.max_chips_per_seat == 24 * ring.unit_chips


# Pots


def test_kuhn():
    def won(deck, *actions):
        return hand(kuhn(), deck, *actions).payoffs()[0].tolist()

    assert won("K Q", CALL, CALL) == [1, -1]
    assert won("J Q", CALL, CALL) == [-1, 1]
    assert won("J Q", RAISE, FOLD) == [1, -1]
    assert won("J Q", RAISE, CALL) == [-2, 2]
    assert won("K Q", CALL, RAISE, FOLD) == [-1, 1]
    assert won("K Q", CALL, RAISE, CALL) == [2, -2]


def test_leduc():
    def won(deck, *actions):
        return hand(leduc(), deck, *actions).payoffs()[0].tolist()

    assert won("Js Ks Jh", CALL, CALL, CALL, CALL) == [1, -1]  # a pair beats a king
    assert won("Js Ks Qh", CALL, CALL, CALL, CALL) == [-1, 1]
    assert won("Ks Kh Qh", CALL, CALL, CALL, CALL) == [0, 0]
    assert won("Js Qs Kh", RAISE, CALL, CALL, RAISE, RAISE, CALL) == [-11, 11]
    assert won("Js Qs Kh", RAISE, RAISE, CALL, RAISE, FOLD) == [5, -5]


def test_the_board_plays(holdem):
    tables = hand(holdem, "2c 3c 2d 3d Th Js Qs Kc Ad", *[CALL] * 8)
    assert tables.payoffs().tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("deck", "won"),
    [("Qs Qh Js", [1, 0, -1]), ("Qs Js Qh", [1, -1, 0]), ("Js Qs Qh", [-1, 1, 0])],
)
def test_an_odd_chip_goes_to_the_first_winner(deck, won):
    """A pot of 3 for two: 2 to the first seat, 1 to the other."""
    three = variant("kuhn", seats=3, ranks="JQ", suits="sh")
    assert hand(three, deck, CALL, CALL, CALL).payoffs().tolist() == [won]


def test_two_odd_chips_go_to_two_winners():
    """A pot of 8 for three: 3, 3 and 2."""
    four = variant("kuhn", seats=4, ranks="JQ", suits="shd", ante=2)
    tables = hand(four, "Qs Qh Js Qd", CALL, CALL, CALL, CALL)
    assert tables.payoffs().tolist() == [[1, 1, -2, 0]]


# Stacks


def stacked(stacks: list[int] | int, **changes: object) -> FixedLimitPoker:
    """Three-handed limit hold'em, blinds of 2 and 4, bets of 4 and 8."""
    chips = {"blinds": [2, 4, 0], "raise_sizes": [4, 4, 8, 8], "stacks": stacks}
    return variant("limit_holdem_3p", **chips, **changes)


STACKED = "As Ah Ks Kh Qs Qh 2c 7d 9h Js 4c"


@pytest.mark.parametrize(("short", "raises"), [(1, False), (2, True), (3, True)])
def test_an_all_in_of_half_a_bet_reopens_the_betting(short, raises):
    """On the flop a bet of 4 and a call of it, then an all-in raise by less than 4."""
    tables = hand(stacked([100, 100, 8 + short]), STACKED, CALL, CALL, CALL, RAISE, CALL, RAISE)
    assert tables.records["to_act"][0] == 0
    assert tables.records["price"][0] == 8 + short
    assert tables.legal_mask().tolist() == [[True, True, raises]]
    if raises:
        tables.step(np.array([RAISE]))
        assert tables.records["price"][0] == 12 + short


def test_who_has_not_acted_may_raise_any_all_in():
    tables = hand(stacked([5, 100, 100]), STACKED, CALL, CALL, CALL, RAISE)
    assert tables.records["paid"][0, :3].tolist() == [5, 4, 4]
    assert tables.legal_mask().tolist() == [[True, True, True]]
    tables.step(np.array([RAISE]))
    assert tables.records["price"][0] == 9


def test_a_short_all_in_counts_towards_the_cap():
    tables = hand(stacked([5, 100, 100], max_raises=[3, 1, 4, 4]), STACKED, *[CALL] * 3, RAISE)
    assert tables.legal_mask().tolist() == [[True, True, False]]


def test_side_pots_in_limit():
    """Stacks of 6 and 10: 18 in the main pot for aces, 8 beside it for kings, 2 come back."""
    tables = hand(stacked([6, 10, 100]), STACKED, RAISE, CALL, RAISE, CALL)
    assert tables.records["over"].all()
    assert tables.payoffs().tolist() == [[12, -2, -10]]


def test_deep_stacks_change_nothing():
    """But for what a network sees, which is chips too."""
    deep, plain = stacked(1000), stacked(1000)
    plain = variant("limit_holdem_3p", blinds=[2, 4, 0], raise_sizes=[4, 4, 8, 8])
    fixed, moves = play(plain, 300, seed=9)
    tables = Tables(deep, 300, 0)
    tables.deal(decks=fixed.records["deck"][:, : plain.cards_dealt])
    for move in moves:
        assert (tables.legal_mask(move.rows) == move.legal).all()
        tables.step(move.actions, move.rows)
    assert (tables.payoffs() == fixed.payoffs()).all()
    assert GameTree(variant("leduc", stacks=100)).infoset_count == GameTree(leduc()).infoset_count


@pytest.mark.parametrize("stacks", [[3, 20, 60], [30, 5, 9], 40])
def test_observations_with_stacks(stacks):
    limit = stacked(stacks)
    _, moves = play(limit, 400, seed=6)
    check_observations(limit, np.concatenate([move.records for move in moves]))


def test_stacks_where_the_seats_are_drawn():
    drawn = build({**load_option("game", "limit_holdem_2to9"), "stacks": 12}, "game")
    tables, _ = play(drawn, 500, seed=7)
    assert (tables.payoffs().sum(1) == 0).all()
    assert (tables.records["paid"] <= 12).all()
    assert (tables.records["paid"] == 12).any()


# Antes by seat


def test_an_ante_that_others_do_not_pay_is_for_nobody_to_call():
    """Antes of 1, 1 and 3: the others may check, and the winner gets 5."""
    three = variant("kuhn_3p", ante=[1, 1, 3])
    tables = hand(three, "K Q J")
    assert not tables.legal_mask()[0, FOLD]
    assert hand(three, "K Q J", CALL, CALL, CALL).payoffs().tolist() == [[4, -1, -3]]
    assert hand(three, "Q J K", RAISE, FOLD, CALL).payoffs().tolist() == [[-2, -1, 3]]
    assert hand(three, "Q J K", RAISE, FOLD, FOLD).payoffs().tolist() == [[4, -1, -3]]


def test_antes_by_seat_that_are_equal_are_one_ante():
    equal = variant("leduc", ante=[1, 1])
    assert equal.definitions.tobytes() == leduc().definitions.tobytes()


def test_the_first_pot_holds_all_antes():
    """The button antes 5 for all: 5 + 3 x 6 for aces, 2 x 4 beside it for kings."""
    limit = stacked([6, 10, 105], ante=[0, 0, 5])
    tables = hand(limit, STACKED, RAISE, CALL, RAISE, CALL)
    assert tables.payoffs().tolist() == [[17, -2, -15]]
    view = limit.build_view(tables.records[0], None)
    assert view.pots == (23, 8)
    assert [(seat.paid, seat.stack) for seat in view.seats] == [(6, 0), (10, 0), (15, 90)]
    assert limit.build_view(hand(limit, STACKED).records[0], 0).pots == (5,)


def test_nobody_has_to_put_in_anything_but_the_antes():
    """Without blinds all may check to the end."""
    three = variant("kuhn_3p", ante=[0, 0, 2], stacks=5)
    tables = hand(three, "Q K J", CALL, CALL, CALL)
    assert tables.payoffs().tolist() == [[0, 2, -2]]


# What a seat sees


@pytest.mark.parametrize(
    ("name", "size"),
    [("kuhn", 11), ("leduc", 36), ("limit_holdem", 288), ("limit_holdem_9p", 9 * 4 * 5 * 3 + 208)],
    ids=str,
)
def test_observation_size(name, size):
    assert game(name).observation_size == size


def distinct(rows: np.ndarray) -> np.ndarray:
    """The number of each row, equal ones alike."""
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def check_observations(game: FixedLimitPoker, records: np.ndarray) -> None:
    """Two decisions look alike exactly if their information sets are the same."""
    tables = Tables(game, 0, 0)
    tables.load_records(records)
    observation = distinct(tables.observe())
    infoset = np.unique(tables.infoset_keys(), return_inverse=True)[1]
    pairs = len(np.unique(np.stack([observation, infoset]), axis=1).T)
    assert pairs == observation.max() + 1 == infoset.max() + 1


@pytest.mark.parametrize("game", [kuhn(), kuhn(3), kuhn(4), leduc()], ids=label)
def test_observations_are_as_fine_as_infosets(game):
    tree = GameTree(game)
    check_observations(game, tree.infoset_records)
    assert len(np.unique(tree.lookup_infosets(tree.infoset_records))) == tree.infoset_count


@pytest.mark.parametrize("name", LIMIT)
def test_observations_of_random_hands(name):
    _, moves = play(game(name), 1500, seed=6)
    check_observations(game(name), np.concatenate([move.records for move in moves]))


def test_observations_of_small_definitions():
    """Through the whole tree, where it is small enough."""
    games = [game for game in drawn(100, seed=7, small=True) if count_nodes(game, 10_000) <= 10_000]
    assert len(games) >= 25
    for each in games:
        check_observations(each, GameTree(each).infoset_records)


def test_observations_of_drawn_definitions():
    for seed, each in enumerate(drawn(100, seed=8)):
        _, moves = play(each, 200, seed)
        check_observations(each, np.concatenate([move.records for move in moves]))


def test_kuhn_observation():
    """[2 seats, 1 street, 2 raise counts, raise or call], own card; seats from the observer's."""
    tables = hand(kuhn(), "K J", CALL, RAISE)
    mine, other, card = np.split(tables.observe()[0], [4, 8])
    assert mine.tolist() == [0, 1, 0, 0]  # called before any raise
    assert other.tolist() == [1, 0, 0, 0]  # raised before any raise
    assert card.tolist() == [0, 0, 1]


def test_reveal():
    """The others' cards, from the observer's left."""
    tables = hand(kuhn(3), "J T K")
    assert tables.reveal().reshape(2, 4).argmax(1).tolist() == [0, 3]
    tables.step(np.array([CALL]))
    assert tables.reveal().reshape(2, 4).argmax(1).tolist() == [3, 1]
    tables.step(np.array([CALL]))
    assert tables.reveal().reshape(2, 4).argmax(1).tolist() == [1, 0]


def test_observation_and_hidden_cards_make_the_deal(holdem):
    _, moves = play(holdem, 100, seed=8)
    for move in moves:
        tables = Tables(holdem, 0, 0)
        tables.load_records(move.records)
        for record, own, other in zip(
            move.records, tables.observe()[:, 80:132], tables.reveal(), strict=True
        ):
            seat = record["to_act"]
            assert sorted(np.flatnonzero(own)) == sorted(record["deck"][2 * seat : 2 * seat + 2])
            seat = 1 - seat
            assert sorted(np.flatnonzero(other)) == sorted(record["deck"][2 * seat : 2 * seat + 2])
