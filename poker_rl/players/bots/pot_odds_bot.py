"""Bot that estimates its equity against the ranges of its opponents and compares it with pot odds.

Equity is the share of the pot that a seat wins on average if all remaining hands go to the
showdown. Each sample deals the board cards to come, and a hand of its range to every opponent that
has not folded. A range contains the best hands; it gets smaller with each raise of the opponent.
For raises before the flop, the best hands are those with the most points by B. Chen's formula; for
later raises, those that are the strongest on the current board. Some of the samples ignore the
ranges, because a raise may also be a bluff or a draw. All settings are our choice.

Random numbers depend only on the seed and the information set, so the bot is a fixed policy.
"""

# The arguments of the compiled functions are NumPy records, which have no type for mypy.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from poker_rl.config.input_checks import (
    ConfigError,
    NonNegativeFloat,
    PositiveFloat,
    PositiveShare,
    Probability,
    Range,
    Seed,
)
from poker_rl.games.cards import MAX_SUITS
from poker_rl.games.game import Game, hash_bytes, jit, random_below, random_uniform
from poker_rl.games.hand_evaluator import evaluate_hand
from poker_rl.games.poker.betting import infoset
from poker_rl.games.poker.suit_isomorphism import sort_suits
from poker_rl.games.poker.table_dtypes import MAX_DECK_SIZE, MAX_HOLE_CARDS, MAX_SEATS, RAISE
from poker_rl.games.tables import copy_records
from poker_rl.players.bet_abstraction_player import compute_raise_targets
from poker_rl.players.bots.fold_call_bet_bot import (
    FoldCallBetBot,
    find_smallest_raises,
    to_one_hot_choices,
)
from poker_rl.players.bots.hole_card_bots import compute_chen_percentiles

# Attempts to sample a hand without dealt cards from a range; if all fail, any hand is dealt.
MAX_TRIES = 50


@dataclass(kw_only=True)
class PotOddsBot(FoldCallBetBot):
    """Bot that bets with a large equity, calls if the pot odds allow it and folds the rest.

    `share_after_raises` lists the share of hands that are in an opponent's range after 0, 1, 2 ...
    of its raises; the last entry also applies after more raises. Raises before the flop and later
    ones are counted separately. With probability `any_hand_prob`, an opponent's hand is sampled
    from all hands instead of the range. `samples` is the number of deals for each estimate.
    The bot bets if its equity times the number of live seats is at least `bet_threshold`, and calls
    if its equity is at least the pot odds plus `call_margin`.

    In no-limit games the bot raises by `bet_pot_share` times the pot after calling, or by the
    nearest legal amount. If this takes at least the share `all_in_share` of its remaining chips, it
    goes all-in instead.
    """

    share_after_raises: list[PositiveShare]
    any_hand_prob: Probability
    bet_threshold: NonNegativeFloat
    call_margin: Annotated[float, Range(-1, 1)]
    bet_pot_share: PositiveFloat
    all_in_share: Probability
    samples: Annotated[int, Range(1, 1e6)]
    seed: Seed

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if not self.share_after_raises:
            raise ConfigError("share_after_raises: [] is empty; give shares such as [1.0, 0.5]")
        self._percentiles = compute_chen_percentiles()
        # `sort_suits` is only complete in games whose first street deals no board cards.
        self.is_suit_invariant = not game.definitions["shown"][:, 0].any()

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        equity, pot_odds = self.estimate_equity_and_pot_odds(records)
        is_bet = equity * records["live"] >= self.bet_threshold
        return to_one_hot_choices(is_bet, equity >= pot_odds + self.call_margin)

    def estimate_equity_and_pot_odds(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the estimated equity [B] and the pot odds [B] of the seat to act at each table.

        The pot odds are the chips of a call divided by the pot after the call.
        """
        # Sort the suits of a copy, so that tables that differ only by a permutation of suits get
        # equal random numbers.
        tables = self.build_tables(copy_records(records))
        definitions = tables.gather_definitions()
        sort_suits(definitions, tables.records)
        equity, infoset_key = np.empty(len(records)), np.empty(self._game.infoset_key_size, "u1")
        scratch = *self.get_seen_cards_and_board_count(tables.records), infoset_key
        shares, seed = np.array(self.share_after_raises), np.uint64(self.seed)
        settings = self._percentiles, shares, self.any_hand_prob, self.samples, seed
        fill_equities_against_ranges(definitions, tables.records, scratch, settings, equity)
        own_paid, stack, paid = self._get_paid_and_stacks(records, definitions)
        price = np.minimum(records["price"], stack)
        chips_to_call = price - own_paid
        pot = definitions["dead_pot"] + np.minimum(paid, price[:, None]).sum(1)
        return equity, chips_to_call / (pot + chips_to_call)

    def choose_bet_actions(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        smallest_raises = find_smallest_raises(legal_mask)
        if not records["raise_by"].shape[1]:  # fixed-limit games have one size
            return smallest_raises
        definitions = self.build_tables(records).gather_definitions()
        own_paid, stack, paid = self._get_paid_and_stacks(records, definitions)
        pot = definitions["dead_pot"] + records["price"] - own_paid + paid.sum(1)
        target = np.minimum(records["price"] + np.rint(self.bet_pot_share * pot), stack)
        is_all_in = target - own_paid >= self.all_in_share * (stack - own_paid)
        target = np.where(is_all_in, stack, target)
        if not definitions["sizes"].any():
            return np.asarray(np.maximum(target.astype(np.int64), smallest_raises))
        raise_targets = compute_raise_targets(self._game, records).astype(float)
        raise_targets[raise_targets == 0] = np.inf  # illegal raises are never the nearest
        return np.asarray(RAISE + np.abs(raise_targets - target[:, None]).argmin(1))

    def _get_paid_and_stacks(
        self, records: np.ndarray, definitions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the chips paid by the seat to act, its stack, and the chips paid by every seat.

        Their shapes are [B], [B] and [B, MAX_SEATS]; columns of seats that a table does not have
        are 0. Stacks are those at the start of the hand, or infinite in games without stacks.
        """
        rows, seat = np.arange(len(records)), records["to_act"]
        is_seat = np.arange(MAX_SEATS) < definitions["seats"][:, None]
        stack = definitions["stack"] if records["able"].shape[1] else np.full(is_seat.shape, np.inf)
        return records["paid"][rows, seat], stack[rows, seat], records["paid"] * is_seat


@jit
def fill_equities_against_ranges(definitions, tables, scratch, settings, equity):
    """Write the equity of each seat to act into `equity` [B].

    `scratch` has the two results of `get_seen_cards_and_board_count` and an array for an
    information-set key; it is overwritten. `settings` are the result of `compute_chen_percentiles`
    and fields of `PotOddsBot`.
    """
    known_cards, board_counts, infoset_key = scratch
    percentiles, share_after_raises, any_hand_prob, samples, seed = settings
    ranges = np.empty((MAX_SEATS, MAX_DECK_SIZE * (MAX_DECK_SIZE - 1) // 2), np.int64)
    range_sizes = np.empty(MAX_SEATS, np.int64)
    raise_counts = np.empty((MAX_SEATS, 2), np.int64)
    hands = np.empty((MAX_SEATS, MAX_HOLE_CARDS), np.int64)
    last = len(share_after_raises) - 1
    for i in range(len(tables)):
        game, table, cards, board_count = definitions[i], tables[i], known_cards[i], board_counts[i]
        infoset(game, table, table.to_act, infoset_key)
        table.key, table.draws = hash_bytes(infoset_key, seed), np.uint64(0)
        hands[0, 0], hands[0, 1] = cards[0], cards[1]
        known_bits = np.int64(0)  # bit c is 1 for a known card c
        for j in range(MAX_HOLE_CARDS + board_count):
            known_bits |= np.int64(1) << cards[j]
        count_raises_by_seat(game, table, raise_counts)
        opponents = 0
        for seat in range(game.seats):
            if seat != table.to_act and not table.folded[seat]:
                preflop_share = share_after_raises[min(raise_counts[seat, 0], last)]
                board_share = share_after_raises[min(raise_counts[seat, 1], last)]
                shares = preflop_share, board_share if board_count else 1.0
                range_sizes[opponents] = select_strongest_range(
                    shares, percentiles, known_bits, cards, board_count, ranges[opponents]
                )
                opponents += 1
        final_count = game.shown[game.streets - 1]
        pot_shares = 0.0
        for _ in range(samples):
            dealt_bits = known_bits
            for opponent in range(opponents):
                range_hands = ranges[opponent][: range_sizes[opponent]]
                dealt_bits = deal_hand_from_range(
                    table, dealt_bits, range_hands, any_hand_prob, hands[1 + opponent]
                )
            for j in range(board_count, final_count):
                cards[MAX_HOLE_CARDS + j] = draw_undealt_card(table, dealt_bits)
                dealt_bits |= np.int64(1) << cards[MAX_HOLE_CARDS + j]
            pot_shares += compute_showdown_share(hands, 1 + opponents, cards, final_count)
        equity[i] = pot_shares / samples


@jit
def count_raises_by_seat(game, table, out):
    """Write each seat's number of raises before the flop and after it into `out` [seats, 2]."""
    blinds = 0
    for seat in range(game.seats):
        out[seat, 0] = out[seat, 1] = 0
        blinds += game.blind_raise_count and game.post[seat] > game.ante
    for i in range(blinds, table.marks):
        cell = table.mark[i]
        if cell % game.type_count == 0:  # the move is a raise
            street_cell = cell // game.type_count // game.raise_levels
            has_board = game.shown[street_cell % game.streets] > 0
            out[street_cell // game.streets, np.int64(has_board)] += 1


@jit
def select_strongest_range(
    shares, percentiles, known_bits, scratch_and_board, board_count, range_out
):
    """Write the hands in a range into `range_out`, hole cards a and b as 52 a + b.

    Return the number of hands; 0 stands for any hand. The range is made in two steps: select the
    share `shares[0]` of all hands that is best before the flop; of these, keep the share
    `shares[1]` that is strongest on the current board. Bit c of `known_bits` is 1 for a known card
    c, which no hand of the range contains. The first two cells of `scratch_and_board` are
    overwritten; the others have the board cards.
    """
    cards = scratch_and_board
    preflop_share, board_share = shares
    if preflop_share == 1 and board_share == 1:
        return 0
    count = 0
    for first in range(1, MAX_DECK_SIZE):
        for second in range(first):
            is_known = (known_bits >> first | known_bits >> second) & 1
            if not is_known and percentiles[first, second] >= 1 - preflop_share:
                range_out[count] = MAX_DECK_SIZE * first + second
                count += 1
    if board_share == 1 or count == 0:
        return count
    strengths = np.empty(count, np.int64)
    for j in range(count):
        cards[0], cards[1] = divmod(range_out[j], MAX_DECK_SIZE)
        strengths[j] = evaluate_hand(cards, MAX_HOLE_CARDS + board_count, MAX_SUITS)
    min_strength = np.sort(strengths)[min(int((1 - board_share) * count), count - 1)]
    strong_hands = range_out[:count][strengths >= min_strength]
    range_out[: len(strong_hands)] = strong_hands
    return len(strong_hands)


@jit
def deal_hand_from_range(table, dealt_bits, range_hands, any_hand_prob, out):
    """Write random hole cards of an opponent into `out`; return `dealt_bits` with their bits set.

    The hole cards are a hand of `range_hands` (see `select_strongest_range`). They are any two
    undealt cards with probability `any_hand_prob`, if `range_hands` is empty, or if each of
    `MAX_TRIES` sampled hands has a dealt card.
    """
    count = len(range_hands)
    if count and random_uniform(table) >= any_hand_prob:
        for _ in range(MAX_TRIES):
            out[0], out[1] = divmod(range_hands[random_below(table, count)], MAX_DECK_SIZE)
            hand = np.int64(1) << out[0] | np.int64(1) << out[1]
            if not dealt_bits & hand:
                return dealt_bits | hand
    for j in range(MAX_HOLE_CARDS):
        out[j] = draw_undealt_card(table, dealt_bits)
        dealt_bits |= np.int64(1) << out[j]
    return dealt_bits


@jit
def draw_undealt_card(table, dealt_bits):
    """Return a random card whose bit in `dealt_bits` is 0."""
    while True:
        card = random_below(table, MAX_DECK_SIZE)
        if not dealt_bits >> card & 1:
            return card


@jit
def compute_showdown_share(hands, hand_count, scratch_and_board, board_count):
    """Return the share of the pot that `hands[0]` wins at a showdown of `hand_count` hands.

    Equal hands divide the pot. See `select_strongest_range` for `scratch_and_board`.
    """
    cards = scratch_and_board
    own_strength = winners = 0
    for i in range(hand_count):
        cards[0], cards[1] = hands[i, 0], hands[i, 1]
        strength = evaluate_hand(cards, MAX_HOLE_CARDS + board_count, MAX_SUITS)
        if i == 0:
            own_strength = strength
        elif strength > own_strength:
            return 0.0
        winners += strength == own_strength
    return 1 / winners
