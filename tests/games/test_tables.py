"""Batches of tables: fair deals, random states, any number of threads, packed hands."""

import numba
import numpy as np
import pytest
from learner_contexts import single_opponent
from random_games import KINDS, deal_tables, game, play, play_records

from poker_rl.config import ConfigError
from poker_rl.evaluation.matches.duplicate_match import play_deals as match
from poker_rl.games import get_tree
from poker_rl.games import tables as module
from poker_rl.games.game_tree import count_nodes
from poker_rl.games.hand_history import TablePacker
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.learning import Rollout
from poker_rl.players import load_player, sample_from_probs


def excess(observed, expected):
    """Chi-square of counts in standard deviations above its mean, if each is as expected.

    The seeds below give -1.7 to 1.4; thirty others gave 4.6 at most, where six deals are counted.
    """
    freedom = observed.size - 1
    return float(((observed - expected) ** 2 / expected).sum() - freedom) / np.sqrt(2 * freedom)


def test_every_pair_of_cards_is_equally_likely():
    decks = deal_tables(game("limit_holdem"), 265_200, seed=3).records["deck"].astype(int)
    for first, second in ((0, 1), (1, 2), (4, 8)):
        pairs = np.bincount(decks[:, first] * 52 + decks[:, second], minlength=52 * 52)
        assert not pairs[:: 52 + 1].any()
        assert abs(excess(pairs[pairs > 0], 100)) < 4


def test_a_written_deck_is_what_is_dealt():
    tables = Tables(game("leduc"), 2, seed=5)
    tables.deal(decks=np.array([[5, 0, 3], [1, 2, 4]]))
    assert tables.records["deck"][:, :3].tolist() == [[5, 0, 3], [1, 2, 4]]
    tables.deal(np.array([1]), decks=np.array([[0, 1, 2]]))
    assert tables.records["deck"][:, :3].tolist() == [[5, 0, 3], [0, 1, 2]]
    tables.deal()  # a random deck again holds each card once
    assert np.sort(tables.records["deck"][:, :6]).tolist() == [list(range(6))] * 2


@pytest.mark.parametrize(
    ("deck", "variants", "words"),
    [
        ([51] * 9, 0, r"\[51, .*, 51\] is not 9 different cards of 0 to 51"),
        ([0, 1, 2], 0, "is not 9 different cards of 0 to 51"),
        ([*range(1, 9), 52], 0, "is not 9 different cards of 0 to 51"),
        ([*range(9)], 1, "variants: not all are in 0 to 0"),
    ],
)
def test_a_written_deck_is_one_of_the_game(deck, variants, words):
    tables = Tables(game("limit_holdem"), 1, seed=5)
    before = tables.records.copy()
    with pytest.raises(ValueError, match=words):
        tables.deal(decks=np.array([deck]), variants=variants)
    assert tables.records.tobytes() == before.tobytes()


def test_cards_do_not_depend_on_the_other_tables():
    """Table i sees the same cards alone, in any batch and in any order of dealing."""
    together = Tables(game("limit_holdem"), 8, seed=8)
    apart = Tables(game("limit_holdem"), 8, seed=8)
    more = Tables(game("limit_holdem"), 20, seed=8)
    for _ in range(3):
        together.deal()
        more.deal()
        for row in (5, 2, 7, 0, 1, 6, 4, 3):
            apart.deal(np.array([row]))
        assert together.records.tobytes() == apart.records.tobytes()
        assert together.records.tobytes() == more.records[:8].tobytes()


@pytest.mark.parametrize("name", ["leduc", "limit_holdem"])
def test_serial_and_parallel_loops_agree(name, monkeypatch):
    """The threads of numba change nothing: each table draws from its own state."""

    def run():
        tables, moves = play(game(name), 200, seed=11)
        observations = [tables.observe(move.rows) for move in moves]
        found = tables.records, tables.payoffs(), tables.infoset_keys(), *observations
        return [array.tobytes() for array in found]

    serial = run()
    monkeypatch.setattr(module, "MIN_PARALLEL_ROWS", 1)
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)
    assert run() == serial


class Stream:
    """Hands one after another at each table, by `advance`."""

    def __init__(self, name, count, seed):
        self.tables = deal_tables(game(name), count, seed)
        shape = self.tables.game
        self.observations = np.zeros((count, shape.observation_size), shape.feature_dtype)
        self.masks = self.tables.legal_mask()
        self.won = np.zeros((count, shape.seats), np.int64)
        self.over = np.zeros(count, np.uint8)
        self.seats = np.zeros(count, np.int64)

    def advance(self, actions):
        self.tables.step_autoreset(
            actions, self.seats, self.observations, self.masks, self.won, self.over
        )


@pytest.mark.parametrize("name", KINDS)
def test_advance_is_step_payoffs_and_deal(name):
    generator = np.random.default_rng(12)
    stream = Stream(name, 100, seed=13)
    tables = deal_tables(game(name), 100, seed=13)
    hands = 0
    for _ in range(120):
        actions = (generator.random(stream.masks.shape) * stream.masks).argmax(1)
        stream.advance(actions)
        tables.step(actions)
        ended = np.flatnonzero(tables.records["over"])
        hands += len(ended)
        assert np.flatnonzero(stream.over).tolist() == ended.tolist()
        assert (stream.won[ended] == tables.payoffs(ended)).all()
        tables.deal(ended)
        assert (stream.seats == tables.records["to_act"]).all()
        assert (stream.observations == tables.observe()).all()
        assert (stream.masks == tables.legal_mask()).all()
        assert (stream.tables.records["deck"] == tables.records["deck"]).all()
    assert hands > 100


@pytest.mark.parametrize("name", KINDS)
def test_redealt_is_what_the_seat_to_act_cannot_see(name):
    played = game(name)
    records = play_records(played, 20, seed=8)
    before = tables_from_records(played, records)
    after = tables_from_records(played, records.copy())
    after.resample_hidden_cards()
    assert (after.infoset_keys() == before.infoset_keys()).all()
    assert (after.legal_mask() == before.legal_mask()).all()
    assert (after.observe() == before.observe()).all()
    assert (after.observe_hidden_cards() != before.observe_hidden_cards()).any(1).mean() > 0.2
    # The same random state comes to the same cards, whatever the hidden ones were.
    again = tables_from_records(played, after.records.copy())
    for field in ("key", "draws"):
        again.records[field] = records[field]
    again.resample_hidden_cards()
    assert (again.observe_hidden_cards() == after.observe_hidden_cards()).all()


def test_hidden_cards_of_hold_em_are_redealt_uniformly():
    count = 47_000
    tables = deal_tables(game("limit_holdem"), seed=9)
    tables.replay(np.ones((1, 3), int), np.array([3]))  # calls; seat 1 is to act on the flop
    assert (tables.records["to_act"], tables.records["street"]) == (1, 1)
    known = tables.records["deck"][0, [2, 3, 4, 5, 6]]
    many = tables_from_records(tables.game, tables.records.repeat(count))
    many.records["draws"] += np.arange(count, dtype=np.uint64) << np.uint64(8)
    many.resample_hidden_cards()
    decks = many.records["deck"][:, :9]
    assert (decks[:, 2:7] == known).all()
    for column in decks[:, [0, 1, 7, 8]].T:
        counts = np.bincount(column, minlength=52)
        assert not counts[known].any()
        assert abs(excess(np.delete(counts, known), count / 47)) < 4


LOOKS = ("observe", "observe_hidden_cards", "legal_mask", "infoset_keys")


@pytest.mark.parametrize("name", ["kuhn", "leduc", "limit_holdem_2to9", "nolimit_leduc"])
def test_every_moment_of_a_hand_comes_back_as_it_was(name):
    played = game(name)
    hands, tables = TablePacker(played), deal_tables(played, 50)
    generator = np.random.default_rng(0)
    shown, rows, moments = [], np.arange(50), 0
    while len(rows):
        legal = tables.legal_mask(rows)
        seen = {look: getattr(tables, look)(rows) for look in LOOKS}
        shown.append((rows, seen))
        action = sample_from_probs(legal / legal.sum(1, keepdims=True), generator.random(len(rows)))
        tables.step(action, rows)
        rows = rows[tables.records["over"][rows] == 0]
    packed = hands.pack(tables.records)
    assert packed.shape == (50, hands.row_bytes)
    for moves, (rows, seen) in enumerate(shown):
        again = hands.unpack_tables(packed[rows], np.full(len(rows), moves))
        for look in LOOKS:
            np.testing.assert_array_equal(getattr(again, look)(), seen[look])
        assert not again.records["over"].any()
        moments += len(rows)
        found = hands.get_next_actions(packed[rows], np.full(len(rows), moves))
        np.testing.assert_array_equal(found, tables.records["line"][rows, moves])
    end = hands.unpack_tables(packed, tables.records["moves"])
    assert end.records["over"].all()
    np.testing.assert_array_equal(end.payoffs(), tables.payoffs())
    assert moments > 100


DRAWN, NO_LIMIT = game("limit_holdem_2to9"), game("nolimit_holdem_2to9")
SEATS = range(2, 10)


def test_each_number_of_seats_is_as_likely():
    tables = Tables(DRAWN, 80_000, seed=1)
    for _ in range(2):
        before = tables.gather_definitions()["seats"].copy()
        tables.deal()
        seats = tables.gather_definitions()["seats"]
        counts = np.bincount(seats, minlength=10)[2:]
        # Five standard deviations of a binomial count: sqrt(80,000 * 1/8 * 7/8) = 94.
        assert (np.abs(counts - 10_000) < 5 * 94).all()
    pairs = np.bincount(before * 10 + seats, minlength=100)
    assert (np.abs(pairs[pairs > 0] - 1250) < 5 * 35).all()
    assert (pairs > 0).sum() == 64


@pytest.mark.parametrize("seats", SEATS)
@pytest.mark.parametrize("variable", [DRAWN, NO_LIMIT], ids=["limit", "no-limit"])
def test_a_hand_is_of_the_game_with_its_seats(variable, seats):
    """Move by move; what is seen is the same but for empty seats."""
    definition = variable.games_by_seat_count[seats - 2]
    fixed, moves = play(definition, 200, seed=seats)
    decks = fixed.records["deck"][:, : definition.cards_dealt]
    drawn = deal_tables(variable, 200, decks=decks, variants=seats - 2)
    alone = deal_tables(definition, 200, decks=decks)
    for move in moves:
        assert (drawn.records["to_act"][move.rows] == move.records["to_act"]).all()
        assert (drawn.legal_mask(move.rows) == move.legal).all()
        check_view(definition, alone.observe(move.rows), drawn.observe(move.rows))
        hidden = drawn.observe_hidden_cards(move.rows)
        width = definition.hidden_card_size
        assert (hidden[:, :width] == alone.observe_hidden_cards(move.rows)).all()
        assert not hidden[:, width:].any()
        drawn.step(move.actions, move.rows)
        alone.step(move.actions, move.rows)
    won = drawn.payoffs()
    assert (won[:, :seats] == fixed.payoffs()).all()
    assert not won[:, seats:].any()


def check_view(definition, own, drawn):
    """[seats, 4 streets, raise counts, raise, call or fold], four planes of cards, then chips."""
    seats, levels = definition.seats, int(definition.definitions["raise_levels"][0])
    kinds = 2 if seats == 2 else 3
    actions, cards, chips = np.split(drawn, [9 * 4 * levels * 3, 9 * 4 * levels * 3 + 208], axis=1)
    size = seats * 4 * levels * kinds
    own_actions, own_cards, own_chips = np.split(own, [size, size + 208], axis=1)
    assert (cards == own_cards).all()
    actions = actions.reshape(len(own), 9, 4, levels, 3).copy()
    empty = actions[:, seats:]
    assert (empty[:, :, 0, 0, 2] == 1).all()
    assert empty.sum() == empty[:, :, 0, 0, 2].size
    seen = actions[:, :seats, ..., :kinds]
    assert (seen == own_actions.reshape(*seen.shape)).all()
    if own_chips.size:  # by seat, then of the pot
        assert (chips[:, : 3 * seats] == own_chips[:, :-3]).all()
        assert not chips[:, 3 * seats : -3].any()
        assert (chips[:, -3:] == own_chips[:, -3:]).all()


def test_what_a_game_has_not_is_refused():
    assert count_nodes(DRAWN, 10) > 10
    why = r"^game: limit_holdem_2to9 samples its definition .*not enumerated$"
    with pytest.raises(ConfigError, match=why):
        get_tree(DRAWN)
    with pytest.raises(ConfigError, match="samples its seats"):
        DRAWN.list_deals()
    with pytest.raises(ConfigError, match="tables of big2 do not keep their actions"):
        TablePacker(game("big2"))


def test_a_match_rotates_over_the_seats_of_the_deal():
    # Whoever folds to every raise loses the blinds, three chips, once in each rotation.
    players = [load_player("fold", DRAWN), *[load_player("raise", DRAWN)] * 8]
    blocks = match(DRAWN, players, 400, seed=1)
    np.testing.assert_allclose(blocks.sum(1), 0, atol=1e-12)
    seats = -3 / blocks[:, 0]
    np.testing.assert_allclose(seats, np.round(seats))
    assert set(np.round(seats)) == set(SEATS)
    # Players without a seat win nothing.
    assert not blocks[np.arange(9) >= np.round(seats)[:, None]].any()


def uniformly(rows):
    probs = rows.mask / rows.mask.sum(1, keepdims=True)
    uniform = np.random.default_rng(0).random(len(probs))
    return sample_from_probs(probs, uniform), np.zeros(len(probs))


def test_the_only_learner_is_always_dealt_in():
    caller = single_opponent(load_player("call", DRAWN))
    rollout = Rollout(DRAWN, 20_000, 0, opponents=caller, seating="shuffled")
    batch = rollout.play_full_hands(uniformly)
    assert (batch.agent == 0).all()
    assert (np.bincount(batch.table, minlength=20_000) > 0).all()  # nobody else ends a hand
    seats, seat = rollout.tables.gather_definitions()["seats"], rollout.agent_of_seat.argmin(1)
    assert (batch.seat == seat[batch.table]).all()
    assert (np.sort(rollout.agent_of_seat, axis=1) == np.arange(9)).all()
    for n in SEATS:  # counts within five standard deviations of their mean
        counts = np.bincount(seat[seats == n], minlength=n)
        assert (np.abs(counts - counts.mean()) < 5 * np.sqrt(counts.mean())).all()
