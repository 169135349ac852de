"""A position at a table of poker from what people write down: cards, board and actions.

The letters are those of the transcripts in `tests/games`; docs/advise.md has all of them.
"""

from __future__ import annotations

import re
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from poker_rl.config.settings import Refused, about
from poker_rl.games.cards import card_name, parse_cards
from poker_rl.games.poker.drawn_seats import DrawnSeats
from poker_rl.games.poker.limit import Poker
from poker_rl.games.poker.no_limit import NoLimit
from poker_rl.games.poker.table import CALL, FOLD, RAISE
from poker_rl.games.tables import Tables

LETTERS = re.compile(r"[fckx]|[br](?:\d+[hs]?)?|/")
AMOUNT = re.compile(r"[br](\d+)([hs]?)")  # chips over the hand (h or nothing), on its street (s)
WORDS = {"fold": "f", "check": "x", "call": "c", "bet": "b", "raise": "r"}
CHECKS, FACING_NOTHING = ("x", "k"), ("x", "k", "b")

OnePoker = Poker | NoLimit
AnyPoker = OnePoker | DrawnSeats


class Bet(NamedTuple):
    """A bet or raise, by the chips that its seat has put in with it."""

    to: int  # over the whole hand, blinds and ante included
    on_street: int  # on its street, blinds included


def position(game: AnyPoker, seats: int | None, hand: str, board: str, actions: str) -> np.ndarray:
    """The table after these actions, an array of one record; the seat to act holds the hand.

    For a class of hands, such as `AKs`, a record for each of its combinations that the board
    leaves. The other seats, and the board that is still to come, have any cards that are left.

    Args:
        seats: dealt in; None where the game fixes them.
        hand: the hole cards of the seat to act, as in `AsKd`, or a class, see `combinations_of`.
        board: the cards face up, as in `Qs7h2c`.
        actions: everything since the deal, as in `r c / b r`.

    Raises:
        Refused: at the first thing that is malformed or against the rules.
    """
    variant = variant_of(game, seats)
    played = at_table(game, variant)
    tables = Tables(game, 1, 0)
    tables.deal(decks=np.arange(played.dealt, dtype=np.int8)[None], variants=variant)
    with about("actions"):
        walk(game, tables, actions)
    shown = sum(played.board_cards[: tables.records["street"][0] + 1])
    hands = combinations_of(played, hand)
    is_class = hands is not None
    if hands is None:
        hands = [cards_of(played, "hand", hand, played.hole_cards, f"{game.name} deals")]
    face_up = cards_of(played, "board", board, shown, "after these actions there are")
    left = [own for own in hands if not set(own) & set(face_up)]
    if not left and is_class:
        raise Refused(f"hand: there is no {hand}{' beside this board' * bool(face_up)}")
    if not left:
        both = next(card for card in face_up if card in hands[0])
        raise Refused(f"board: {named(played, both)} is in the hand too")
    return with_cards(game, tables.records[0], np.array(left), face_up)


def combinations_of(game: OnePoker, text: str) -> list[list[int]] | None:
    """Return the hands of a class: `AK` any ace and king, `AKs` suited, `AKo` offsuit, `22` pairs.

    With one hole card a class is a rank, such as `K`. None if the text is no class.
    """
    packed, held = "".join(text.split()), game.hole_cards
    ranks, kind = sorted(packed[:held]), packed[held:]
    is_class = len(ranks) == held and set(ranks) <= set(game.ranks)
    if len(game.suits) == 1 or not is_class or kind not in (("", "s", "o") if held == 2 else ("",)):
        return None
    hands = [list(hand) for hand in combinations(range(game.cards), held)]
    suits = len(game.suits)
    return [
        hand
        for hand in hands
        if sorted(game.ranks[card // suits] for card in hand) == ranks
        and (kind == "" or (len({card % suits for card in hand}) == 1) == (kind == "s"))
    ]


def bets_before(game: AnyPoker, record: np.void) -> tuple[list[Bet], np.ndarray]:
    """Return the bets and raises of a table so far, and what each seat had put in, [seats], before
    its street began; on the first street that is the ante."""
    played = at_table(game, int(record["variant"]))
    tables = Tables(game, 1, 0)
    tables.deal(decks=record["deck"][None, : played.dealt], variants=int(record["variant"]))
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


def at_table(game: AnyPoker, variant: int) -> OnePoker:
    """The game that a table of this variant plays."""
    return game.games[variant] if isinstance(game, DrawnSeats) else game


def variant_of(game: AnyPoker, seats: int | None) -> int:
    """Which of the game's definitions is played by so many.

    Raises:
        Refused: if none is, or the number is missing.
    """
    if isinstance(game, DrawnSeats):
        if seats is None or not game.fewest_seats <= seats <= game.most_seats:
            given = "missing" if seats is None else f"{seats}"
            least, most = game.fewest_seats, game.most_seats
            raise Refused(f"seats: {given}; {game.name} is played by {least} to {most}")
        return seats - game.fewest_seats
    if seats not in (None, game.seats):
        raise Refused(f"seats: {seats}; {game.name} is played by {game.seats}")
    return 0


def cards_of(game: OnePoker, key: str, text: str, count: int, there_are: str) -> list[int]:
    """So many different cards.

    Raises:
        Refused: if they are others, named as `key`.
    """
    with about(key):
        cards = parse_cards(text, game.ranks, game.suits)
        for i, card in enumerate(cards):
            if card in cards[:i]:
                raise Refused(f"{named(game, card)} is there twice")
        if len(cards) != count:
            raise Refused(
                f"{text!r} is {len(cards)} card{'s' * (len(cards) != 1)}; {there_are} {count}"
            )
    return cards


def named(game: OnePoker, card: int) -> str:
    """A card as people write it."""
    return card_name(card, game.ranks, game.suits)


def with_cards(game: AnyPoker, record: np.void, own: np.ndarray, board: list[int]) -> np.ndarray:
    """Copies [N] of a table whose seat to act holds these cards, [N, hole], with this board.

    All other cards are the lowest that are left.
    """
    played = at_table(game, int(record["variant"]))
    held, first = played.hole_cards, played.seats * played.hole_cards
    known = np.concatenate([own, np.tile(np.array(board, np.int64), (len(own), 1))], axis=1)
    places = [*range(int(record["to_act"]) * held, (int(record["to_act"]) + 1) * held)]
    places += range(first, first + len(board))
    used = np.zeros((len(own), played.cards), bool)
    np.put_along_axis(used, known.astype(np.int64), True, axis=1)
    left = np.argsort(used, axis=1, kind="stable")  # cards that are not used come first
    others = [place for place in range(played.dealt) if place not in places]
    records = np.repeat(np.array([record]), len(own))
    records["deck"][:, places] = known
    records["deck"][:, others] = left[:, : len(others)]
    return records


def walk(game: AnyPoker, tables: Tables, text: str) -> None:
    """Play at a table, in place, what a line of actions says.

    Raises:
        Refused: at the first that can't be read or is illegal, or if the hand is over.
    """
    done, slashes, borders = "at the beginning", 0, "/" in text
    for number, word in enumerate(words_of(text), start=1):
        place = f"the {ordinal(number - slashes)}, {word}" if word != "/" else f"the / {done}"
        over, street = bool(tables.records["over"][0]), int(tables.records["street"][0])
        if over:
            raise Refused(f"{place}: the hand is over before it")
        if word == "/":
            slashes += 1
            if street != slashes:
                what = (
                    "the betting of the street goes on" if street < slashes else "is one too many"
                )
                raise Refused(f"{place}: {what}")
            continue
        if borders and street != slashes:
            raise Refused(f"{place}: it is the first of a new street, write a / before it")
        tables.step(np.array([action_of(game, tables, word, place)]))
        done = f"after the {ordinal(number - slashes)} action"
    if tables.records["over"][0]:
        raise Refused(f"the hand is over {done}, nobody is to act")


def words_of(text: str) -> list[str]:
    """The actions one by one, and the slashes: those of `rc/br` as those of `r c / b r`.

    Raises:
        Refused: at the first that is no action.
    """
    found: list[str] = []
    for part in text.replace(",", " ").replace("/", " / ").split():
        letters = LETTERS.findall(part)
        if part in WORDS or part.startswith("raise_"):
            found.append(WORDS.get(part, part))
        elif "".join(letters) == part:
            found += letters
        else:
            number = sum(word != "/" for word in found) + 1
            raise Refused(
                f"the {ordinal(number)}, {part}: is no action; write f, c, r or in no-limit r12"
                " (chips over the whole hand) or r12s (on this street), or words such as fold, and"
                " / between streets"
            )
    return found


def action_of(game: AnyPoker, tables: Tables, word: str, place: str) -> int:
    """The legal action of the seat to act that a word means.

    Raises:
        Refused: if there is none.
    """
    legal = tables.legal()[0]
    bets = raises(game, tables)
    meant = {
        action
        for action in np.flatnonzero(legal).tolist()
        if word in (game.action_name(action), game.move_name(tables.records[0], action))
    }
    facing = bool(legal[FOLD])
    before = int(bets_before(game, tables.records[0])[1][tables.records["to_act"][0]])
    if word == "f" and facing:
        meant = {FOLD}
    elif word == "c" or (word in CHECKS and not facing):
        meant = {CALL}
    elif word == "r" or (word == "b" and not facing):
        meant = set(bets)
    elif (amount := AMOUNT.fullmatch(word)) and (word[0] == "r" or not facing):
        to = int(amount[1]) + before * (amount[2] == "s")
        meant = {action for action in bets if bets[action] == to}
    if len(meant) == 1:
        return int(meant.pop())
    if meant:
        why = "say to how many chips"
    elif word[0] in "br" and not bets:
        why = "no further raise is allowed here"
    elif word[0] in FACING_NOTHING and facing:
        why = "there is a bet to call already"
    else:
        why = "there is no bet to fold to" if word == "f" else "is not allowed here"
    raise Refused(f"{place}: {why}; allowed: {allowed(legal, bets, before)}")


def raises(game: AnyPoker, tables: Tables) -> dict[int, int]:
    """The chips that the seat to act at the first table will have put in, by legal raise.

    They count over the whole hand, blinds and ante included, as in `infoset_name`.
    """
    actions = RAISE + np.flatnonzero(tables.legal()[0, RAISE:])
    below = Tables(game, 0, 0)
    below.use(np.repeat(tables.records[:1], len(actions)))
    below.step(actions)
    paid = below.records["paid"][:, tables.records["to_act"][0]]
    return dict(zip(actions.tolist(), paid.tolist(), strict=True))


def allowed(legal: np.ndarray, bets: dict[int, int], before: int) -> str:
    """The letters of what the seat to act may do.

    Args:
        before: chips that the seat had put in before this street.
    """
    sizes = sorted(bets.values())

    def written(before: int, ending: str) -> list[str]:
        if len(sizes) > 1 and sizes[-1] - sizes[0] == len(sizes) - 1:
            return [f"r{sizes[0] - before}{ending} to r{sizes[-1] - before}{ending}"]
        return [f"r{to - before}{ending}" for to in sizes]

    some = ["r"] * len(sizes) if len(sizes) < 2 else written(0, "")
    all_of_it = ", ".join(chain(["f"] * bool(legal[FOLD]), "c", some))
    if len(sizes) < 2 or not before:
        return all_of_it
    here = ", ".join(written(before, "s"))
    return f"{all_of_it} over the whole hand, which is {here} on this street"


def ordinal(number: int) -> str:
    """`1st`, `2nd`, as people count."""
    last = 0 if number % 100 in (11, 12, 13) else number % 10
    return str(number) + {1: "st", 2: "nd", 3: "rd"}.get(last, "th")
