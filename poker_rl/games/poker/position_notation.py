"""Parser of poker positions, which are written as hand, board and actions.

The notation is that of the transcripts in `tests/games`; docs/advise.md explains it.
"""

from __future__ import annotations

import re
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from poker_rl.config.validation import ConfigError, error_prefix
from poker_rl.games.cards import card_name, parse_cards
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.record_dtypes import CALL, FOLD, RAISE
from poker_rl.games.tables import Tables, tables_from_records

ACTION_PATTERN = re.compile(r"[fckx]|[br](?:\d+[hs]?)?|/")
# The number is the chips put in during the whole hand (h or no letter) or on the street (s).
AMOUNT_PATTERN = re.compile(r"[br](\d+)([hs]?)")
LETTER_OF_WORD = {"fold": "f", "check": "x", "call": "c", "bet": "b", "raise": "r"}
CHECK_LETTERS = ("x", "k")
NO_BET_LETTERS = (*CHECK_LETTERS, "b")  # allowed only while there is no bet to call


class Bet(NamedTuple):
    """A bet or raise, described by the chips that its seat has put in after it."""

    to: int  # chips put in during the whole hand, with blinds and ante
    on_street: int  # chips put in on this street, with blinds


def parse_position(
    game: DisplayedPoker, seat_count: int | None, hand: str, board: str, actions: str
) -> np.ndarray:
    """Return the table after the given actions, as an array of one record.

    For a class of hands, such as `AKs`, the array has a record for each combination of cards that
    is possible with the board. All cards that are not given are arbitrary.

    Args:
        seat_count: number of players; may be None if the game has a fixed number.
        hand: the hole cards of the seat to act, such as `AsKd`, or a class of hands.
        board: the visible board cards, such as `Qs7h2c`.
        actions: all actions since the deal, such as `r c / b r`.

    Raises:
        ConfigError: for the first thing that is malformed or against the rules.
    """
    variant = find_variant(game, seat_count)
    variant_game = game.variant_games[variant]
    tables = Tables(game, 1, 0)
    tables.deal(decks=np.arange(variant_game.cards_dealt, dtype=np.int8)[None], variants=variant)
    with error_prefix("actions"):
        play_action_text(game, tables, actions)
    board_card_count = sum(variant_game.board_cards[: tables.records["street"][0] + 1])
    hands = list_hand_combinations(variant_game, hand)
    is_class = hands is not None
    if hands is None:
        count, expectation = variant_game.hole_cards, f"{game.name} deals"
        hands = [parse_card_setting(variant_game, "hand", hand, count, expectation)]
    board_cards = parse_card_setting(
        variant_game, "board", board, board_card_count, "after these actions there are"
    )
    left = [hole_cards for hole_cards in hands if not set(hole_cards) & set(board_cards)]
    if not left and is_class:
        raise ConfigError(f"hand: there is no {hand}{' beside this board' * bool(board_cards)}")
    if not left:
        both = next(card for card in board_cards if card in hands[0])
        raise ConfigError(
            f"board: {card_name(both, variant_game.ranks, variant_game.suits)} is in the hand too"
        )
    return copy_with_cards(game, tables.records[0], np.array(left), board_cards)


def list_hand_combinations(game: PokerGame, text: str) -> list[list[int]] | None:
    """Return all hands of a class, each as a list of cards, or None if the text is not a class.

    Classes are `AK` (any ace and king), `AKs` (suited), `AKo` (offsuit) and `22` (a pair); in games
    with one hole card they are ranks, such as `K`.
    """
    packed, held = "".join(text.split()), game.hole_cards
    ranks, kind = sorted(packed[:held]), packed[held:]
    is_class = len(ranks) == held and set(ranks) <= set(game.ranks)
    if len(game.suits) == 1 or not is_class or kind not in (("", "s", "o") if held == 2 else ("",)):
        return None
    hands = [list(hand) for hand in combinations(range(game.deck_size), held)]
    suits = len(game.suits)
    return [
        hand
        for hand in hands
        if sorted(game.ranks[card // suits] for card in hand) == ranks
        and (kind == "" or (len({card % suits for card in hand}) == 1) == (kind == "s"))
    ]


def list_bets(game: DisplayedPoker, record: np.void) -> tuple[list[Bet], np.ndarray]:
    """Return the bets and raises so far, and the chips that each seat put in on earlier streets.

    These chips are an array [seats]; on the first street they are the antes.
    """
    played = game.get_variant_game(record)
    tables = Tables(game, 1, 0)
    tables.deal(decks=record["deck"][None, : played.cards_dealt], variants=int(record["variant"]))
    before = tables.records["paid"][0, : played.seats] - np.array(played.blinds or 0)
    bets = []
    for action in record["line"][: record["moves"]].astype(np.int64):
        seat, street = int(tables.records["to_act"][0]), int(tables.records["street"][0])
        tables.step(np.array([action]))
        paid = tables.records["paid"][0, : played.seats].copy()
        if action >= RAISE:
            bets.append(Bet(int(paid[seat]), int(paid[seat] - before[seat])))
        if tables.records["street"][0] > street:
            before = paid
    return bets, before


def format_actions(game: DisplayedPoker, record: np.void) -> str:
    """Return the actions so far in the notation of `parse_position`, such as `r6 c / x b12`."""
    tables = Tables(game, 1, 0)
    dealt = game.get_variant_game(record).cards_dealt
    tables.deal(decks=record["deck"][None, :dealt], variants=int(record["variant"]))
    words = []
    for action in record["line"][: record["moves"]].astype(np.int64):
        seat, street = int(tables.records["to_act"][0]), int(tables.records["street"][0])
        faces_bet = bool(tables.legal_mask()[0, FOLD])
        tables.step(np.array([action]))
        letters = "fcr" if faces_bet else "fxb"
        amount = str(tables.records["paid"][0, seat]) if len(record["raise_by"]) else ""
        words.append(letters[min(action, RAISE)] + amount * bool(action >= RAISE))
        words += ["/"] * int(tables.records["street"][0] - street)
    return " ".join(words)


def find_variant(game: DisplayedPoker, seat_count: int | None) -> int:
    """Return the index of the definition with `seat_count` seats.

    `seat_count` may be None if the game has a fixed number of seats.
    """
    seat_counts = [variant_game.seats for variant_game in game.variant_games]
    if seat_count is None and len(seat_counts) == 1:
        return 0
    if seat_count not in seat_counts:
        allowed_text = " to ".join(map(str, dict.fromkeys([seat_counts[0], seat_counts[-1]])))
        seats_text = "missing" if seat_count is None else seat_count
        raise ConfigError(f"seats: {seats_text}; {game.name} is played by {allowed_text}")
    return seat_counts.index(seat_count)


def parse_card_setting(
    game: PokerGame, setting: str, text: str, count: int, expectation: str
) -> list[int]:
    """Return the `count` distinct cards in the text of a setting such as hand or board."""
    with error_prefix(setting):
        cards = parse_cards(text, game.ranks, game.suits)
        for i, card in enumerate(cards):
            if card in cards[:i]:
                raise ConfigError(f"{card_name(card, game.ranks, game.suits)} is there twice")
        if len(cards) != count:
            raise ConfigError(
                f"{text!r} is {len(cards)} card{'s' * (len(cards) != 1)}; {expectation} {count}"
            )
    return cards


def copy_with_cards(
    game: DisplayedPoker, record: np.void, hole_cards: np.ndarray, board: list[int]
) -> np.ndarray:
    """Return N copies of a table with other cards, [N].

    The seat to act gets the hole cards [N, hole], and all copies get the same board. All other
    cards are the lowest remaining ones.
    """
    variant_game = game.get_variant_game(record)
    hole_card_count, seat = variant_game.hole_cards, int(record["to_act"])
    board_start = variant_game.seats * hole_card_count
    known_cards = np.concatenate(
        [hole_cards, np.tile(np.array(board, np.int64), (len(hole_cards), 1))], axis=1
    )
    known_positions = list(range(seat * hole_card_count, (seat + 1) * hole_card_count))
    known_positions += range(board_start, board_start + len(board))
    is_used = np.zeros((len(hole_cards), variant_game.deck_size), bool)
    np.put_along_axis(is_used, known_cards.astype(np.int64), True, axis=1)
    unused_first = np.argsort(is_used, axis=1, kind="stable")
    other_positions = [
        position for position in range(variant_game.cards_dealt) if position not in known_positions
    ]
    records = np.repeat(np.array([record]), len(hole_cards))
    records["deck"][:, known_positions] = known_cards
    records["deck"][:, other_positions] = unused_first[:, : len(other_positions)]
    return records


def play_action_text(game: DisplayedPoker, tables: Tables, text: str) -> None:
    """Play the actions of a text at the table; ConfigError if one is illegal or ends the hand."""
    last_played, slash_count, has_slashes = "at the beginning", 0, "/" in text
    for number, token in enumerate(split_action_text(text), start=1):
        token_description = (
            f"the {format_ordinal(number - slash_count)}, {token}"
            if token != "/"
            else f"the / {last_played}"
        )
        if tables.records["over"][0]:
            raise ConfigError(f"{token_description}: the hand is over before it")
        street = int(tables.records["street"][0])
        if token == "/":
            slash_count += 1
            if street < slash_count:
                raise ConfigError(f"{token_description}: the betting of the street is not over")
            if street > slash_count:
                raise ConfigError(f"{token_description}: is one too many")
            continue
        if has_slashes and street != slash_count:
            raise ConfigError(
                f"{token_description}: it is the first of a new street, write a / before it"
            )
        tables.step(np.array([parse_action(game, tables, token, token_description)]))
        last_played = f"after the {format_ordinal(number - slash_count)} action"
    if tables.records["over"][0]:
        raise ConfigError(f"the hand is over {last_played}, nobody is to act")


def split_action_text(text: str) -> list[str]:
    """Split a text such as `r c / b r` or `rc/br` into its actions and slashes."""
    tokens: list[str] = []
    for part in text.replace(",", " ").replace("/", " / ").split():
        letters = ACTION_PATTERN.findall(part)
        if part in LETTER_OF_WORD or part.startswith("raise_"):
            tokens.append(LETTER_OF_WORD.get(part, part))
        elif "".join(letters) == part:
            tokens += letters
        else:
            number = sum(word != "/" for word in tokens) + 1
            raise ConfigError(
                f"the {format_ordinal(number)}, {part}: is no action; write f, c, r or in no-limit"
                " r12 (chips over the whole hand) or r12s (on this street), or words such as fold,"
                " and / between streets"
            )
    return tokens


def parse_action(game: DisplayedPoker, tables: Tables, token: str, token_description: str) -> int:
    """Return the legal action that a token means; raise ConfigError unless there is exactly one."""
    legal_mask = tables.legal_mask()[0]
    raise_targets = map_raises_to_chips(game, tables)
    matching_actions = {
        action
        for action in np.flatnonzero(legal_mask).tolist()
        if token in (game.action_name(action), game.move_name(tables.records[0], action))
    }
    facing_bet = bool(legal_mask[FOLD])
    before = int(list_bets(game, tables.records[0])[1][tables.records["to_act"][0]])
    if token == "f" and facing_bet:
        matching_actions = {FOLD}
    elif token == "c" or (token in CHECK_LETTERS and not facing_bet):
        matching_actions = {CALL}
    elif token == "r" or (token == "b" and not facing_bet):
        matching_actions = set(raise_targets)
    elif (amount := AMOUNT_PATTERN.fullmatch(token)) and (token[0] == "r" or not facing_bet):
        target = int(amount[1]) + before * (amount[2] == "s")
        matching_actions = {action for action in raise_targets if raise_targets[action] == target}
    if len(matching_actions) == 1:
        return int(matching_actions.pop())
    if matching_actions:
        problem = "say to how many chips"
    elif token[0] in "br" and not raise_targets:
        problem = "no further raise is allowed here"
    elif token[0] in NO_BET_LETTERS and facing_bet:
        problem = "there is a bet to call already"
    else:
        problem = "there is no bet to fold to" if token == "f" else "is not allowed here"
    raise ConfigError(
        f"{token_description}: {problem}; allowed:"
        f" {format_allowed_actions(legal_mask, raise_targets, before)}"
    )


def map_raises_to_chips(game: DisplayedPoker, tables: Tables) -> dict[int, int]:
    """Return the chips that the seat to act has put in after each legal raise, keyed by action.

    The raises are those at the first table. Chips count over the whole hand, with blinds and ante.
    """
    actions = RAISE + np.flatnonzero(tables.legal_mask()[0, RAISE:])
    tables_after = tables_from_records(game, np.repeat(tables.records[:1], len(actions)))
    tables_after.step(actions)
    chips_in = tables_after.records["paid"][:, tables.records["to_act"][0]]
    return dict(zip(actions.tolist(), chips_in.tolist(), strict=True))


def format_allowed_actions(
    legal_mask: np.ndarray, raise_targets: dict[int, int], before: int
) -> str:
    """Return the legal actions as text, such as `f, c, r4 to r20`.

    `before` are the chips that the seat to act put in on earlier streets.
    """
    targets = sorted(raise_targets.values())

    def format_raises(before: int, ending: str) -> list[str]:
        if len(targets) > 1 and targets[-1] - targets[0] == len(targets) - 1:
            return [f"r{targets[0] - before}{ending} to r{targets[-1] - before}{ending}"]
        return [f"r{to - before}{ending}" for to in targets]

    raise_texts = ["r"] * len(targets) if len(targets) < 2 else format_raises(0, "")
    all_of_it = ", ".join(chain(["f"] * bool(legal_mask[FOLD]), "c", raise_texts))
    if len(targets) < 2 or not before:
        return all_of_it
    here = ", ".join(format_raises(before, "s"))
    return f"{all_of_it} over the whole hand, which is {here} on this street"


def format_ordinal(number: int) -> str:
    """Return a number as an ordinal, such as `1st` or `2nd`."""
    last_digit = 0 if number % 100 in (11, 12, 13) else number % 10
    return str(number) + {1: "st", 2: "nd", 3: "rd"}.get(last_digit, "th")
