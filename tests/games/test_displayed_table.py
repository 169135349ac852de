"""Views of tables: no hidden cards, chips that add up, legal moves."""

import numpy as np
import pokerkit
import pytest
from random_games import KINDS, POKER, deal_tables, game, play
from same_infoset_deals import sample_same_infoset_deals

from poker_rl.games import Tables
from poker_rl.games.poker.display.hand_names import describe_made_hand
from poker_rl.games.poker.display.view import compute_pot_sizes

HOLDEM = game("limit_holdem")


@pytest.mark.parametrize("name", KINDS)
def test_view_depends_only_on_what_its_viewer_knows(name):
    played = game(name)
    _, moves = play(played, 50, 3)
    changed = 0
    for move in moves[:: max(1, len(moves) // 10)]:
        for record in move.records[:5]:
            seats = len(played.build_view(record, None).seats)
            for viewer in {int(record["to_act"]), seats - 1}:
                view = played.build_view(record, viewer)
                other_hands = [seat.cards for i, seat in enumerate(view.seats) if i != viewer]
                assert not any(other_hands)
                for deal in sample_same_infoset_deals(played, record, viewer, 2):
                    assert played.build_view(deal, viewer) == view
                    changed += played.build_view(deal, None) != played.build_view(record, None)
                    if viewer == record["to_act"]:
                        assert played.list_moves(deal) == played.list_moves(record)
                        assert played.get_bet_range(deal) == played.get_bet_range(record)
    assert changed > 0  # the full views differ


@pytest.mark.parametrize("name", [name for name in KINDS if name in POKER])
def test_new_street_has_no_bets_and_moves_add_their_listed_chips(name):
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
            # Most moves are checks and calls, so that many hands reach the last street.
            passive = next(move for move in moves if move.action_type in ("check", "call"))
            random_move = moves[int(generator.integers(len(moves)))]
            move = passive if generator.random() < 0.7 else random_move
            assert (move.action_type == "raise") <= (facing > 0)
            assert (move.action_type in ("bet", "check")) <= (facing == view.seats[seat].bet)
            tables.step(np.array([move.action]))
            after = tables.records[0]
            assert after["paid"][seat] - record["paid"][seat] == move.chips_added
            if move.raise_to is not None and not after["over"] and after["street"] == street:
                assert played.build_view(after, None).seats[seat].bet == move.raise_to
                checked += 1
    assert streets == set(range(1, len(played.variant_games[0].board_cards)))
    assert checked > 3


def test_compute_pots_splits_side_pots():
    assert compute_pot_sizes([10, 50, 30, 5], [False, False, False, True]) == (35, 40, 20)
    assert compute_pot_sizes([2, 2, 0], [False, False, True]) == (4,)
    assert compute_pot_sizes([0, 0], [False, False]) == ()


def test_big2_view_shows_hand_to_beat_and_who_passed():
    big2 = game("big2")
    tables = deal_tables(big2)
    record, passing = tables.records[0], int(tables.records[0]["to_act"])
    leader = (passing - 1) % 4
    view = big2.build_view(record, leader)
    assert (view.board, view.seats[leader].notes) == (("3d",), ("played last",))
    assert [seat.hidden_card_count for seat in view.seats if not seat.cards] == [13] * 3
    *_, move = big2.list_moves(record)
    assert (move.action_type, move.label) == ("pass", "Pass")
    tables.step(np.array([move.action]))
    assert big2.build_view(record, leader).seats[passing].notes == ("passed",)
    for move in big2.list_moves(record):
        assert move.action_type in ("single", "pass")
        assert move.name == big2.move_name(record, move.action)


L = pokerkit.Label
LABELS = {L.HIGH_CARD: "high", L.ONE_PAIR: "pair of", L.TWO_PAIR: "two pair"}
LABELS |= {L.THREE_OF_A_KIND: "three of a kind", L.STRAIGHT: "straight to", L.FLUSH: "flush,"}
LABELS |= {L.FULL_HOUSE: "full house", L.FOUR_OF_A_KIND: "four of a kind"}
LABELS[L.STRAIGHT_FLUSH] = ("straight flush", "royal flush")


def test_made_hand_descriptions_match_pokerkit():
    """Half of the hands come from short decks, so that all kinds are among them."""
    generator, seen_labels = np.random.default_rng(0), set()
    for i in range(3000):
        deck = range(52) if i % 2 else [4 * r + s for r in range(5, 12) for s in range(2)]
        cards = generator.choice(deck, int(generator.integers(5, 8)), replace=False).tolist()
        text = "".join(HOLDEM.ranks[card // 4] + HOLDEM.suits[card % 4] for card in cards)
        best = pokerkit.StandardHighHand.from_game(text)
        description, label = describe_made_hand(HOLDEM, cards), best.entry.label
        seen_labels.add(label)
        if label is pokerkit.Label.HIGH_CARD:
            assert description.endswith(" high")
            assert "," not in description
        else:
            assert description.startswith(LABELS[label]), (text, description)
    deck = [4 * r + s for r in (3, 5, 8) for s in range(4)]
    for _ in range(200):
        cards = generator.choice(deck, 6, replace=False).tolist()
        text = "".join(HOLDEM.ranks[card // 4] + HOLDEM.suits[card % 4] for card in cards)
        label = pokerkit.StandardHighHand.from_game(text).entry.label
        seen_labels.add(label)
        assert describe_made_hand(HOLDEM, cards).startswith(LABELS[label])
    assert seen_labels == set(LABELS)
