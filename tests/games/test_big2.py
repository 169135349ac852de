"""Rules of Big 2: combinations, the course of a game, observations, and statistics."""

from itertools import combinations, groupby

import numpy as np
import pytest
from big2_tables import (
    BIG2,
    cards,
    compute_strength,
    get_hand_to_beat,
    get_own_cards,
    list_followers,
    list_legal_moves,
    make_record,
    make_tables,
    play_moves,
    sample_hard_hands,
)
from random_games import deal_tables

from poker_rl.games import Tables
from poker_rl.games.big2.combinations import ACTION_POSITIONS
from poker_rl.games.tables import tables_from_records

PASS = 1694


def sample_legal_actions(legal, generator):
    """Return a random legal action of each row and the number of legal actions, [B]."""
    row, action = divmod(np.flatnonzero(legal), legal.shape[1])  # faster than nonzero
    count = np.bincount(row, minlength=len(legal))
    return action[count.cumsum() - 1 - generator.integers(count)], count


def test_deal_leads_the_three_of_diamonds_for_its_holder():
    tables = deal_tables(BIG2, 400, seed=5)
    holders = set()
    for record in tables.records:
        hands = [sorted(record["deck"][13 * seat : 13 * seat + 13]) for seat in range(4)]
        (holder,) = (seat for seat in range(4) if 0 in hands[seat])
        holders.add(holder)
        hands[holder].remove(0)
        assert record["to_act"] == (holder + 1) % 4
        assert record["left"].tolist() == [len(hand) for hand in hands]
        for seat, hand in enumerate(hands):
            assert record["hand"][seat].tolist() == hand + [-1] * (13 - len(hand))
        assert get_hand_to_beat(record) == [0]
    assert holders == {0, 1, 2, 3}


def test_seat_leads_after_three_passes_on_its_hand():
    tables = play_moves(make_tables("4d8d9d", "5d9c", "6d9h", "7dTd"), "4d", "pass", "6d")
    assert set(list_legal_moves(tables)) == {"7d", "Td", "pass"}
    play_moves(tables, "pass", "pass")
    # A seat that passed may play again: seat 1 passed on the four and may play on the six.
    assert set(list_legal_moves(tables)) == {"9c", "pass"}
    play_moves(tables, "pass")
    assert tables.records["to_act"][0] == 2
    assert set(list_legal_moves(tables)) == {"9h"}  # the leader must not pass


def test_winner_gets_one_point_per_card_left():
    tables = play_moves(make_tables("4d4h", "5d5h9dTdJd", "6d", "7dAd"), "4d4h")
    assert tables.records["over"][0]
    assert tables.payoffs()[0].tolist() == [8, -5, -1, -2]
    tables = play_moves(make_tables("4d9d", "5dTd", "6dJd", "7d"), "4d", "5d", "6d", "7d")
    assert tables.payoffs()[0].tolist() == [-1, -1, -1, 3]


def test_illegal_action_raises_and_leaves_table_unchanged():
    tables = deal_tables(BIG2, seed=6)
    before = tables.records.copy()
    for action in (-1, 13, PASS + 1, 2**40):
        with pytest.raises(ValueError, match="illegal action"):
            tables.step(np.array([action]))
        assert (tables.records == before).all()
    finished = play_moves(make_tables("4d", "5d"), "4d")
    for action in (0, PASS):
        with pytest.raises(ValueError, match="illegal action"):
            finished.step(np.array([action]))
    undealt = Tables(BIG2, 1, 0)
    with pytest.raises(ValueError, match="illegal action"):
        undealt.step(np.array([PASS]))


def list_own_card_features(hand):
    """Return the indices of ones in the own cards' features, of which each of 13 cards has 22.

    They are its rank, its suit, and the kinds of combinations in the hand that contain it.
    """
    indices = []
    kinds = {17: (2, 0), 18: (3, 0), 19: (4, 1)}
    plays = list_followers(hand, ())
    for i, card in enumerate(hand):
        strengths = [compute_strength(play) for play in plays if card in play]
        cells = [card // 4, 13 + card % 4]
        cells += [cell for cell, kind in kinds.items() if any(s[:2] == kind for s in strengths)]
        cells += [20] * any(s[0] == 5 and s[1] in (0, 3) for s in strengths)
        cells += [21] * any(s[0] == 5 and s[1] in (1, 3) for s in strengths)
        indices += [22 * i + cell for cell in cells]
    return indices


KIND_CELLS = {(1, 0): [0], (2, 0): [1], (3, 0): [2], (4, 0): [3], (4, 1): [4]}
KIND_CELLS |= {(5, 0): [5], (5, 1): [6], (5, 2): [7], (5, 3): [5, 6]}
SHOWN_KIND_CELLS = {0: [], 1: [0], 2: [1], 3: [2], 4: [2], 5: [3], 6: [4], 7: [5]}


def list_expected_features(hand, left, history, seat):
    """Return the indices of ones in an observation, from the seats and cards of all moves.

    Args:
        left: number of cards of each seat; `history`: seat and cards of each move.
    """
    ones = set(list_own_card_features(hand))
    for i in range(3):
        other_seat, base = (seat + 1 + i) % 4, 286 + 27 * i
        ones.add(base + left[other_seat] - 1)
        for mover, move in history:
            if mover == other_seat and move:
                ones |= {base + 13 + card - 44 for card in move if card >= 44}  # aces, twos
                for kind in KIND_CELLS[compute_strength(move)[:2]]:
                    ones |= {base + 21 + cell for cell in SHOWN_KIND_CELLS[kind]}
    ones |= {367 + card - 36 for _, move in history for card in move if card >= 36}
    pass_count = 0
    while not history[-1 - pass_count][1]:
        pass_count += 1
    if pass_count == 3:
        return ones | {383 + 17}
    hand_to_beat = history[-1 - pass_count][1]
    strength = compute_strength(hand_to_beat)
    if strength[:2] == (5, 2):
        ones.add(383 + strength[2][0])
    else:
        ones |= {383 + max(hand_to_beat) // 4, 383 + 13 + max(hand_to_beat) % 4}
    return ones | {383 + 18 + kind for kind in KIND_CELLS[strength[:2]]} | {383 + 26 + pass_count}


def check_observation(tables, history):
    record = tables.records[0]
    seat, observation = int(record["to_act"]), tables.observe()
    assert observation.shape == (1, 412)
    expected = list_expected_features(get_own_cards(record), record["left"].tolist(), history, seat)
    assert set(np.flatnonzero(observation[0])) == expected
    assert set(observation[0]) <= {0, 1}


def test_observation_matches_history_in_random_games():
    generator = np.random.default_rng(7)
    tables = Tables(BIG2, 1, seed=7)
    seen_kinds = set()
    for _ in range(12):
        tables.deal()
        history = [((int(tables.records["to_act"][0]) - 1) % 4, [0])]
        while not tables.records["over"][0]:
            check_observation(tables, history)
            # Passes get a low weight, so that games are short and have many kinds of combinations.
            names = {name: len(name) for name in list_legal_moves(tables)}
            weight = np.array([0.2 if name == "pass" else length for name, length in names.items()])
            name = str(generator.choice(list(names), p=weight / weight.sum()))
            move = [] if name == "pass" else cards(name)
            history.append((int(tables.records["to_act"][0]), move))
            seen_kinds |= {compute_strength(move)[:2]} if move else {None}
            play_moves(tables, name)
    assert seen_kinds >= {None, (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (5, 1), (5, 2)}


def test_observation_matches_history_with_rare_hands():
    """Straight flush on straight flush; four of a kind on four of a kind on two pair."""
    history = []
    tables = make_tables("3c4c5c6c7c3d9d9c9h9s", "5s6s7s8s9sKdKcKhKs8d3s", "AdAc2d2cJd4d")
    for name in (
        *("3c4c5c6c7c", "5s6s7s8s9s", "pass", "pass", "pass"),
        *("8d", "Jd", "pass", "pass", "pass"),
        *("AdAc2d2c", "pass", "9d9c9h9s", "KdKcKhKs", "pass", "pass"),
    ):
        seat = int(tables.records["to_act"][0])
        play_moves(tables, name)
        history.append((seat, [] if name == "pass" else cards(name)))
        check_observation(tables, history)


def test_observe_hidden_cards_starts_left_of_the_observer():
    tables = play_moves(make_tables("4d9d", "5d9c", "6d9hTh", "7d"), "4d")
    seen = np.flatnonzero(tables.observe_hidden_cards()[0]).tolist()
    assert seen == [*cards("6d9hTh"), 52 + cards("7d")[0], 104 + cards("9d")[0]]


def test_infoset_key_ignores_hidden_cards_but_not_history():
    def key(tables):
        return tables.infoset_keys()[0]

    hands = "4d4h9d", "5d9c", "6d9hTh", "7dTd"
    base = play_moves(make_tables(*hands), "4d")
    assert len(key(base)) <= BIG2.infoset_key_size
    other_hidden_cards = play_moves(make_tables("4d4h8d", "5d9c", "6c9sTh", "7dJd"), "4d")
    assert key(base) == key(other_hidden_cards)  # only hidden cards differ
    other_own_card = play_moves(make_tables(hands[0], "5d9s", *hands[2:]), "4d")
    other_card_led = play_moves(make_tables(*hands), "4h")
    assert key(base) not in (key(other_own_card), key(other_card_led))
    # Two hands in which different seats have passed, and different cards are left.
    two_passes = play_moves(make_tables(*hands), "4d", "5d", "pass", "7d", "pass")
    three_passes = play_moves(make_tables(*hands[:3], "5dTd"), "4d", "pass", "pass", "5d", "pass")
    assert key(two_passes) != key(three_passes)


def test_random_play_has_the_published_statistics():
    """The statistics are those of the engine of arXiv:1808.10442, of uniformly random play."""
    games, generator = 20_000, np.random.default_rng(1)
    tables = Tables(BIG2, 2_000, seed=1)
    decisions = choices = forced = winner_points = 0
    for _ in range(games // 2_000):
        tables.deal()
        rows = np.arange(2_000)
        while len(rows):
            actions, count = sample_legal_actions(tables.legal_mask(rows), generator)
            decisions += len(rows)
            choices += count.sum()
            forced += (count == 1).sum()
            tables.step(actions, rows)
            rows = rows[tables.records["over"][rows] == 0]
        won = tables.payoffs()
        assert (won.sum(1) == 0).all()
        assert ((won > 0).sum(1) == 1).all()
        winner_points += won.max(1).sum()
    # Means over 4,000 games of that engine, with tolerances.
    assert abs(decisions / games - 76.3) < 1.5
    assert abs(choices / decisions - 3.64) < 0.03
    assert abs(forced / decisions - 0.434) < 0.004
    assert abs(winner_points / games - 10.03) < 0.3


def test_actions_list_card_positions_by_size_then_lexicographically():
    """There are 1,694 plays and a pass, as in the published engine."""
    assert BIG2.action_count == len(ACTION_POSITIONS) == 1695
    for size, block in groupby(ACTION_POSITIONS[:-1], len):
        all_choices = combinations(range(13), size)  # in lexicographic order
        is_near_enough = {
            2: lambda p: p[1] - p[0] <= 3,
            3: lambda p: p[2] - p[0] <= 3,
            4: lambda p: p[1] - p[0] <= 3 and p[3] - p[2] <= 3,
        }
        assert list(block) == list(filter(is_near_enough.get(size, lambda p: True), all_choices))


LADDERS = [
    "3d 3c 3h 3s 4d 9s Td Jd Qd Kd Ad As 2d 2c 2h 2s",
    "3d3c 3h3s 4d4c 4c4h 4d4s KhKs AdAc 2d2c 2c2s",
    "3d3c3h 4c4h4s TdThTs JdJcJh AdAcAh 2d2c2h",
    # Two pair, ranked only by the top card of the higher pair; then four of a kind.
    "3d3c4d4c 3h3s4h4s 5d5c6d6c 3d3cAdAc KdKcAhAs QdQc2d2c 3h3s2h2s 3d3c3h3s 4d4c4h4s 2d2c2h2s",
    # Straights and flushes, ranked only by the top card; full houses, by the triple.
    "3s4s5s6s7d 3d4d5d6d7c 3c4c5c6d7s 4d5d6d7h8d TdJdQdKdAc JsQsKsAs2d JdQdKdAd2c JhQhKhAh2s"
    " 3d4d5d6d8d 3s4s5s6s8s 7d9dTdJdQd 3d4d5d6d2d 9s3sTsJs2s"
    " 3d3c3h2d2c 4d4c4h3d3c TdTcThJsJh 2d2c2h3s3h"
    " 3d4d5d6d7d 3c4c5c6c7c 3s4s5s6s7s 4d5d6d7d8d 9h8hThJhQh JdQdKdAd2d JsQsKsAs2s",
]


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda ladder: ladder.split()[0])
def test_hand_beats_exactly_the_lower_hands_of_its_ladder(ladder):
    hands = ladder.split()
    for lower, higher in combinations(hands, 2):
        if set(cards(lower)) & set(cards(higher)):
            continue  # one card can't be in two hands
        for led, answer, follows in ((lower, higher, True), (higher, lower, False)):
            spare = next(card for card in ("3h", "5h", "7h", "9c") if card not in led)
            tables = play_moves(make_tables(led + spare, answer), name_move(led))
            assert (name_move(answer) in list_legal_moves(tables)) == follows, f"{answer} on {led}"


def name_move(hand):
    return "".join(f"{'3456789TJQKA2'[card // 4]}{'dchs'[card % 4]}" for card in cards(hand))


def list_legal_card_sets(tables):
    """Return the legal moves of each table as sets of cards."""
    card_sets = []
    for record, legal in zip(tables.records, tables.legal_mask(), strict=True):
        own = get_own_cards(record)
        positions = [ACTION_POSITIONS[action] for action in np.flatnonzero(legal)]
        card_sets.append({tuple(own[position] for position in of_move) for of_move in positions})
    return card_sets


def test_legal_moves_match_plain_rules_in_random_play():
    tables = deal_tables(BIG2, 60, seed=2)
    generator, states = np.random.default_rng(2), 0
    while len(rows := np.flatnonzero(tables.records["over"] == 0)):
        live = tables_from_records(BIG2, tables.records[rows])
        for record, actual in zip(live.records, list_legal_card_sets(live), strict=True):
            assert actual == list_followers(get_own_cards(record), get_hand_to_beat(record))
        states += len(rows)
        legal = tables.legal_mask(rows)
        tables.step((generator.random(legal.shape) * legal).argmax(1), rows)
    assert states > 4000


def test_legal_moves_match_plain_rules_for_hands_with_many_combinations():
    hard = list(sample_hard_hands(150, seed=3))
    records = np.array([make_record([held, [], [], []]) for held, _ in hard])
    led = tables_from_records(BIG2, records)
    for (held, _), actual in zip(hard, list_legal_card_sets(led), strict=True):
        assert actual == list_followers(held, ())
    records = np.array([make_record([beat, held, [], []]) for held, beat in hard])
    followed = tables_from_records(BIG2, records)
    plays = [ACTION_POSITIONS.index(tuple(range(len(beat)))) for _, beat in hard]
    followed.step(np.array(plays))
    followed.records["over"] = 0  # the leader played its last card
    kinds = set()
    for (held, beat), actual in zip(hard, list_legal_card_sets(followed), strict=True):
        assert actual == list_followers(held, beat)
        kinds |= {len(hand) for hand in actual}
    assert kinds == {0, 1, 2, 3, 4, 5}
