"""AIVAT, which removes luck from results (Burch et al. 2018, arXiv:1612.06915).

For each card dealt, and each action of a player whose policy is known, a term is added to the
result: the expected value of a value function over all cards or actions that were possible, minus
its value for the one that occurred. Given everything that happened before, each term has mean 0. So
the result is unbiased if the value function was not fitted to the hands whose results it adjusts.

A card counts as dealt when it is seen: hole cards before the first action, board cards at their
street, and after an all-in the rest of the board at the end of the hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.evaluation.variance_reduction.pot_equity_value import (
    HOLE_CARDS_UNKNOWN,
    compute_expected_chips_and_equity,
)
from poker_rl.games.game import Game
from poker_rl.games.hand_history import HandHistory, TablePacker, replay_hand
from poker_rl.games.poker import betting
from poker_rl.games.poker.table_dtypes import MAX_STREETS
from poker_rl.games.tables import copy_records, tables_from_records
from poker_rl.players.player import Player, compute_checked_probs

MAX_ROWS_PER_BATCH = 2**16  # tables in a batch; a table of no-limit poker takes 1.5 kB
# The first column of each kind of AIVAT term. A kind has one column for each street, except for the
# board cards after an all-in, which have only one column.
CARD_COLUMN, OWN_ACTION_COLUMN, OTHER_ACTION_COLUMN, ALL_IN_COLUMN = (
    street * MAX_STREETS for street in range(4)
)
COLUMN_COUNT = ALL_IN_COLUMN + 1
MIN_SPREAD = 0.1  # lower bound of a column's standard deviation, in the game's unit or in equity
PRIOR_WEIGHT_DEALS = 30  # the prior counts like 30 deals, because fits to few deals are noisy

ValueFunction = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Function of tables [B] and their numbers of known board cards [B] that returns [B, seats, V]."""


def compute_luck_adjusted_payoff(
    game: Game, history: HandHistory, seat: int, players: Sequence[Player | None]
) -> float:
    """Return what a seat won in a finished hand, adjusted for luck by AIVAT, in chips.

    `players` holds each seat's player, or None if its policy is unknown, such as that of a human.
    """
    *_, record = replay_hand(game, history)
    hands = record, np.array([seat]), players, np.arange(game.seats)[None]
    aivat_terms = compute_aivat_terms(game, *hands)
    payoffs = tables_from_records(game, record).payoffs()
    return float(payoffs[0, seat] + aivat_terms[:, :, 0].sum())


def compute_aivat_terms(
    game: Game,
    records: np.ndarray,
    measured_seat: np.ndarray,
    players: Sequence[Player | None],
    player_by_seat: np.ndarray,
    value_function: ValueFunction | None = None,
) -> np.ndarray:
    """Return the AIVAT terms of hands, to be added to the winnings of the measured seats.

    Args:
        records: tables of the finished hands [B].
        measured_seat: the seat whose winnings are adjusted in each hand, [B].
        players: the players of these hands; None for an unknown policy.
        player_by_seat: index into `players` for each seat of each hand, [B, seats].
        value_function: by default `compute_expected_chips_and_equity`.

    Returns:
        Terms [B, COLUMN_COUNT, V] for the V values of `value_function`. The columns are those from
        `CARD_COLUMN` on: cards, actions of the measured seat, of other seats, cards after all-in.
    """
    check_is_poker(game)
    value_function = value_function or partial(compute_expected_chips_and_equity, game)
    packer, terms = TablePacker(game), []
    row_count = np.cumsum(records["moves"].astype(np.int64)) * game.action_count
    batch_of_hand = row_count // MAX_ROWS_PER_BATCH
    for batch in np.split(np.arange(len(records)), np.flatnonzero(np.diff(batch_of_hand)) + 1):
        hands = records[batch], measured_seat[batch], players, player_by_seat[batch]
        terms.append(_compute_batch_terms(game, packer, *hands, value_function))
    return np.concatenate(terms)


def check_is_poker(game: Game) -> None:
    """Raise `ConfigError` if the game is not poker."""
    if game.rules is not betting:
        raise ConfigError(
            f"variance_reduction: aivat knows how the cards of poker come, not those of {game.name}"
        )


def _compute_batch_terms(
    game: Game,
    packer: TablePacker,
    records: np.ndarray,
    measured_seat: np.ndarray,
    players: Sequence[Player | None],
    player_by_seat: np.ndarray,
    value_function: ValueFunction,
) -> np.ndarray:
    """Return the terms of `compute_aivat_terms` for a batch of B hands with D decisions in all."""

    def compute_values(tables: np.ndarray, board_cards: np.ndarray, hand: np.ndarray) -> np.ndarray:
        """Return values [n, V] at `tables` [n] for the measured seats of the hands `hand` [n]."""
        values = value_function(tables, board_cards)
        return np.asarray(values[np.arange(len(hand)), measured_seat[hand]])

    hand_count = len(records)
    move_counts = records["moves"].astype(np.int64)
    hand_of_decision = np.repeat(np.arange(hand_count), move_counts)  # [D]
    first_decision = np.cumsum(move_counts) - move_counts  # [B]
    move_of_decision = np.arange(len(hand_of_decision)) - first_decision[hand_of_decision]
    packed_rows = packer.pack(records)[hand_of_decision]
    before = copy_records(packer.unpack_tables(packed_rows, move_of_decision).records)
    taken_actions = packer.get_next_actions(packed_rows, move_of_decision)
    street = before["street"].astype(np.int64)
    board_cards_by_street = game.definitions["shown"].astype(np.int64)[records["variant"]]
    board_cards_known = board_cards_by_street[hand_of_decision, street]

    acting_seat = before["to_act"].astype(np.int64)
    acting_player = player_by_seat[hand_of_decision, acting_seat]
    taken = np.arange(len(hand_of_decision)), taken_actions
    # Where a policy is unknown, the action taken gets probability 1, so that its term is 0.
    action_probs = np.zeros((len(hand_of_decision), game.action_count))
    action_probs[taken] = 1
    for player_index, player in enumerate(players):
        is_players = acting_player == player_index
        if player is not None and is_players.any():
            action_probs[is_players] = compute_checked_probs(game, player, before[is_players])
    action_probs[taken] = np.maximum(action_probs[taken], 1e-300)

    decision_of_branch, action_of_branch = np.nonzero(action_probs)
    tables = tables_from_records(game, before[decision_of_branch])
    tables.step(action_of_branch)
    branch_values = compute_values(
        tables.records, board_cards_known[decision_of_branch], hand_of_decision[decision_of_branch]
    )
    weighted_values = action_probs[decision_of_branch, action_of_branch][:, None] * branch_values
    first_branch = np.flatnonzero(np.diff(decision_of_branch, prepend=-1))
    expected_values = np.add.reduceat(weighted_values, first_branch)
    is_taken = action_of_branch == taken_actions[decision_of_branch]
    taken_values = branch_values[is_taken]  # values before the next board cards are dealt
    is_measured_seat = acting_seat == measured_seat[hand_of_decision]
    terms_by_column = np.zeros((hand_count, COLUMN_COUNT, branch_values.shape[1]))
    column = np.where(is_measured_seat, OWN_ACTION_COLUMN, OTHER_ACTION_COLUMN) + street
    np.add.at(terms_by_column, (hand_of_decision, column), expected_values - taken_values)

    records_after = tables.records[is_taken]
    is_over, street_after = records_after["over"] != 0, records_after["street"].astype(np.int64)
    board_cards_after = np.where(
        is_over,
        board_cards_by_street[hand_of_decision].max(1),
        board_cards_by_street[hand_of_decision, street_after],
    )
    dealing_decisions = np.flatnonzero(board_cards_after > board_cards_known)
    dealt_hands = hand_of_decision[dealing_decisions]
    values_after_deal = compute_values(
        records_after[dealing_decisions], board_cards_after[dealing_decisions], dealt_hands
    )
    column = np.where(is_over, ALL_IN_COLUMN, CARD_COLUMN + street_after)[dealing_decisions]
    deal_terms = taken_values[dealing_decisions] - values_after_deal
    np.add.at(terms_by_column, (dealt_hands, column), deal_terms)

    first_deal = before[first_decision], np.full(hand_count, HOLE_CARDS_UNKNOWN)
    terms_by_column[:, CARD_COLUMN] += compute_values(*first_deal, np.arange(hand_count))
    first_deal = before[first_decision], board_cards_by_street[:, 0]
    terms_by_column[:, CARD_COLUMN] -= compute_values(*first_deal, np.arange(hand_count))
    return terms_by_column


def add_fitted_aivat_terms(game: Game, blocks: np.ndarray, deal_terms: np.ndarray) -> np.ndarray:
    """Return winnings `blocks` [deals] plus a weighted sum of their AIVAT terms.

    `deal_terms` [deals, COLUMN_COUNT, 2] are in chips and in equity. Weights are fitted, because
    the value function ignores bets on later streets. With few deals, they stay close to the
    weights of original AIVAT, which are 1 for terms in chips and 0 for terms in equity.
    """
    columns = deal_terms.reshape(len(deal_terms), -1)
    prior = np.tile([1.0, 0.0], COLUMN_COUNT)
    min_spread = np.tile([MIN_SPREAD * game.unit_chips, MIN_SPREAD], COLUMN_COUNT)
    return add_control_variates(blocks, columns, prior, min_spread)


def add_control_variates(
    blocks: np.ndarray, columns: np.ndarray, prior: np.ndarray, min_spread: np.ndarray
) -> np.ndarray:
    """Return blocks [N] plus a weighted sum of control variates, `columns` [N, C].

    The expected value of each column must be 0. The weights for each half of the blocks minimize
    the variance of the other half, so that no weight depends on the results that it adjusts. Ridge
    regression shrinks them towards `prior` [C], the more strongly the fewer blocks there are. A
    column's standard deviation counts as at least `min_spread` [C]. Without this bound, a column
    that hardly varies in one half could get a huge weight and add noise to the other half.
    """
    half = len(blocks) // 2
    adjusted = np.empty(len(blocks))
    for this, other in (slice(half), slice(half, None)), (slice(half, None), slice(half)):
        spread = np.maximum(columns[other].std(0), min_spread)
        scaled_columns = (columns[other] - columns[other].mean(0)) / spread
        residual = blocks[other] - blocks[other].mean() + scaled_columns @ (prior * spread)
        normal_matrix = scaled_columns.T @ scaled_columns + PRIOR_WEIGHT_DEALS * np.eye(len(prior))
        weights = prior - np.linalg.solve(normal_matrix, scaled_columns.T @ residual) / spread
        adjusted[this] = blocks[this] + columns[this] @ weights
    return adjusted
