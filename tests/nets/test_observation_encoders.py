"""Observation encoders: example rows, information sets, suits, hand strength, hidden cards."""

from itertools import combinations

import numpy as np
import pytest
from random_games import deal_tables, play, sample_decisions
from random_games import game as game_of

from poker_rl.config import ConfigError
from poker_rl.games.hand_evaluator import CATEGORY_SHIFT, evaluate_hand
from poker_rl.games.poker.suit_isomorphism import sort_suits
from poker_rl.games.tables import tables_from_records
from poker_rl.nets import observation_encoders
from poker_rl.nets.observation_encoders import HISTORY_STEPS, HiddenCardEncoder, ObservationEncoder


def test_history_row_of_the_small_blind_with_three_seats():
    game = game_of("limit_holdem_3p")
    # The small blind holds 2c 2d, and the button raises.
    tables = deal_tables(game, actions=[2], decks=np.arange(11, dtype=np.int8)[None])
    features = ObservationEncoder(game, "history")
    (row,) = features(tables.records)
    assert features.history_shape == (HISTORY_STEPS, 11)
    assert len(row) == features.size == HISTORY_STEPS * 11 + 4 * 52 + 3 * 3 + 3
    limit = 2 + 3 * 2 + 4 * 2 + 4 * 4 + 4 * 4  # a seat's most chips: blind, then raises by street
    seat, street, kind = np.eye(3), [1, 0, 0, 0], np.eye(3)  # one-hot; kind: fold, call, raise
    steps = row[: HISTORY_STEPS * 11].reshape(HISTORY_STEPS, 11)
    for i, (actor, action, chips) in enumerate([(0, 1, 1), (1, 2, 2), (2, 2, 4)]):
        np.testing.assert_allclose(steps[i], [*seat[actor], *street, *kind[action], chips / limit])
    assert not steps[3:].any()
    cards, chips = np.split(row[HISTORY_STEPS * 11 :], [4 * 52])
    assert np.flatnonzero(cards).tolist() == [0, 1]
    seat_chips = [1, limit - 1, limit, 2, limit - 2, limit, 4, limit - 4, limit]
    np.testing.assert_allclose(chips * limit, [*seat_chips, 7, 4, 3], rtol=1e-5)


@pytest.mark.parametrize("name", ["leduc", "limit_holdem", "limit_holdem_3p", "nolimit_leduc"])
def test_rows_distinguish_information_sets_up_to_suit_names(name):
    game = game_of(name)
    records = sample_decisions(game, 4_000)
    tables = tables_from_records(game, records.copy())
    sort_suits(tables.gather_definitions(), tables.records)
    keys = tables.infoset_keys()
    rows = ObservationEncoder(game, "history")(records)
    infosets = len(np.unique(keys))
    assert infosets > 50
    assert len(np.unique(rows, axis=0)) == infosets
    both = np.c_[rows, np.unique(keys, return_inverse=True)[1]]
    assert len(np.unique(both, axis=0)) == infosets


@pytest.mark.parametrize("name", ["limit_holdem_6p", "limit_holdem_2to9", "nolimit_holdem"])
def test_rows_do_not_depend_on_hidden_cards(name):
    game = game_of(name)
    records, encoder = sample_decisions(game, 300), ObservationEncoder(game, "history")
    resampled = tables_from_records(game, records.copy())
    resampled.resample_hidden_cards()
    assert (resampled.records["deck"] != records["deck"]).any(1).all()
    np.testing.assert_array_equal(encoder(resampled.records), encoder(records))


def test_log_chips_has_logarithms_of_chips_and_the_same_cards():
    game = game_of("nolimit_holdem_sizes")
    records = sample_decisions(game, 200)
    linear = ObservationEncoder(game, "sorted_suits")(records)
    logs = ObservationEncoder(game, "log_chips")(records)
    first_card, first_chip = game.definitions[0][["hole_offset", "chip_offset"]].tolist()
    np.testing.assert_array_equal(logs[:, first_card:first_chip], linear[:, first_card:first_chip])
    chips = np.expm1(logs.astype(np.float64) * np.log(201))  # feature: log(1 + chips) / log(201)
    is_chip = np.arange(game.observation_size) < first_card
    is_chip |= np.arange(game.observation_size) >= first_chip
    is_chip = is_chip & (linear != 0) & (linear != 1)
    assert is_chip[:, :first_card].any()
    np.testing.assert_allclose(chips[is_chip], 200 * linear[is_chip], rtol=1e-3)
    with pytest.raises(ConfigError, match="log_chips needs a game with stacks, not limit_holdem"):
        ObservationEncoder(game_of("limit_holdem"), "log_chips")


@pytest.mark.parametrize("name", ["limit_holdem_3p", "nolimit_holdem_sizes"])
def test_hand_strength_equals_enumeration_of_hands_and_next_cards(name):
    game = game_of(name)
    records = sample_decisions(game, 120)
    base = ObservationEncoder(game, "sorted_suits" if name == "limit_holdem_3p" else "log_chips")
    encoder = ObservationEncoder(game, "hand_strength")
    rows = encoder(records)
    np.testing.assert_array_equal(rows[:, : base.size], base(records))
    assert encoder.is_suit_invariant
    boards, flush_boards = set(), 0
    for record, row in zip(records, rows[:, base.size :], strict=True):
        board_count = [0, 3, 4, 5][record["street"]]
        boards.add(board_count)
        first_hole_card, first_board_card = 2 * record["to_act"], 2 * game.seats
        hole = record["deck"][first_hole_card : first_hole_card + 2].tolist()
        board = record["deck"][first_board_card : first_board_card + board_count].tolist()
        if not board:
            assert not row.any()
            continue
        flush_boards += max(np.bincount(np.array(board) % 4)) >= 3
        unseen = [card for card in range(52) if card not in board + hole]
        own = compute_strength(board + hole)
        others = np.array([compute_strength([*board, *other]) for other in combinations(unseen, 2)])
        share = np.mean((own > others) + 0.5 * (own == others))
        assert row[:10].sum() == pytest.approx(10 * share, abs=1e-4)
        assert (np.diff(row[:10]) <= 0).all()  # ones, at most one fraction, zeros
        assert np.count_nonzero((row[:10] > 0) & (row[:10] < 1)) <= 1
        assert np.flatnonzero(row[10:19]).tolist() == [own >> CATEGORY_SHIFT]
        next_shares = np.zeros(9)
        if board_count < 5:
            for card in unseen:
                next_shares[compute_strength([*board, *hole, card]) >> CATEGORY_SHIFT] += 1
            next_shares /= len(unseen)
        np.testing.assert_allclose(row[19:], next_shares, atol=1e-5)
    assert boards == {0, 3, 4, 5}
    assert flush_boards  # boards with a possible flush are covered


def compute_strength(cards):
    return int(evaluate_hand(np.array(cards), len(cards), 4))


def test_hand_strength_needs_two_hole_cards_of_a_full_deck():
    for name in ("leduc", "nolimit_short_deck_6p"):
        message = rf"hand_strength needs two hole cards .*, not {name}"
        with pytest.raises(ConfigError, match=message):
            ObservationEncoder(game_of(name), "hand_strength")
        with pytest.raises(ConfigError, match=r"^critic_view: hand_comparison needs two hole"):
            HiddenCardEncoder(game_of(name), "observation", compare_hands=True)


def test_critic_features_compare_the_hand_with_each_opponent():
    game = game_of("limit_holdem_3p")
    records = sample_decisions(game, 300)
    cards = HiddenCardEncoder(game, "hand_strength")(records)
    rows = HiddenCardEncoder(game, "hand_strength", compare_hands=True)(records)
    np.testing.assert_array_equal(rows[:, : cards.shape[1]], cards)
    boards, folds = set(), 0
    for record, row in zip(records, rows[:, cards.shape[1] :].reshape(-1, 2, 12), strict=True):
        board_count = [0, 3, 4, 5][record["street"]]
        boards.add(board_count)
        board = record["deck"][6 : 6 + board_count].tolist()
        hands = record["deck"][:6].reshape(3, 2).tolist()
        own = hands[record["to_act"]]
        for position in (1, 2):
            seat, features = (record["to_act"] + position) % 3, row[position - 1].tolist()
            folds += bool(record["folded"][seat])
            if not board or record["folded"][seat]:
                assert not any(features)
                continue
            unseen = [card for card in range(52) if card not in board + own + hands[seat]]
            next_boards = [board] if board_count == 5 else [[*board, card] for card in unseen]
            ahead, level = compare_hands(board + own, board + hands[seat])
            wins = [compare_hands(b + own, b + hands[seat]) for b in next_boards]
            doubled = sum(2 * is_ahead + is_level for is_ahead, is_level in wins)
            steps = [10 * doubled > (2 * i + 1) * len(wins) for i in range(10)]
            assert features == [ahead, level, *steps]
    assert boards == {0, 3, 4, 5}
    assert folds


def compare_hands(cards, other_cards):
    strength, other = compute_strength(cards), compute_strength(other_cards)
    return strength > other, strength == other


@pytest.mark.parametrize("name", ["limit_holdem_3p", "nolimit_holdem_6p"])
def test_long_history_keeps_the_newest_steps(monkeypatch, name):
    monkeypatch.setattr(observation_encoders, "HISTORY_STEPS", 3)
    game = game_of(name)
    records = sample_decisions(game, 300)
    rows = ObservationEncoder(game, "history")(records)
    histories, lengths = tables_from_records(game, records.copy()).observe_history()
    assert set(lengths) >= {2, 3, 4, 5}
    for row, history, length in zip(rows, histories, lengths, strict=True):
        newest = np.zeros((3, game.history_step_size), np.float32)
        newest[: min(length, 3)] = history[max(length - 3, 0) : length]
        np.testing.assert_array_equal(row[: newest.size], newest.ravel())


def test_big2_every_card_features_show_own_and_played_cards():
    """Features are the game's observation [412], then own cards and each seat's played cards."""
    game, generator = game_of("big2"), np.random.default_rng(3)
    tables, features = deal_tables(game, 40, 3), ObservationEncoder(game, "every_card")
    assert (features.size, features.is_binary) == (412 + 5 * 52, True)
    dealt = np.sort(tables.records["deck"].reshape(-1, 4, 13))
    shown = 0
    for _ in range(60):
        live = np.flatnonzero(tables.records["over"] == 0)
        records = tables.records[live]
        rows = features(records)
        np.testing.assert_array_equal(rows[:, :412], tables.observe(live))
        for record, seen, hands in zip(records, rows[:, 412:], dealt[live], strict=True):
            expected = np.zeros((5, 52), np.uint8)
            for i in range(4):
                seat = (record["to_act"] + i) % 4
                remaining = set(record["hand"][seat].tolist()) - {-1}
                if i == 0:
                    expected[0, list(remaining)] = 1
                expected[1 + i, list(set(hands[seat].tolist()) - remaining)] = 1
            np.testing.assert_array_equal(seen.reshape(5, 52), expected)
            shown = max(shown, int(expected[1:].sum()))
        legal = tables.legal_mask(live)
        tables.step((legal * generator.random(legal.shape)).argmax(1), live)
    assert shown > 35


def test_hidden_cards_have_the_same_suit_names_as_own_cards():
    game = game_of("limit_holdem_3p")
    records = play(game, 2000, 0)[1][0].records
    features = ObservationEncoder(game, "sorted_suits")
    own = features(records)[:, -208:-156]  # 52 cards: index 4 * rank + suit
    others = HiddenCardEncoder(game, "sorted_suits")(records).reshape(len(records), 2, 52).any(1)
    suits = np.arange(52) % 4
    dealt = records["deck"][:, :6]
    for i, record in enumerate(records):
        seat = int(record["to_act"])
        own_deal = dealt[i, 2 * seat : 2 * seat + 2]
        rest = np.delete(dealt[i], [2 * seat, 2 * seat + 1])
        # Sorting renames suits, but an own and a hidden card of one suit still share a suit.
        before = {(c // 4, d // 4) for c in own_deal for d in rest if c % 4 == d % 4}
        own_cards, other_cards = np.flatnonzero(own[i]), np.flatnonzero(others[i])
        after = {(c // 4, d // 4) for c in own_cards for d in other_cards if suits[c] == suits[d]}
        assert before == after
