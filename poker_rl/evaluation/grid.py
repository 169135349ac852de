"""What a player does in hold'em with every starting hand: a grid of 13 x 13.

A pair lies on the diagonal, suited hands above and offsuit ones below it, aces first. A cell is the
mean over the hands of two cards that it stands for and that the board leaves: up to 6 for a pair, 4
for a suited and 12 for an offsuit hand. The player is asked about all of them in one call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from poker_rl.evaluation.style import is_holdem
from poker_rl.games.cards import RANKS, SUITS, parse_cards
from poker_rl.games.game import Game
from poker_rl.games.poker.notation import AnyPoker, OnePoker, at_table, raises, with_cards
from poker_rl.games.poker.scenes import seat_notes
from poker_rl.games.poker.table import CALL, FOLD, RAISE
from poker_rl.games.tables import Tables
from poker_rl.players.player import Player, policy_at

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAINTS = ("\x1b[30;48;5;252m", "\x1b[30;48;5;117m", "\x1b[97;48;5;166m")  # of fold, call, raise
PLAIN = "\x1b[0m"
FLOPS = ("Kd7s2c", "9h8h4c", "AsQs5s")  # dry, with draws, and of one suit
KINDS = 3  # fold, call, raise: raises of all sizes are one


@dataclass(frozen=True)
class Grid:
    """What a player does at one table with every starting hand.

    Attributes:
        title: what the situation is.
        chances: of fold, check or call, and bet or raise, [13, 13, 3], the ace first; NaN where the
            board leaves none of the hands.
        legal: whether each of these three may be done there.
    """

    title: str
    chances: np.ndarray
    legal: tuple[bool, bool, bool]


def has_grid(game: Game) -> bool:
    """Whether it is hold'em with a whole deck."""
    return is_holdem(game) and len(game.ranks) == RANKS and len(game.suits) == SUITS  # type: ignore[attr-defined]


def grid_of(game: AnyPoker, player: Player, record: np.void, board: list[int], title: str) -> Grid:
    """What a player does in the seat to act at a table, with each hand that the board leaves."""
    cards = [card for card in range(RANKS * SUITS) if card not in board]
    hands = np.array(list(combinations(cards, 2)))  # the second card is the higher one
    records = with_cards(game, record, hands, board)
    chances = policy_at(game, player, records)  # [hands, A]
    kinds = np.stack([chances[:, game.kinds == kind].sum(1) for kind in range(KINDS)], axis=1)
    low, high = RANKS - 1 - hands.T // SUITS  # the ace is row 0
    suited = hands[:, 0] % SUITS == hands[:, 1] % SUITS
    cell = np.where(suited, (high, low), (low, high))  # row and column, [2, hands]
    sums, counts = np.zeros((RANKS, RANKS, KINDS)), np.zeros((RANKS, RANKS, 1))
    np.add.at(sums, tuple(cell), kinds)
    np.add.at(counts, tuple(cell), 1)
    tables = Tables(game, 0, 0)
    tables.use(records[:1])
    legal = tables.legal()[0]
    mean = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return Grid(title, mean, (bool(legal[FOLD]), bool(legal[CALL]), bool(legal[RAISE:].any())))


def grid_here(game: AnyPoker, player: Player, record: np.void) -> Grid:
    """The same with the board of the table itself; the title says whose decision it is."""
    played = at_table(game, int(record["variant"]))
    _, cards, line = (*played.infoset_name(record).split(" "), "")[:3]
    board = cards.partition("|")[2]
    first = played.seats * played.hole_cards
    shown = record["deck"][first : first + len(board) // 2].tolist()
    title = seat_name(played, int(record["to_act"]))
    title += f", board {board}" * bool(board) + f", after {line}" * bool(line)
    return grid_of(game, player, record, shown, title)


def plain(grid: Grid, ranks: str) -> dict[str, Any]:
    """For JSON, which has no NaN: None in cells that the board leaves no hand of.

    Args:
        ranks: of the game, the lowest first.
    """
    chances = [
        [None if np.isnan(hand[0]) else hand for hand in row] for row in grid.chances.tolist()
    ]
    return {"ranks": ranks[::-1], "kinds": ["fold", "call", "raise"], "chances": chances}


def hand_name(row: int, column: int, ranks: str) -> str:
    """What a cell stands for: `AA`, `AKs` above the diagonal, `AKo` below it."""
    high, low = sorted((row, column))
    suits = "" if row == column else "s" if row < column else "o"
    return ranks[RANKS - 1 - high] + ranks[RANKS - 1 - low] + suits


def seat_name(game: OnePoker, seat: int) -> str:
    """A seat with what it is to people: `seat 1 (big blind)`."""
    if not game.blinds:
        return f"seat {seat}"
    words = seat_notes(game, seat)
    return f"seat {seat}" + f" ({', '.join(words)})" * bool(words)


def text(grid: Grid, ranks: str, colour: bool) -> str:
    """The grid for a terminal: in each cell what is done most often, and its share in per cent.

    Args:
        colour: paint the cells, by the codes that terminals take (ANSI).
    """
    rows = ["   " + "".join(f"{rank:<4}" for rank in ranks[::-1]).rstrip()]
    for row, chances in enumerate(grid.chances):
        cells = []
        for hand in chances:
            most = 0 if np.isnan(hand[0]) else int(hand.argmax())
            share = "" if hand[most] > 0.995 else f"{100 * hand[most]:.0f}"
            word = ".  " if np.isnan(hand[0]) else f"{'fcr'[most]}{share:<2}"
            cells.append(f"{PAINTS[most]}{word}{PLAIN}" if colour and word[0] != "." else word)
        rows.append(f"{ranks[RANKS - 1 - row]}  " + " ".join(cells).rstrip())
    return "\n".join(rows)


def before_the_flop(game: AnyPoker, variant: int) -> list[list[tuple[str, np.void]]]:
    """Situations that tell a player's opening play: the title of each, and a table in it.

    First, each seat when all before it have folded; then each when the first seat to act has
    raised, by about a pot, and all in between have folded.
    """
    played = at_table(game, variant)
    deck = np.arange(played.dealt, dtype=np.int8)[None]
    tables = Tables(game, 1, 0)
    tables.deal(decks=deck, variants=variant)
    found = [list(_folding(game, tables, "first in"))]
    tables.deal(decks=deck, variants=variant)
    bets, paid = raises(game, tables), tables.records["paid"][0]
    if bets:
        price, opener = int(tables.records["price"][0]), int(tables.records["to_act"][0])
        pot = int(paid.sum()) + sum(played.dead_antes) + price - int(paid[opener])
        tables.step(np.array([min(bets, key=lambda action: abs(bets[action] - price - pot))]))
        to = f"{tables.records['price'][0] / game.unit_chips:g} {game.unit}s"
        found.append(list(_folding(game, tables, f"facing a raise to {to}")))
    return [block for block in found if block]


def _folding(game: AnyPoker, tables: Tables, what: str) -> Iterator[tuple[str, np.void]]:
    """The table as each seat finds it that may fold, when all that do before it have done so."""
    played = at_table(game, int(tables.records["variant"][0]))
    while not tables.records["over"][0] and tables.legal()[0, FOLD]:
        yield (
            f"{seat_name(played, int(tables.records['to_act'][0]))}, {what}",
            tables.records[0].copy(),
        )
        tables.step(np.array([FOLD]))


def on_the_flop(game: AnyPoker, variant: int) -> list[list[tuple[str, list[int], np.void]]]:
    """Situations that tell how a player goes on: the title of each, the board, and a table in it.

    Before the flop all seats fold but the last two, who put in no more than they have to. Then, on
    each of `FLOPS`, the seat that speaks first, and the other one when that has bet half the pot or
    as near to it as may be. None where the second street is not three cards, or where the blinds
    are all-in.
    """
    played = at_table(game, variant)
    if list(played.board_cards[1:2]) != [3]:
        return []
    tables = Tables(game, 1, 0)
    tables.deal(decks=np.arange(played.dealt, dtype=np.int8)[None], variants=variant)
    while tables.records["street"][0] == 0:
        folds = tables.records["live"][0] > 2 and tables.legal()[0, FOLD]
        tables.step(np.array([FOLD if folds else CALL]))
        if tables.records["over"][0]:  # all-in by the blinds
            return []
    first = tables.records[0].copy()
    pot = int(first["paid"].sum()) + sum(played.dead_antes)
    bets, half = raises(game, tables), int(first["price"]) + pot // 2
    situations = [(first, "first to speak")]
    if bets:
        tables.step(np.array([min(bets, key=lambda action: abs(bets[action] - half))]))
        bet = int(tables.records["price"][0] - first["price"]) / game.unit_chips
        situations.append((tables.records[0].copy(), f"facing a bet of {bet:g} {game.unit}"))
    flops = [(flop, parse_cards(flop, game.ranks, game.suits)) for flop in FLOPS]
    return [
        [
            (f"{flop}: {seat_name(played, int(record['to_act']))}, {what}", board, record)
            for flop, board in flops
        ]
        for record, what in situations
    ]


def figures(game: Game, players: Mapping[str, Player]) -> dict[str, Figure]:
    """Figures of each player's play before and on the flop, by name, if the game is hold'em.

    Where the number of seats is drawn, of the fewest and of the most. Of a player of several copies
    the first is drawn.
    """
    if not has_grid(game):
        return {}
    from poker_rl.evaluation.figures import brief  # matplotlib takes a while to import
    from poker_rl.evaluation.grids import draw

    assert isinstance(game, AnyPoker)
    drawn, several = {}, len(game.record) > 1
    for name, player in players.items():
        for variant in sorted({0, len(game.record) - 1}):
            seats = at_table(game, variant).seats
            before: list[list[tuple[str, list[int], np.void]]] = [
                [(where, [], record) for where, record in block]
                for block in before_the_flop(game, variant)
            ]
            flop = on_the_flop(game, variant)
            for key, title, blocks in (
                ("starting_hands", "Starting hands", before),
                ("flop", "On the flop", flop),
            ):
                if not blocks:
                    continue
                grids = [
                    [
                        grid_of(game, player.instance(0), record, board, where)
                        for where, board, record in block
                    ]
                    for block in blocks
                ]
                title += f": {brief(name).replace('_', ' ')}" + (
                    f", {seats} seats" if several else ""
                )
                key += f"_{name}" + (f"_{seats}_seats" if several else "")
                drawn[key] = draw(grids, title, game.ranks)
    return drawn
