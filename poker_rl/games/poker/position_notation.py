"""Parser of poker positions, which are written as hand, board and actions.

docs/advise.md explains the notation.
"""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import numpy as np

from poker_rl.config.input_checks import ConfigError, error_prefix
from poker_rl.games.cards import parse_cards
from poker_rl.games.hand_history import hand_history_from_record, replay_hand
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.table_dtypes import FOLD, RAISE
from poker_rl.games.tables import Tables

ACTION_PATTERN = re.compile(r"[fckx]|[br](?:\d+[hs]?)?|/")
LETTER_OF_WORD = {"fold": "f", "check": "x", "call": "c", "bet": "b", "raise": "r"}


def parse_position(
    game: DisplayedPoker, seat_count: int | None, hand: str, board: str, actions: str
) -> np.ndarray:
    """Return the table after the given actions, as an array of one record.

    For a class of hands, such as `AKs`, the array has a record for each combination of cards that
    is possible with the board. All cards that are not given are arbitrary.

    Args:
        seat_count: number of players; may be None if the game has a fixed number.
        hand: the hole cards of the seat to act, such as `AsKd`, or a class of hands.
        board: all board cards dealt so far, such as `Qh7d2c`; "" if there are none.
        actions: all actions since the deal, such as `r c / b r`.

    Raises:
        ConfigError: if a text is malformed or does not fit the rules of the game.
    """
    variant = find_variant_index(game, seat_count)
    variant_game = game.variant_games[variant]
    tables = Tables(game, 1, 0)
    tables.deal(decks=np.arange(variant_game.cards_dealt, dtype=np.int8)[None], variants=variant)
    with error_prefix("actions"):
        play_actions_from_text(game, tables, actions)
    board_card_count = sum(variant_game.board_cards[: tables.records["street"][0] + 1])
    hands = list_hand_combinations(variant_game, hand) or [
        parse_card_setting(variant_game, "hand", hand, variant_game.hole_cards)
    ]
    board_cards = parse_card_setting(variant_game, "board", board, board_card_count)
    left = [hole_cards for hole_cards in hands if not set(hole_cards) & set(board_cards)]
    if not left:
        raise ConfigError(f"hand: there is no {hand}{' beside this board' * bool(board_cards)}")
    return copy_table_for_each_hand(game, tables.records[0], np.array(left), board_cards)


def list_hand_combinations(game: PokerGame, text: str) -> list[list[int]] | None:
    """Return all hands of a class, each as a list of cards, or None if the text is not a class.

    Classes are `AK` (any ace and king), `AKs` (suited), `AKo` (offsuit) and `22` (a pair); in games
    with one hole card they are ranks, such as `K`.
    """
    packed, held, suits = "".join(text.split()), game.hole_cards, len(game.suits)
    ranks, kind = sorted(packed[:held]), packed[held:]
    is_class = suits > 1 and len(ranks) == held and set(ranks) <= set(game.ranks)
    if not is_class or kind not in (("", "s", "o") if held == 2 else ("",)):
        return None
    return [
        list(hand)
        for hand in combinations(range(game.deck_size), held)
        if sorted(game.ranks[card // suits] for card in hand) == ranks
        and (kind == "" or (len({card % suits for card in hand}) == 1) == (kind == "s"))
    ]


def format_actions(game: DisplayedPoker, record: np.void) -> str:
    """Return the actions so far in the notation of `parse_position`, such as `r6 c / x b12`."""
    actions, words = tuple(record["line"][: record["moves"]].tolist()), []
    tables = replay_hand(game, hand_history_from_record(game, record, actions))
    for action, ((before,), (after,)) in zip(actions, pairwise(tables), strict=True):
        seat = before["to_act"]
        letters = "fcr" if before["paid"][seat] < before["price"] else "fxb"
        has_amount = action >= RAISE and len(record["raise_by"])
        words.append(letters[min(action, RAISE)] + (str(after["paid"][seat]) if has_amount else ""))
        words += ["/"] * int(after["street"] - before["street"])
    return " ".join(words)


def find_variant_index(game: DisplayedPoker, seat_count: int | None) -> int:
    """Return the index of the definition with `seat_count` seats; None stands for the only one."""
    seat_counts = [variant_game.seats for variant_game in game.variant_games]
    if seat_count is None and len(seat_counts) == 1:
        return 0
    if seat_count not in seat_counts:
        problem = "missing" if seat_count is None else seat_count
        allowed_text = " to ".join(map(str, sorted({seat_counts[0], seat_counts[-1]})))
        raise ConfigError(f"seats: {problem}; {game.name} is played by {allowed_text}")
    return seat_counts.index(seat_count)


def parse_card_setting(game: PokerGame, setting: str, text: str, count: int) -> list[int]:
    """Return the `count` distinct cards in `text`, or raise ConfigError about `setting`."""
    with error_prefix(setting):
        cards = parse_cards(text, game.ranks, game.suits)
        if len(set(cards)) < len(cards):
            raise ConfigError(f"{text!r} has a card twice")
        if len(cards) != count:
            raise ConfigError(f"{text!r} is {len(cards)} of the {count} cards after these actions")
    return cards


def copy_table_for_each_hand(
    game: DisplayedPoker, record: np.void, hole_cards: np.ndarray, board: list[int]
) -> np.ndarray:
    """Return N copies of a table in which the cards are replaced, [N].

    In copy i the seat to act holds row i of `hole_cards` [N, hole]. All copies have the same board.
    All other cards are the lowest ones that remain.
    """
    variant_game = game.get_variant_at_table(record)
    hand_count, hole_card_count = hole_cards.shape
    boards = np.tile(np.array(board, np.int64), (hand_count, 1))
    known_cards = np.concatenate([hole_cards, boards], axis=1)
    start = int(record["to_act"]) * hole_card_count
    board_start = variant_game.seats * hole_card_count
    board_stop = board_start + len(board)
    known_positions = np.r_[start : start + hole_card_count, board_start:board_stop]
    other_positions = np.setdiff1d(np.arange(variant_game.cards_dealt), known_positions)
    is_used = np.zeros((hand_count, variant_game.deck_size), bool)
    np.put_along_axis(is_used, known_cards, True, axis=1)
    unused_first = np.argsort(is_used, axis=1, kind="stable")
    records = np.repeat(np.array([record]), hand_count)
    records["deck"][:, known_positions] = known_cards
    records["deck"][:, other_positions] = unused_first[:, : len(other_positions)]
    return records


def play_actions_from_text(game: DisplayedPoker, tables: Tables, text: str) -> None:
    """Play the actions in `text`; raise ConfigError if one is illegal or if the hand ends."""
    tokens, action_count, slash_count = split_action_text(text), 0, 0
    for token in tokens:
        street = tables.records["street"][0]
        if token == "/":
            slash_count += 1
            if street != slash_count:
                raise ConfigError(f"the / after action {action_count}: no street ends there")
            continue
        action_count += 1
        description = f"action {action_count}, {token}"
        if tables.records["over"][0]:
            raise ConfigError(f"{description}: the hand is over before it")
        if "/" in tokens and street != slash_count:
            raise ConfigError(f"{description}: a new street begins, write a / before it")
        tables.step(np.array([parse_action(game, tables, token, description)]))
    if tables.records["over"][0]:
        raise ConfigError(f"the hand is over after action {action_count}, nobody is to act")


def split_action_text(text: str) -> list[str]:
    """Split a text such as `rc/br` into its actions and slashes, or raise ConfigError."""
    tokens: list[str] = []
    for part in text.replace(",", " ").replace("/", " / ").split():
        letters = ACTION_PATTERN.findall(part)
        if part in LETTER_OF_WORD or part.startswith("raise_"):
            tokens.append(LETTER_OF_WORD.get(part, part))
        elif "".join(letters) == part:
            tokens += letters
        else:
            raise ConfigError(
                f"{part} is no action; write f, c, r or in no-limit r12 (chips over the whole hand)"
                " or r12s (on this street), or words such as fold, and / between streets"
            )
    return tokens


def parse_action(game: DisplayedPoker, tables: Tables, token: str, description: str) -> int:
    """Return the legal action that a token means; raise ConfigError unless there is exactly one."""
    record, legal_mask = tables.records[0], tables.legal_mask()[0]
    raise_targets, facing_bet = game.compute_raise_targets(record), bool(legal_mask[FOLD])
    bet_before_street = game.compute_price_before_street(record)
    matching_actions = []
    for action in np.flatnonzero(legal_mask).tolist():
        names = {game.action_name(action), game.move_name(record, action)}
        if action >= RAISE:
            to = raise_targets[action]
            amounts = ("", str(to), f"{to}h", f"{to - bet_before_street}s")
            names |= {letter + amount for letter in "br"[facing_bet:] for amount in amounts}
        else:
            names |= set("f" if action == FOLD else "c" if facing_bet else "cxk")
        if token in names:
            matching_actions.append(action)
    if len(matching_actions) == 1:
        return int(matching_actions[0])
    problem = "say to how many chips" if matching_actions else "is not allowed here"
    allowed = format_allowed_actions(facing_bet, raise_targets, bet_before_street)
    raise ConfigError(f"{description}: {problem}; allowed: {allowed}")


def format_allowed_actions(
    facing_bet: bool, raise_targets: dict[int, int], bet_before_street: int
) -> str:
    """Return the legal actions as text, such as `f, c, r4 to r20`."""
    targets = sorted(raise_targets.values())
    moves = "f, c" if facing_bet else "c"
    if len(targets) < 2:
        return moves + ", r" * len(targets)

    def format_raises(chips_on_earlier_streets: int, suffix: str) -> str:
        amounts = [f"r{target - chips_on_earlier_streets}{suffix}" for target in targets]
        is_range = targets[-1] - targets[0] == len(targets) - 1
        return f"{amounts[0]} to {amounts[-1]}" if is_range else ", ".join(amounts)

    street_raises = format_raises(bet_before_street, "s")
    street_text = f" over the whole hand, which is {street_raises} on this street"
    return f"{moves}, {format_raises(0, '')}{street_text if bet_before_street else ''}"
