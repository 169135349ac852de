"""Export of hold'em hands to the PHH format, which PokerKit replays (Kim, arXiv:2312.11753).

PHH lists the players in the order of this project's seats. Fixed limit in PHH allows one more raise
before the flop than this project does. PHH has no unlimited stacks, so a hand with them is written
with stacks one chip larger than the most that a seat can put in. If a pot does not divide evenly,
PokerKit may give the odd chips to other winners; `finishing_stacks` follow this project's rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import dumps
from typing import Any

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.games.cards import MAX_RANKS, MAX_SUITS, card_name
from poker_rl.games.game import Game
from poker_rl.games.hand_history import HandHistory, replay_hand
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.fixed_limit import FixedLimitPoker
from poker_rl.games.poker.no_limit import NoLimitPoker
from poker_rl.games.poker.poker_game import PokerGame, list_standard_blinds
from poker_rl.games.poker.record_dtypes import CALL, FOLD
from poker_rl.games.tables import tables_from_records

HOLDEM_BOARD_CARDS = [0, 3, 1, 1]
BIG_BET_FACTOR = 2  # a big bet, the raise size from the turn on, is two small bets


def check_phh_support(game: Game) -> DisplayedPoker:
    """Return the game, or raise ConfigError if PHH does not support it."""
    reason: str | None = "is not hold'em with a deck of 52"
    if isinstance(game, DisplayedPoker):
        first = game.variant_games[0]
        cards = len(first.ranks), len(first.suits), first.hole_cards, first.board_cards
        if cards == (MAX_RANKS, MAX_SUITS, 2, HOLDEM_BOARD_CARDS):
            reason = find_unsupported_bets(first)
        if reason is None:
            return game
    raise ConfigError(f"{game.name} can't be written as PHH: it {reason}")


def find_unsupported_bets(game: PokerGame) -> str | None:
    """Return how the bets of hold'em differ from what PHH supports."""
    blinds = sorted(blind for blind in game.blinds if blind)
    if not len(set(blinds)) == 2 == len(blinds):
        return "has no small and big blind"
    if [game.blinds, game.openers] != list_standard_blinds(*blinds, game.seats, 4):
        return "has blinds or openers in other seats"
    if isinstance(game, FixedLimitPoker):
        small, big = game.raise_sizes[0], BIG_BET_FACTOR * game.raise_sizes[0]
        if game.seats > 2 and game.stacks:
            return "is limit with stacks, where half a bet reopens the betting"
        if game.raise_sizes != [small, small, big, big]:
            return "has bets that do not double on the turn"
    return None


def format_phh(game: Game, history: HandHistory, player_names: Sequence[str]) -> str:
    """Return a hand that is over, with the names of its players, as the text of a PHH file."""
    variant_game = check_phh_support(game).variant_games[history.variant]
    records = list(replay_hand(game, history))
    payoffs = tables_from_records(game, records[-1]).payoffs()[0, : variant_game.seats].tolist()
    stacks = variant_game.starting_stacks
    stacks = stacks or [variant_game.max_chips_per_seat + 1] * variant_game.seats
    fields: dict[str, Any] = {"variant": "FT"}
    if isinstance(variant_game, NoLimitPoker):
        fields = {"variant": "NT", "min_bet": variant_game.min_bet}
    elif isinstance(variant_game, FixedLimitPoker):
        small_bet = variant_game.raise_sizes[0]
        fields |= {"small_bet": small_bet, "big_bet": BIG_BET_FACTOR * small_bet}
    # Heads-up, PHH lists the blind and the ante of the second player first.
    order = -1 if variant_game.seats == 2 else 1
    fields |= {
        "antes": variant_game.antes[::order],
        "blinds_or_straddles": variant_game.blinds[::order],
        "starting_stacks": stacks,
        "finishing_stacks": [a + b for a, b in zip(stacks, payoffs, strict=True)],
        "actions": list(
            iterate_phh_actions(variant_game, history, [table[0] for table in records])
        ),
        "players": list(player_names),
    }
    # PHH is TOML, whose numbers, strings and lists have the syntax of JSON here.
    return "".join(f"{key} = {dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())


def iterate_phh_actions(
    game: PokerGame, history: HandHistory, records: Sequence[np.void]
) -> Iterator[str]:
    """Yield the deals, actions and shown hands in PHH; `records` are those of `replay_hand`."""
    cards = [card_name(card, game.ranks, game.suits) for card in history.deck]
    hole_card_texts, deck_position, street = [], game.seats * game.hole_cards, 0
    for seat in range(game.seats):
        start = seat * game.hole_cards
        hole_card_texts.append("".join(cards[start : start + game.hole_cards]))
        yield f"d dh p{seat + 1} {hole_card_texts[-1]}"

    def deal_board_until(stop_street: int) -> Iterator[str]:
        nonlocal deck_position, street
        while street < stop_street:
            street += 1
            count = game.board_cards[street]
            yield f"d db {''.join(cards[deck_position : deck_position + count])}"
            deck_position += count

    chips_before_street = np.zeros(game.seats, np.int64)
    for table, after, action in zip(records, records[1:], history.actions, strict=False):
        if table["street"] > street:
            yield from deal_board_until(int(table["street"]))
            chips_before_street = table["paid"][: game.seats].astype(np.int64)
        elif street == 0:
            chips_before_street[:] = min(game.antes)
        seat = int(table["to_act"])
        if action == FOLD:
            yield f"p{seat + 1} f"
        elif action == CALL:
            yield f"p{seat + 1} cc"
        else:
            yield f"p{seat + 1} cbr {int(after['paid'][seat]) - int(chips_before_street[seat])}"
    final_record = records[-1]
    if final_record["live"] > 1:
        for seat in range(game.seats):
            if not final_record["folded"][seat]:
                yield f"p{seat + 1} sm {hole_card_texts[seat]}"
        # When all seats are all-in, the rest of the board is dealt after the showdown.
        yield from deal_board_until(len(game.board_cards) - 1)
