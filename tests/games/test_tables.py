"""Batches of tables: fair deals, random states, threads, packed hands, variable seats."""

import numba
import numpy as np
import pytest
from learner_contexts import single_opponent
from random_games import KINDS, deal_tables, game, play, play_records

from poker_rl.config import ConfigError
from poker_rl.evaluation.matches.duplicate_match import play_deals
from poker_rl.games import get_tree
from poker_rl.games import tables as tables_module
from poker_rl.games.game_tree import count_nodes
from poker_rl.games.hand_history import TablePacker
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.learning import Rollout
from poker_rl.players import load_player, sample_from_probs


def compute_chi_square_excess(observed, expected):
    """Return by how many standard deviations the chi-square of counts exceeds its mean.

    For pairs of cards and ten seeds it is -2.1 to 2.3, with a standard deviation of 1.0.
    """
    freedom = observed.size - 1
    return float(((observed - expected) ** 2 / expected).sum() - freedom) / np.sqrt(2 * freedom)


def test_every_pair_of_cards_is_equally_likely():
    decks = deal_tables(game("limit_holdem"), 265_200, seed=3).records["deck"].astype(int)
    for first, second in ((0, 1), (1, 2), (4, 8)):
        pairs = np.bincount(decks[:, first] * 52 + decks[:, second], minlength=52 * 52)
        assert not pairs[:: 52 + 1].any()
        assert abs(compute_chi_square_excess(pairs[pairs > 0], 100)) < 4


def test_deal_uses_the_given_decks():
    tables = Tables(game("leduc"), 2, seed=5)
    tables.deal(decks=np.array([[5, 0, 3], [1, 2, 4]]))
    assert tables.records["deck"][:, :3].tolist() == [[5, 0, 3], [1, 2, 4]]
    tables.deal(np.array([1]), decks=np.array([[0, 1, 2]]))
    assert tables.records["deck"][:, :3].tolist() == [[5, 0, 3], [0, 1, 2]]
    tables.deal()  # random decks hold each card once
    assert np.sort(tables.records["deck"][:, :6]).tolist() == [list(range(6))] * 2


@pytest.mark.parametrize(
    ("deck", "variants", "message"),
    [
        ([51] * 9, 0, r"\[51, .*, 51\] is not 9 different cards of 0 to 51"),
        ([0, 1, 2], 0, "is not 9 different cards of 0 to 51"),
        ([*range(1, 9), 52], 0, "is not 9 different cards of 0 to 51"),
        ([*range(9)], 1, "variants: not all are in 0 to 0"),
    ],
)
def test_deal_refuses_invalid_decks_and_variants(deck, variants, message):
    tables = Tables(game("limit_holdem"), 1, seed=5)
    before = tables.records.copy()
    with pytest.raises(ValueError, match=message):
        tables.deal(decks=np.array([deck]), variants=variants)
    assert tables.records.tobytes() == before.tobytes()


def test_cards_of_a_table_do_not_depend_on_other_tables():
    """Table i gets the same cards in a batch of any size, or dealt alone and in any order."""
    batch = Tables(game("limit_holdem"), 8, seed=8)
    one_by_one = Tables(game("limit_holdem"), 8, seed=8)
    larger_batch = Tables(game("limit_holdem"), 20, seed=8)
    for _ in range(3):
        batch.deal()
        larger_batch.deal()
        for row in (5, 2, 7, 0, 1, 6, 4, 3):
            one_by_one.deal(np.array([row]))
        assert batch.records.tobytes() == one_by_one.records.tobytes()
        assert batch.records.tobytes() == larger_batch.records[:8].tobytes()


@pytest.mark.parametrize("name", ["leduc", "limit_holdem"])
def test_serial_and_parallel_loops_agree(name, monkeypatch):
    """Numba's threads change nothing, because each table has its own random state."""

    def run():
        tables, moves = play(game(name), 200, seed=11)
        observations = [tables.observe(move.rows) for move in moves]
        results = tables.records, tables.payoffs(), tables.infoset_keys(), *observations
        return [array.tobytes() for array in results]

    serial = run()
    monkeypatch.setattr(tables_module, "MIN_PARALLEL_ROWS", 1)
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)
    assert run() == serial


class AutoresetTables:
    """Tables whose hands are dealt again as soon as they end."""

    def __init__(self, name, count, seed):
        self.tables = deal_tables(game(name), count, seed)
        definition = self.tables.game
        self.observations = np.zeros((count, definition.observation_size), definition.feature_dtype)
        self.masks = self.tables.legal_mask()
        self.won = np.zeros((count, definition.seats), np.int64)
        self.over = np.zeros(count, np.uint8)
        self.seats = np.zeros(count, np.int64)

    def advance(self, actions):
        self.tables.step_autoreset(
            actions, self.seats, self.observations, self.masks, self.won, self.over
        )


@pytest.mark.parametrize("name", KINDS)
def test_step_autoreset_equals_step_payoffs_and_deal(name):
    generator = np.random.default_rng(12)
    autoreset = AutoresetTables(name, 100, seed=13)
    tables = deal_tables(game(name), 100, seed=13)
    hands = 0
    for _ in range(120):
        actions = (generator.random(autoreset.masks.shape) * autoreset.masks).argmax(1)
        autoreset.advance(actions)
        tables.step(actions)
        finished = np.flatnonzero(tables.records["over"])
        hands += len(finished)
        assert np.flatnonzero(autoreset.over).tolist() == finished.tolist()
        assert (autoreset.won[finished] == tables.payoffs(finished)).all()
        tables.deal(finished)
        assert (autoreset.seats == tables.records["to_act"]).all()
        assert (autoreset.observations == tables.observe()).all()
        assert (autoreset.masks == tables.legal_mask()).all()
        assert (autoreset.tables.records["deck"] == tables.records["deck"]).all()
    assert hands > 100


@pytest.mark.parametrize("name", KINDS)
def test_resample_hidden_cards_keeps_the_information_set(name):
    definition = game(name)
    records = play_records(definition, 20, seed=8)
    before = tables_from_records(definition, records)
    after = tables_from_records(definition, records.copy())
    after.resample_hidden_cards()
    assert (after.infoset_keys() == before.infoset_keys()).all()
    assert (after.legal_mask() == before.legal_mask()).all()
    assert (after.observe() == before.observe()).all()
    assert (after.observe_hidden_cards() != before.observe_hidden_cards()).any(1).mean() > 0.2
    # Resampling depends on the random state, but not on what the hidden cards were before.
    repeated = tables_from_records(definition, after.records.copy())
    for field in ("key", "draws"):
        repeated.records[field] = records[field]
    repeated.resample_hidden_cards()
    assert (repeated.observe_hidden_cards() == after.observe_hidden_cards()).all()


def test_resample_hidden_cards_is_uniform_in_holdem():
    count = 47_000
    tables = deal_tables(game("limit_holdem"), seed=9)
    tables.replay(np.ones((1, 3), int), np.array([3]))  # calls; seat 1 is to act on the flop
    assert (tables.records["to_act"], tables.records["street"]) == (1, 1)
    known = tables.records["deck"][0, [2, 3, 4, 5, 6]]
    copies = tables_from_records(tables.game, tables.records.repeat(count))
    copies.records["draws"] += np.arange(count, dtype=np.uint64) << np.uint64(8)
    copies.resample_hidden_cards()
    decks = copies.records["deck"][:, :9]
    assert (decks[:, 2:7] == known).all()
    for column in decks[:, [0, 1, 7, 8]].T:
        counts = np.bincount(column, minlength=52)
        assert not counts[known].any()
        assert abs(compute_chi_square_excess(np.delete(counts, known), count / 47)) < 4


VIEW_METHODS = ("observe", "observe_hidden_cards", "legal_mask", "infoset_keys")


@pytest.mark.parametrize("name", ["kuhn", "leduc", "limit_holdem_2to9", "nolimit_leduc"])
def test_table_packer_restores_every_decision_of_a_hand(name):
    definition = game(name)
    packer, tables = TablePacker(definition), deal_tables(definition, 50)
    generator = np.random.default_rng(0)
    views_by_move, rows, decision_count = [], np.arange(50), 0
    while len(rows):
        legal = tables.legal_mask(rows)
        views = {method: getattr(tables, method)(rows) for method in VIEW_METHODS}
        views_by_move.append((rows, views))
        action = sample_from_probs(legal / legal.sum(1, keepdims=True), generator.random(len(rows)))
        tables.step(action, rows)
        rows = rows[tables.records["over"][rows] == 0]
    packed = packer.pack(tables.records)
    assert packed.shape == (50, packer.row_bytes)
    for moves, (rows, views) in enumerate(views_by_move):
        unpacked = packer.unpack_tables(packed[rows], np.full(len(rows), moves))
        for method in VIEW_METHODS:
            np.testing.assert_array_equal(getattr(unpacked, method)(), views[method])
        assert not unpacked.records["over"].any()
        decision_count += len(rows)
        next_actions = packer.get_next_actions(packed[rows], np.full(len(rows), moves))
        np.testing.assert_array_equal(next_actions, tables.records["line"][rows, moves])
    end = packer.unpack_tables(packed, tables.records["moves"])
    assert end.records["over"].all()
    np.testing.assert_array_equal(end.payoffs(), tables.payoffs())
    assert decision_count > 100


LIMIT_2TO9, NO_LIMIT_2TO9 = game("limit_holdem_2to9"), game("nolimit_holdem_2to9")
SEAT_COUNTS = range(2, 10)


def test_seat_counts_are_equally_likely():
    tables = Tables(LIMIT_2TO9, 80_000, seed=1)
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


@pytest.mark.parametrize("seats", SEAT_COUNTS)
@pytest.mark.parametrize("variable_game", [LIMIT_2TO9, NO_LIMIT_2TO9], ids=["limit", "no-limit"])
def test_variable_seat_table_plays_like_its_fixed_seat_game(variable_game, seats):
    """Observations are equal at each move, except for the features of empty seats."""
    definition = variable_game.variant_games[seats - 2]
    finished, moves = play(definition, 200, seed=seats)
    decks = finished.records["deck"][:, : definition.cards_dealt]
    variable = deal_tables(variable_game, 200, decks=decks, variants=seats - 2)
    fixed = deal_tables(definition, 200, decks=decks)
    for move in moves:
        assert (variable.records["to_act"][move.rows] == move.records["to_act"]).all()
        assert (variable.legal_mask(move.rows) == move.legal).all()
        check_observations(definition, fixed.observe(move.rows), variable.observe(move.rows))
        hidden_cards = variable.observe_hidden_cards(move.rows)
        width = definition.hidden_card_size
        assert (hidden_cards[:, :width] == fixed.observe_hidden_cards(move.rows)).all()
        assert not hidden_cards[:, width:].any()
        variable.step(move.actions, move.rows)
        fixed.step(move.actions, move.rows)
    won = variable.payoffs()
    assert (won[:, :seats] == finished.payoffs()).all()
    assert not won[:, seats:].any()


def check_observations(definition, fixed, padded):
    """Layout: [seats, 4 streets, raise counts, raise/call/fold], 4 x 52 for cards, then chips."""
    seats, levels = definition.seats, int(definition.definitions["raise_levels"][0])
    kinds = 2 if seats == 2 else 3
    actions, cards, chips = np.split(padded, [9 * 4 * levels * 3, 9 * 4 * levels * 3 + 208], axis=1)
    size = seats * 4 * levels * kinds
    fixed_actions, fixed_cards, fixed_chips = np.split(fixed, [size, size + 208], axis=1)
    assert (cards == fixed_cards).all()
    actions = actions.reshape(len(fixed), 9, 4, levels, 3).copy()
    empty = actions[:, seats:]
    assert (empty[:, :, 0, 0, 2] == 1).all()
    assert empty.sum() == empty[:, :, 0, 0, 2].size
    occupied = actions[:, :seats, ..., :kinds]
    assert (occupied == fixed_actions.reshape(*occupied.shape)).all()
    if fixed_chips.size:  # chips of each seat, then of the pot
        assert (chips[:, : 3 * seats] == fixed_chips[:, :-3]).all()
        assert not chips[:, 3 * seats : -3].any()
        assert (chips[:, -3:] == fixed_chips[:, -3:]).all()


def test_variable_seats_and_big2_refuse_unsupported_operations():
    assert count_nodes(LIMIT_2TO9, 10) > 10
    message = r"^game: limit_holdem_2to9 samples its definition .*not enumerated$"
    with pytest.raises(ConfigError, match=message):
        get_tree(LIMIT_2TO9)
    with pytest.raises(ConfigError, match="samples its seats"):
        LIMIT_2TO9.list_deals()
    with pytest.raises(ConfigError, match="tables of big2 do not keep their actions"):
        TablePacker(game("big2"))


def test_match_rotates_players_over_the_seats_of_each_deal():
    # In a rotation through all seats, a player that always folds loses each blind once: 3 chips.
    players = [load_player("fold", LIMIT_2TO9), *[load_player("raise", LIMIT_2TO9)] * 8]
    blocks = play_deals(LIMIT_2TO9, players, 400, seed=1)
    np.testing.assert_allclose(blocks.sum(1), 0, atol=1e-12)
    seats = -3 / blocks[:, 0]
    np.testing.assert_allclose(seats, np.round(seats))
    assert set(np.round(seats)) == set(SEAT_COUNTS)
    # Players without a seat win nothing.
    assert not blocks[np.arange(9) >= np.round(seats)[:, None]].any()


def act_uniformly(rows):
    probs = rows.mask / rows.mask.sum(1, keepdims=True)
    uniform = np.random.default_rng(0).random(len(probs))
    return sample_from_probs(probs, uniform), np.zeros(len(probs))


def test_rollout_always_seats_the_only_learner():
    caller = single_opponent(load_player("call", LIMIT_2TO9))
    rollout = Rollout(LIMIT_2TO9, 20_000, 0, opponents=caller, seating="shuffled")
    batch = rollout.play_full_hands(act_uniformly)
    assert (batch.agent == 0).all()
    assert (np.bincount(batch.table, minlength=20_000) > 0).all()  # a decision in every hand
    seats, seat = rollout.tables.gather_definitions()["seats"], rollout.agent_of_seat.argmin(1)
    assert (batch.seat == seat[batch.table]).all()
    assert (np.sort(rollout.agent_of_seat, axis=1) == np.arange(9)).all()
    for n in SEAT_COUNTS:  # tolerance: five standard deviations
        counts = np.bincount(seat[seats == n], minlength=n)
        assert (np.abs(counts - counts.mean()) < 5 * np.sqrt(counts.mean())).all()
