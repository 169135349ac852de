"""Reader of hold'em hands in the PHH format, which PokerKit parses (Kim, arXiv:2312.11753).

A hand is replayed by the rules of a game with the same blinds, bets and stacks in units of the big
blind. Cards that the file does not show are replaced by arbitrary unused ones. Only decisions of
seats whose own cards are known are returned, and none of these seats sees a replacement.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.input_checks import MIB, ConfigError, open_regular_file
from poker_rl.config.plugins import check_optional_packages
from poker_rl.games.cards import parse_cards
from poker_rl.games.game import Game
from poker_rl.games.poker.no_limit_poker import NoLimitPoker
from poker_rl.games.poker.phh_writer import build_phh_stakes, check_phh_support
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.table_dtypes import CALL, FOLD, RAISE
from poker_rl.games.tables import Tables

MAX_PHH_BYTES = 64 * MIB
MAX_AMOUNT_LENGTH = 20  # longest number in a file, in characters
PHH_SUFFIXES = (".phh", ".phhs")
ILLEGAL_ACTION, UNREADABLE = "actions that the game does not allow", "values that can't be read"
FRACTION_OF_CHIP = "amounts that are no whole chips here; round_amounts=true rounds them"
UNREADABLE_ERRORS = (
    *(ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError),
    ConfigError,
)


class UnsupportedHandError(Exception):
    """Error for a hand that the rules of the game can't replay; the text is the reason."""


@dataclass(frozen=True)
class RecordedHand:
    """A hand of a file, replayed by the rules of a game."""

    name: str  # the file and, if it holds several hands, the hand's number
    players: tuple[str, ...]  # name of each seat's player, such as p1 if the file names none
    records: np.ndarray  # the table before each action, [actions]
    actions: np.ndarray  # [actions]
    rounded_amounts: int  # number of raises whose amount was rounded
    has_cards: tuple[bool, ...]  # whether the file shows each seat's hole cards


@dataclass(frozen=True)
class RecordedDecisions:
    """Decisions of seats whose hole cards are known, N in all."""

    hands: list[RecordedHand]
    left_out: dict[str, list[str]]  # for each reason, the names of hands that can't be replayed
    hand: np.ndarray  # index of each decision's hand in `hands`, [N]
    records: np.ndarray  # the table before each decision, [N]
    actions: np.ndarray  # the action chosen at each decision, [N]

    def select(self, mask: np.ndarray) -> RecordedDecisions:
        """Return the decisions for which a mask [N] is True."""
        parts = self.hand[mask], self.records[mask], self.actions[mask]
        return RecordedDecisions(self.hands, self.left_out, *parts)


def read_recorded_decisions(
    path: Path, game: Game, player: str | None = None, round_amounts: bool = False
) -> RecordedDecisions:
    """Return the decisions in a file of hands, or in all such files below a folder.

    Args:
        player: name or number of the player whose decisions are returned; None for all players.
        round_amounts: whether to replace an illegal amount of a raise by the nearest legal one.

    Raises:
        ConfigError: if a file is not in the PHH format, if no hand can be replayed by the rules of
            the game, if no file has a decision of the player, or if PokerKit is not installed.
    """
    check_optional_packages("review", str(path), "pokerkit")
    check_phh_support(game)
    hands: list[RecordedHand] = []
    left_out: dict[str, list[str]] = {}
    for name, history in iterate_histories(path):
        try:
            hands.append(replay_history(game, name, history, round_amounts))
        except UnsupportedHandError as error:
            left_out.setdefault(str(error), []).append(name)
    if not hands:
        reasons = "; ".join(f"{reason}: {len(names)}" for reason, names in left_out.items())
        raise ConfigError(f"{path} has no hand of {game.name} (left out: {reasons})")
    names = {name for hand in hands for name in hand.players}

    def is_reviewed(hand: RecordedHand, seat: int) -> bool:
        labels = (f"p{seat + 1}", str(seat + 1)) if player not in names else ()
        return hand.has_cards[seat] and player in (None, hand.players[seat], *labels)

    mask = [is_reviewed(hand, seat) for hand in hands for seat in hand.records["to_act"].tolist()]
    if not any(mask):
        raise ConfigError(
            f"{path} has no decision of {player or 'a player'} with known cards; players:"
            f" {', '.join(sorted(names)[:20])}"
        )
    hand_index = np.repeat(np.arange(len(hands)), [len(hand.actions) for hand in hands])
    records = np.concatenate([hand.records for hand in hands])
    actions = np.concatenate([hand.actions for hand in hands])
    return RecordedDecisions(hands, left_out, hand_index, records, actions).select(np.array(mask))


def iterate_histories(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the name and PokerKit's history of each hand in a file, or in all files of a folder."""
    from pokerkit import HandHistory

    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in PHH_SUFFIXES)
        if not files:
            raise ConfigError(f"{path} has no file {' or '.join(PHH_SUFFIXES)}")
    for file in files:
        has_many = file.suffix == PHH_SUFFIXES[1]
        load: Any = HandHistory.loads_all if has_many else HandHistory.loads
        try:
            with open_regular_file(file, MAX_PHH_BYTES) as opened, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PokerKit warns of fields that PHH does not list
                loaded = load(opened.read().decode(), parse_value=_parse_amount)
                histories = list(loaded) if has_many else [loaded]
                if not histories:
                    raise ValueError("no hand")
        except FileNotFoundError:
            raise ConfigError(f"{file}: no such file") from None
        except UNREADABLE_ERRORS:
            raise ConfigError(f"{file} is no hand history in the format PHH") from None
        for number, history in enumerate(histories, start=1):
            yield f"{file} {number}" if has_many else str(file), history


def replay_history(game: Game, name: str, history: Any, round_amounts: bool) -> RecordedHand:
    """Replay a hand by the rules of a game; raise UnsupportedHandError if that can't be done."""
    phh_game, rounded = check_phh_support(game), 0
    variant_games = phh_game.variant_games
    records: list[np.void] = []
    actions: list[int] = []
    try:
        if history.variant != build_phh_stakes(variant_games[0])["variant"]:
            raise UnsupportedHandError(f"variant {history.variant}")
        seats = len(history.starting_stacks)
        seat_counts = [variant_game.seats for variant_game in variant_games]
        if seats not in seat_counts:
            raise UnsupportedHandError(f"{seats} seats")
        variant = seat_counts.index(seats)
        variant_game, tables = variant_games[variant], Tables(game, 1, 0)
        unit = _find_amount_per_chip(variant_game, history)
        steps = [str(step).partition("#")[0].split() for step in history.actions]
        deck, has_cards, known_board_count = _read_deck_and_shown_cards(variant_game, steps)
        shown_counts = np.cumsum(variant_game.board_cards)
        players = [str(player) for player in history.players or ()][:seats]
        players += [f"p{seat + 1}" for seat in range(len(players), seats)]
        tables.deal(decks=deck[None], variants=variant)
        for words in steps:
            if words[1:2] not in (["f"], ["cc"], ["cbr"]):
                continue
            record, legal_mask = tables.records[0].copy(), tables.legal_mask()[0]
            seat, action = int(record["to_act"]), {"f": FOLD, "cc": CALL}.get(words[1], RAISE)
            if record["over"] or _parse_seat(words[0], seats) != seat:
                raise UnsupportedHandError(ILLEGAL_ACTION)
            if shown_counts[record["street"]] > known_board_count:
                raise UnsupportedHandError("board cards that the file does not show")
            target = None
            if action == RAISE:
                matched_earlier = phh_game.compute_price_before_street(record)
                target = Fraction(_parse_amount(words[2])) / unit + matched_earlier
                if isinstance(variant_game, NoLimitPoker):  # the action is a chip count
                    action = _choose_raise(legal_mask, target, round_amounts)
                    rounded, target = rounded + (action != target), Fraction(action)
            if not legal_mask[action]:
                raise UnsupportedHandError(ILLEGAL_ACTION)
            tables.step(np.array([action]))
            if target is not None and tables.records["paid"][0, seat] != target:
                raise UnsupportedHandError(ILLEGAL_ACTION)
            records.append(record)
            actions.append(action)
    except UNREADABLE_ERRORS:
        raise UnsupportedHandError(UNREADABLE) from None
    if not actions:
        raise UnsupportedHandError("no actions")
    table_records = np.array(records, tables.records.dtype)
    return RecordedHand(name, tuple(players), table_records, np.array(actions), rounded, has_cards)


def _parse_amount(value: Any) -> Any:
    """Return a value as a fraction; infinity, for a stack of unknown size, is returned as a float.

    Raise ValueError if its text is long or has an exponent: such a number could fill the memory.
    """
    text = str(value)
    if len(text) > MAX_AMOUNT_LENGTH or "e" in text.lower():
        raise ValueError(f"no amount: {text[:MAX_AMOUNT_LENGTH]}")
    return inf if text == "inf" else Fraction(text)


def _find_amount_per_chip(game: PokerGame, history: Any) -> Fraction:
    """Return the amount in the file that is worth one chip of the game.

    Raise UnsupportedHandError if the blinds, antes, bets or stacks of the file are other ones.
    """
    unit: Fraction = _parse_amount(max(history.blinds_or_straddles)) / max(game.blinds)
    stakes = build_phh_stakes(game)
    del stakes["variant"]
    if game.starting_stacks is not None:
        stakes["starting_stacks"] = game.starting_stacks
    elif _parse_amount(min(history.starting_stacks)) < game.max_chips_per_seat * unit:
        raise UnsupportedHandError("other starting stacks")
    for name, chips in stakes.items():
        recorded = [_parse_amount(amount) / unit for amount in np.ravel(getattr(history, name))]
        if recorded != np.ravel(chips).tolist():
            raise UnsupportedHandError(f"other {name.replace('_', ' ')}")
    return unit


def _read_deck_and_shown_cards(
    game: PokerGame, steps: list[list[str]]
) -> tuple[np.ndarray, tuple[bool, ...], int]:
    """Return the cards in the order dealt, and which of them the file shows.

    The second value has a flag for each seat whose hole cards are shown; the third is the number of
    board cards before the first that is not shown.
    """
    deck, board_start = np.full(game.cards_dealt, -1), game.seats * game.hole_cards
    for words in steps:
        match words:
            case ["d", "db", text]:
                start, board_start = board_start, board_start + len(text) // 2
            case ["d", "dh", player, text] | [player, "sm", text] if text != "-":
                start = _parse_seat(player, game.seats) * game.hole_cards
            case _:
                continue
        if "?" not in text:
            cards = parse_cards(text, game.ranks, game.suits)
            deck[start : start + len(cards)] = cards
    known_cards = deck[deck >= 0]
    if len(set(known_cards.tolist())) != len(known_cards):
        raise UnsupportedHandError("a card that is dealt twice")
    shown_hole_cards, shown_board_cards = np.split(deck >= 0, [game.seats * game.hole_cards])
    known_board_count = int(np.cumprod(shown_board_cards).sum())
    deck[deck < 0] = np.setdiff1d(np.arange(game.deck_size), known_cards)[: (deck < 0).sum()]
    has_cards = tuple(bool(seat.all()) for seat in shown_hole_cards.reshape(game.seats, -1))
    return deck, has_cards, known_board_count


def _parse_seat(word: str, seats: int) -> int:
    """Return the seat of a player such as p1; raise ValueError for another word."""
    return [f"p{seat + 1}" for seat in range(seats)].index(word)


def _choose_raise(legal_mask: np.ndarray, target: Fraction, round_amounts: bool) -> int:
    """Return the no-limit raise to `target` or, with `round_amounts`, the nearest legal one."""
    legal_targets = (RAISE + np.flatnonzero(legal_mask[RAISE:])).tolist()
    if target in legal_targets:
        return int(target)
    if round_amounts and legal_targets:
        return min(legal_targets, key=lambda legal_target: abs(legal_target - target))
    is_fraction = target.denominator != 1 and not round_amounts
    raise UnsupportedHandError(FRACTION_OF_CHIP if is_fraction else ILLEGAL_ACTION)
