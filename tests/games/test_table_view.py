"""Views of tables: no hidden cards, chips that add up, legal moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pokerkit
import pytest
from other_deals import other_deals
from random_games import NAMES, POKER, game, play, variants

from poker_rl.games.cards import parse_cards
from poker_rl.games.poker.display.hand_names import describe_made_hand
from poker_rl.games.poker.display.view import compute_pots
from poker_rl.games.poker.notation import parse_action
from poker_rl.games.poker.record_dtypes import RAISE
from poker_rl.games.tables import Tables

RANKS, SUITS = "23456789TJQKA", "cdhs"


@pytest.mark.parametrize("name", NAMES)
def test_a_view_depends_on_what_its_viewer_knows_alone(name: str) -> None:
    played = game(name)
    _, moves = play(played, 50, 3)
    differ = 0
    for move in moves[:: max(1, len(moves) // 10)]:
        for record in move.records[:5]:
            seats = len(played.build_view(record, None).seats)
            for viewer in {int(record["to_act"]), seats - 1}:
                seen = played.build_view(record, viewer)
                assert all(
                    not seat_view.cards for i, seat_view in enumerate(seen.seats) if i != viewer
                )
                for other in other_deals(played, record, viewer, 2):
                    assert played.build_view(other, viewer) == seen
                    differ += played.build_view(other, None) != played.build_view(record, None)
                    if viewer == record["to_act"]:
                        assert played.list_moves(other) == played.list_moves(record)
                        assert played.get_bet_range(other) == played.get_bet_range(record)
    assert differ > 0  # the deals do differ


@pytest.mark.parametrize("name", POKER)
def test_chips_of_a_view_add_up(name: str) -> None:
    played = game(name)
    tables, moves = play(played, 50, 5)
    records = [record for move in moves for record in move.records] + list(tables.records)
    for record in records[:: max(1, len(records) // 300)]:
        view = played.build_view(record, None)
        paid = [seat_view.paid for seat_view in view.seats]
        assert paid == record["paid"][: len(paid)].tolist()
        assert sum(view.pots) + sum(seat_view.bet for seat_view in view.seats) == sum(paid)
        assert (view.to_act is None) == bool(record["over"])
        assert all(seat_view.bet >= 0 and (seat_view.stack or 0) >= 0 for seat_view in view.seats)
        if record["over"]:
            assert not any(seat_view.bet for seat_view in view.seats)
        for seat_view, gone in zip(view.seats, record["folded"], strict=False):
            assert seat_view.folded == bool(gone)


@pytest.mark.parametrize("name", POKER)
def test_a_street_begins_without_bets(name: str) -> None:
    """And what a move says that it puts in, it puts in."""
    played = game(name)
    tables, streets, checked = Tables(played, 1, 0), set(), 0
    generator = np.random.default_rng(1)
    for _ in range(20):
        tables.deal()
        street = 0
        while not tables.records["over"][0]:
            record = tables.records[0].copy()
            view = played.build_view(record, None)
            if record["street"] > street:
                assert not any(seat_view.bet for seat_view in view.seats)
                streets.add(int(record["street"]))
            street, seat = int(record["street"]), int(record["to_act"])
            moves = played.list_moves(record)
            legal = np.flatnonzero(tables.legal_mask()[0]).tolist()
            actions = [move.action for move in moves]
            assert sorted(actions) == actions == [a for a in legal if a in actions]
            facing = max(seat_view.bet for seat_view in view.seats)
            # Mostly checks and calls: else hardly a hand comes to the river.
            passive = next(move for move in moves if move.action_type in ("check", "call"))
            some = moves[int(generator.integers(len(moves)))]
            move = passive if generator.random() < 0.7 else some
            assert (move.action_type == "raise") <= (facing > 0)
            assert (move.action_type in ("bet", "check")) <= (facing == view.seats[seat].bet)
            tables.step(np.array([move.action]))
            after = tables.records[0]
            assert after["paid"][seat] - record["paid"][seat] == move.chips_added
            if move.raise_to is not None and not after["over"] and after["street"] == street:
                assert played.build_view(after, None).seats[seat].bet == move.raise_to
                checked += 1
    assert streets == set(range(1, len(variants(played)[0].board_cards)))
    assert checked > 3


@pytest.mark.parametrize(
    ("blinds", "notes"),
    [
        ([1, 2, 0, 0], ["small blind", "big blind", "", "button"]),
        ([1, 2, 4, 0], ["small blind", "big blind", "straddle", "button"]),
        ([1, 2, 4, 8], ["small blind", "big blind", "straddle", "button, straddle"]),
        ([1, 2, 0, 2], ["small blind", "big blind", "", "button, big blind"]),
        ([0, 0, 0, 2], ["", "", "", "button, big blind"]),
    ],
)
def test_what_the_seats_that_post_are_called(blinds: list[int], notes: list[str]) -> None:
    seats = {"seats": 4, "blinds": blinds, "min_bet": 8}
    played = replace(game("nolimit_holdem"), **seats)
    tables = Tables(played, 1, 0)
    tables.deal()
    seat_views = played.build_view(tables.records[0], None).seats
    assert [", ".join(seat_view.notes) for seat_view in seat_views] == notes


def test_a_size_that_takes_all_is_called_all_in() -> None:
    """Of 5 chips each, half a pot is a raise to 4, and a pot is everything."""
    played = replace(game("nolimit_holdem_sizes"), stacks=5)
    tables = Tables(played, 1, 0)
    tables.deal()
    moves = {move.name: move.size_name for move in played.list_moves(tables.records[0])}
    assert moves == {"fold": "", "call": "", "raise_0.5": "half pot", "raise_all_in": "all-in"}
    assert played.move_name(tables.records[0], 3) == "raise_all_in"
    assert parse_action(played, tables, "raise_all_in", "") == 3
    assert parse_action(played, tables, "raise_1", "") == 3
    several = game("nolimit_holdem_2to9")
    drawn = replace(several, bet_sizes=[0.5, 1.0, "all_in"], stacks=3)
    tables = Tables(drawn, 1, 0)
    tables.deal(decks=np.arange(13)[None], variants=2)
    assert [move.name for move in drawn.list_moves(tables.records[0])][-1] == "raise_all_in"


def test_the_named_sizes_of_any_amount() -> None:
    """The button raises to 6 chips before the flop: 12 are in the pot once the big blind calls."""
    played = game("nolimit_holdem")
    tables = Tables(played, 1, 0)
    tables.deal()
    tables.step(np.array([6]))
    sizes = {
        move.size_name: move.raise_to
        for move in played.list_moves(tables.records[0])
        if move.size_name
    }
    assert sizes == {
        "minimum": 10,
        "half pot": 12,
        "two thirds of the pot": 14,
        "pot": 18,
        "all-in": 200,
    }
    tables.step(np.array([1]))
    amounts = played.get_bet_range(tables.records[0])
    assert (amounts.min_bet, amounts.max_bet, amounts.min_bet_action) == (
        2,
        194,
        8,
    )  # 6 are in the pot already
    moves = played.list_moves(tables.records[0])
    assert [move.label for move in moves][:3] == ["Check", "Bet 2", "Bet 6"]
    assert moves[-1].size_name == "all-in"


def test_a_listed_size_is_named_by_what_it_comes_to() -> None:
    """Of 40 chips: a pot after a raise to 18 is more, half a pot after one to 32 is too little."""
    played = game("nolimit_holdem_20_sizes")
    half, pot = RAISE, RAISE + 1
    for raises, expected in (
        ([pot, pot], {"half pot": 36, "all-in": 40}),
        ([half, half, half, half], {"all-in": 40}),
    ):
        tables = Tables(played, 1, 0)
        tables.deal()
        for action in raises:
            tables.step(np.array([action]))
        moves = played.list_moves(tables.records[0])
        assert {move.size_name: move.raise_to for move in moves if move.raise_to} == expected
    small = replace(played, bet_sizes=[0.1, 1.0])
    tables = Tables(small, 1, 0)
    tables.deal()
    moves = small.list_moves(tables.records[0])
    assert {move.size_name: move.raise_to for move in moves if move.raise_to} == {
        "minimum": 4,
        "pot": 6,
    }


def test_side_pots() -> None:
    assert compute_pots([10, 50, 30, 5], [False, False, False, True]) == (35, 40, 20)
    assert compute_pots([2, 2, 0], [False, False, True]) == (4,)
    assert compute_pots([0, 0], [False, False]) == ()


def test_seats_have_their_button_and_blinds() -> None:
    six = game("limit_holdem_6p")
    tables = Tables(six, 1, 0)
    tables.deal()
    notes = [seat_view.notes for seat_view in six.build_view(tables.records[0], 3).seats]
    assert notes == [("small blind",), ("big blind",), (), (), (), ("button",)]
    two = game("limit_holdem")
    tables = Tables(two, 1, 0)
    tables.deal()
    notes = [seat_view.notes for seat_view in two.build_view(tables.records[0], 0).seats]
    assert notes == [("big blind",), ("button", "small blind")]


def test_a_big_2_view_tells_the_hand_to_beat_and_who_passed() -> None:
    big2 = game("big2")
    tables = Tables(big2, 1, 0)
    tables.deal()
    leader = (int(tables.records[0]["to_act"]) - 1) % 4
    view = big2.build_view(tables.records[0], leader)
    assert view.board == ("3d",)
    assert view.seats[leader].notes == ("played last",)
    assert len(view.seats[leader].cards) == 12
    assert [seat_view.hidden_card_count for seat_view in view.seats if not seat_view.cards] == [
        13
    ] * 3
    passing = int(tables.records[0]["to_act"])
    move = big2.list_moves(tables.records[0])[-1]
    assert (move.action_type, move.label) == ("pass", "Pass")
    tables.step(np.array([move.action]))
    assert big2.build_view(tables.records[0], leader).seats[passing].notes == ("passed",)
    for move in big2.list_moves(tables.records[0]):
        assert move.action_type in ("single", "pass")
        assert move.name == big2.move_name(tables.records[0], move.action)


LABELS = {
    pokerkit.Label.HIGH_CARD: "high",
    pokerkit.Label.ONE_PAIR: "pair of",
    pokerkit.Label.TWO_PAIR: "two pair",
    pokerkit.Label.THREE_OF_A_KIND: "three of a kind",
    pokerkit.Label.STRAIGHT: "straight to",
    pokerkit.Label.FLUSH: "flush,",
    pokerkit.Label.FULL_HOUSE: "full house",
    pokerkit.Label.FOUR_OF_A_KIND: "four of a kind",
    pokerkit.Label.STRAIGHT_FLUSH: ("straight flush", "royal flush"),
}


def test_words_are_those_of_pokerkits_evaluator() -> None:
    """Half of the hands come from short decks, so that all kinds are among them."""
    generator, seen = np.random.default_rng(0), set()
    for i in range(3000):
        deck = range(52) if i % 2 else [4 * r + s for r in range(5, 12) for s in range(2)]
        cards = generator.choice(deck, int(generator.integers(5, 8)), replace=False).tolist()
        text = "".join(RANKS[card // 4] + SUITS[card % 4] for card in cards)
        best = pokerkit.StandardHighHand.from_game(text)
        words, label = describe_made_hand(cards, RANKS, SUITS, 7), best.entry.label
        seen.add(label)
        if label is pokerkit.Label.HIGH_CARD:
            assert words.endswith(" high")
            assert "," not in words
        else:
            assert words.startswith(LABELS[label]), (text, words)
    deck = [4 * r + s for r in (3, 5, 8) for s in range(4)]
    for _ in range(200):
        cards = generator.choice(deck, 6, replace=False).tolist()
        text = "".join(RANKS[card // 4] + SUITS[card % 4] for card in cards)
        label = pokerkit.StandardHighHand.from_game(text).entry.label
        seen.add(label)
        assert describe_made_hand(cards, RANKS, SUITS, 7).startswith(LABELS[label])
    assert seen == set(LABELS)


@pytest.mark.parametrize(
    ("cards", "words"),
    [
        ("KhKd4s4cAd2h2c", "two pair, kings and fours"),
        ("As2d3h4c5s", "straight to the five"),
        ("As2s3s4s5sKdKh", "straight flush to the five"),
        ("AsKsQsJsTs9s", "royal flush"),
        ("6s6h6d4c4hAs", "full house, sixes over fours"),
        ("6s6h6d4c4h4s", "full house, sixes over fours"),
        ("2h5h7hJhAhAs", "flush, ace high"),
        ("KsQs", "king high"),
    ],
)
def test_words(cards: str, words: str) -> None:
    held = [
        4 * RANKS.index(rank) + SUITS.index(suit)
        for rank, suit in zip(cards[::2], cards[1::2], strict=True)
    ]
    assert describe_made_hand(held, RANKS, SUITS, 7) == words


@pytest.mark.parametrize(
    ("cards", "words"),
    [
        ("As 3d2h", "straight to the three"),
        ("As Ks Qs", "straight flush to the ace"),
        ("5h 9h Th", "flush, ten high"),
        ("5h 6d 7s", "straight to the seven"),
        ("5h 5d 5s", "three of a kind, fives"),
        ("5h 5d", "pair of fives"),
        ("5h 6d", "six high"),
    ],
)
def test_words_of_three_cards(cards: str, words: str) -> None:
    """Where a hand goes on, three of its cards are no straight or flush yet."""
    held = parse_cards(cards, RANKS, SUITS)
    assert describe_made_hand(held, RANKS, SUITS, 3) == words
    name = describe_made_hand(held, RANKS, SUITS, 7)
    assert "straight" not in name
    assert "flush" not in name


def test_words_before_there_are_five_cards() -> None:
    decks = {"kuhn": [2, 0], "leduc": [2, 0, 3], "limit_holdem": [50, 49, 47, 43, 0, 5, 10, 15, 20]}
    words = {}
    for name, deck in decks.items():
        played = game(name)
        tables = Tables(played, 1, 0)
        tables.deal(decks=np.array([deck], np.int8))
        words[name] = [played.build_view(tables.records[0], seat).hand_name for seat in range(2)]
        assert played.build_view(tables.records[0], None).hand_name == ""
    assert words == {
        "kuhn": ["king", "jack"],
        "leduc": ["queen", "jack"],
        "limit_holdem": ["pair of aces", "king and queen, suited"],
    }
    leduc = game("leduc")
    tables = Tables(leduc, 1, 0)
    tables.deal(decks=np.array([decks["leduc"]], np.int8))
    for _ in range(2):
        tables.step(np.array([1]))
    assert leduc.build_view(tables.records[0], 0).hand_name == "pair of queens"
    assert leduc.build_view(tables.records[0], 1).hand_name == "queen high"


def test_the_lowest_straight_of_a_short_deck() -> None:
    ranks = "6789TJQKA"
    for hand, words in {
        "9s8h7d6cAs": "straight to the nine",
        "9s8s7s6sAsKs": "straight flush to the nine",
        "AsKsQsJsTs": "royal flush",
    }.items():
        assert describe_made_hand(parse_cards(hand, ranks, SUITS), ranks, SUITS, 7, ace=8) == words
