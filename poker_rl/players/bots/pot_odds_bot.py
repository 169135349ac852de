"""Bot that estimates its equity against the ranges of its opponents and compares it with pot odds.

Equity is the share of the pot that a seat wins on average if all remaining hands go to the
showdown; `range_equity` says how it is sampled. A range shrinks with the opponent's raises.

The bot bets if its equity is large compared with an even share of the pot among the live seats.
Else it calls if its equity exceeds the pot odds by a margin. All settings are our choice.

Random numbers depend only on the seed and the information set, so the bot is a fixed policy.
"""

# The arguments of the compiled functions are NumPy records, which have no type for mypy.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from poker_rl.config.validation import (
    ConfigError,
    NonNegativeFloat,
    PositiveFloat,
    PositiveShare,
    Probability,
    Range,
    Seed,
)
from poker_rl.games.game import Game, jit
from poker_rl.games.poker.betting import (
    CALL,
    FOLD,
    RAISE,
    compute_min_raise_to,
    compute_pot_after_call,
    compute_sized_raise_to,
)
from poker_rl.games.poker.record_dtypes import has_stacks, is_no_limit
from poker_rl.games.poker.suit_isomorphism import sort_suits
from poker_rl.games.tables import copy_records
from poker_rl.players.bots.holdem_bot import BET, HoldemBot, to_one_hot_choices
from poker_rl.players.bots.range_equity import estimate_equities
from poker_rl.players.bots.starting_hand_bots import compute_chen_percentiles

SampleCount = Annotated[int, Range(1, 1e6)]
Margin = Annotated[float, Range(-1, 1)]


@dataclass(kw_only=True)
class PotOddsBot(HoldemBot):
    """Bot that bets with a large equity, calls if the pot odds allow it and folds the rest.

    `share_after_raises` has the share of hands in an opponent's range after 0, 1, 2 ... raises; the
    last share is also used after more raises. Raises before the flop and later ones are counted
    separately. With probability `any_hand_prob`, an opponent's hand is sampled from all hands,
    however often the opponent raised. The bot bets if its equity times the number of live seats is
    at least `bet_threshold`, and calls if its equity exceeds the pot odds by `call_margin`.

    A no-limit bet is the legal raise that is nearest to the share `bet_pot_share` of the pot after
    calling. A bet of at least the share `all_in_share` of the seat's chips becomes all-in.
    """

    share_after_raises: list[PositiveShare]
    any_hand_prob: Probability
    bet_threshold: NonNegativeFloat
    call_margin: Margin
    bet_pot_share: PositiveFloat
    all_in_share: Probability
    samples: SampleCount
    seed: Seed

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if not self.share_after_raises:
            raise ConfigError("share_after_raises: [] is empty; give shares such as [1.0, 0.5]")
        self._percentiles = compute_chen_percentiles()

    def compute_choice_probs(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        equity, pot_odds = self.estimate_equity(records)
        is_bet = equity * records["live"] >= self.bet_threshold
        is_call = equity >= pot_odds + self.call_margin
        return to_one_hot_choices(np.select([is_bet, is_call], [BET, CALL], FOLD))

    def estimate_equity(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the equity [B] and the pot odds [B] of each seat to act."""
        # Suits are renamed in a copy, so that equivalent situations get equal random numbers.
        tables = self.to_tables(copy_records(records))
        definitions = tables.gather_definitions()
        sort_suits(definitions, tables.records)
        equity, pot_odds = np.empty((2, len(records)))
        shares, seed = np.array(self.share_after_raises), np.uint64(self.seed)
        settings = shares, self.any_hand_prob, self.samples, seed
        infoset_key = np.empty(self._game.infoset_key_size, np.uint8)
        estimate_equities(
            definitions, tables.records, infoset_key, self._percentiles, settings, equity
        )
        compute_pot_odds(definitions, tables.records, pot_odds)
        return equity, pot_odds

    def find_bet_actions(self, records: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
        actions = np.empty(len(records), np.int64)
        definitions = self.to_tables(records).gather_definitions()
        find_nearest_raises(definitions, records, self.bet_pot_share, self.all_in_share, actions)
        return actions


@jit
def compute_pot_odds(definitions, tables, out):
    """Write the chips of a call as a share of the pot that could then be won into `out` [B]."""
    for i in range(len(tables)):
        game, table = definitions[i], tables[i]
        price = np.int64(table.price)
        if has_stacks(table):
            price = min(price, np.int64(game.stack[table.to_act]))
        pot = np.int64(game.dead_pot)
        for seat in range(game.seats):
            pot += min(np.int64(table.paid[seat]), price)
        chips_to_call = price - table.paid[table.to_act]
        out[i] = chips_to_call / (pot + chips_to_call)


@jit
def find_nearest_raises(definitions, tables, bet_pot_share, all_in_share, out):
    """Write into `out` [B] the legal raise nearest to the share `bet_pot_share` of the pot.

    If this raise takes at least the share `all_in_share` of the seat's chips, write all-in.
    """
    for i in range(len(tables)):
        game, table = definitions[i], tables[i]
        out[i] = RAISE
        if is_no_limit(table):
            pot, stack = compute_pot_after_call(game, table), np.int64(game.stack[table.to_act])
            target = np.int64(min(table.price + np.rint(bet_pot_share * pot), stack))
            paid = table.paid[table.to_act]
            if target - paid >= all_in_share * (stack - paid):
                target = stack
            if game.sizes == 0:
                out[i] = max(target, compute_min_raise_to(game, table))
            least_difference = np.inf
            for size in range(game.sizes):
                difference = abs(compute_sized_raise_to(game, table, size, pot) - target)
                # Of bet sizes with the same number of chips, only the first is legal.
                if difference < least_difference:
                    out[i], least_difference = RAISE + size, difference
