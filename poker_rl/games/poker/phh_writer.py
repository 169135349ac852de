"""Export of hold'em hands to the PHH format, which PokerKit replays (Kim, arXiv:2312.11753).

PHH lists the players in the order of this project's seats. Fixed limit in PHH allows one more raise
before the flop than the limit hold'em games of this project do. PHH has no unlimited stacks, so a
hand with them is written with stacks one chip larger than the most that a seat can put in. If a pot
does not divide evenly, PokerKit may give the odd chips to other winners; `finishing_stacks` follow
this project's rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from json import dumps
from typing import Any

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.cards import MAX_RANKS, MAX_SUITS, card_name
from poker_rl.games.game import Game
from poker_rl.games.hand_history import HandHistory, replay_hand
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.fixed_limit_poker import FixedLimitPoker
from poker_rl.games.poker.no_limit_poker import NoLimitPoker
from poker_rl.games.poker.poker_game import PokerGame, list_blinds_and_openers
from poker_rl.games.poker.table_dtypes import CALL, FOLD
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
            reason = describe_unsupported_betting_rules(first)
        if reason is None:
            return game
    raise ConfigError(f"{game.name} can't be written as PHH: it {reason}")


def describe_unsupported_betting_rules(game: PokerGame) -> str | None:
    """Return how the bets of hold'em differ from what PHH supports, or None if they don't."""
    blinds = sorted(blind for blind in game.blinds if blind)
    if len(blinds) != 2 or blinds[0] == blinds[1]:
        return "has no small and big blind"
    small, big = blinds
    if [game.blinds, game.openers] != list_blinds_and_openers(small, big, game.seats, 4):
        return "has blinds or openers in other seats"
    if isinstance(game, FixedLimitPoker):
        small_bet, big_bet = game.raise_sizes[0], BIG_BET_FACTOR * game.raise_sizes[0]
        if game.seats > 2 and game.stacks:
            return "is limit with stacks, where half a bet reopens the betting"
        if game.raise_sizes != [small_bet, small_bet, big_bet, big_bet]:
            return "has bets that do not double on the turn"
    return None


def build_phh_stakes(game: PokerGame) -> dict[str, Any]:
    """Return the variant, bets, antes and blinds of a game as PHH fields and their values."""
    fields: dict[str, Any] = {"variant": "FT"}
    if isinstance(game, NoLimitPoker):
        fields = {"variant": "NT", "min_bet": game.min_bet}
    elif isinstance(game, FixedLimitPoker):
        small_bet = game.raise_sizes[0]
        fields |= {"small_bet": small_bet, "big_bet": BIG_BET_FACTOR * small_bet}
    order = -1 if game.seats == 2 else 1  # heads-up, these lists begin with the second player
    return fields | {"antes": game.antes[::order], "blinds_or_straddles": game.blinds[::order]}


def format_phh(game: Game, history: HandHistory, player_names: Sequence[str]) -> str:
    """Return a hand that is over, with the names of its players, as the text of a PHH file."""
    phh_game = check_phh_support(game)
    variant_game = phh_game.variant_games[history.variant]
    records = list(replay_hand(game, history))
    payoffs = tables_from_records(game, records[-1]).payoffs()[0, : variant_game.seats].tolist()
    stacks = variant_game.starting_stacks
    stacks = stacks or [variant_game.max_chips_per_seat + 1] * variant_game.seats
    fields = build_phh_stakes(variant_game) | {
        "starting_stacks": stacks,
        "finishing_stacks": [a + b for a, b in zip(stacks, payoffs, strict=True)],
        "actions": list(iterate_phh_actions(phh_game, history, np.concatenate(records))),
        "players": list(player_names),
    }
    # PHH is TOML, whose numbers, strings and lists have the syntax of JSON here.
    return "".join(f"{key} = {dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())


def iterate_phh_actions(
    phh_game: DisplayedPoker, history: HandHistory, records: np.ndarray
) -> Iterator[str]:
    """Yield deals, actions and shown hands as PHH texts; `records` are from `replay_hand`."""
    game, street = phh_game.variant_games[history.variant], 0
    cards = (card_name(card, game.ranks, game.suits) for card in history.deck)
    sizes = [game.hole_cards] * game.seats + game.board_cards[1:]
    texts = ["".join(islice(cards, size)) for size in sizes]
    hands, board_deals = texts[: game.seats], [f"d db {text}" for text in texts[game.seats :]]
    for seat, hand in enumerate(hands, start=1):
        yield f"d dh p{seat} {hand}"
    for table, after, action in zip(records, records[1:], history.actions, strict=False):
        if table["street"] > street:
            yield from board_deals[street : table["street"]]
            street = int(table["street"])
        seat = int(table["to_act"])
        chips_on_street = int(after["paid"][seat]) - phh_game.compute_price_before_street(table)
        move = {FOLD: "f", CALL: "cc"}.get(action, f"cbr {chips_on_street}")
        yield f"p{seat + 1} {move}"
    if records[-1]["live"] > 1:
        for seat, hand in enumerate(hands):
            if not records[-1]["folded"][seat]:
                yield f"p{seat + 1} sm {hand}"
        # If all-ins end the betting, hands are shown before the rest of the board is dealt.
        yield from board_deals[street:]
