"""Views of poker tables, and the legal moves of the seat to act, for people.

A game with a variable number of seats has a variant, a `PokerGame`, for each number of seats. In
the functions below the class, `game` is the variant with as many seats as the table.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from poker_rl.games.cards import card_name
from poker_rl.games.displayed_table import BetRange, DisplayedGame, LegalMove, SeatView, TableView
from poker_rl.games.poker.display.hand_names import describe_hand
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.table_dtypes import FULL_POT, RAISE

BLIND_NAMES = ("small blind", "big blind")  # from the smallest; larger blinds are straddles
STREET_NAMES = ("preflop", "flop", "turn", "river")
# Names of bet sizes in hundredths of the pot. Where any bet is legal, these sizes are offered.
BET_SIZE_NAMES = {50: "half pot", 67: "two thirds of the pot", 100: "pot"}


class DisplayedPoker(DisplayedGame):
    """Poker with a fixed or a variable number of seats, whose tables can be shown."""

    ranks: str
    suits: str

    @property
    @abstractmethod
    def variant_games(self) -> Sequence[PokerGame]:
        """One game for each number of seats; only the game itself if the number is fixed."""

    def get_variant_at_table(self, record: np.void) -> PokerGame:
        """Return the variant that has as many seats as this table."""
        return self.variant_games[int(record["variant"])]

    def infoset_name(self, record: np.void) -> str:
        """Return a text like `1 Ks|Qh rc`: seat to act, its cards, visible board and actions."""
        variant_game, seat = self.get_variant_at_table(record), int(record["to_act"])
        cards = get_hole_cards(variant_game, record, seat), get_visible_board(variant_game, record)
        cards_text = "|".join("".join(name_cards(variant_game, some)) for some in cards if some)
        return f"{seat} {cards_text} {self.betting_line_name(record)}".strip()

    def betting_line_name(self, record: np.void) -> str:
        """Return the actions so far, such as `rc`, or `r6c` in no-limit for a raise to 6 chips."""
        line = record["line"][: record["moves"]].tolist()
        if not len(record["raise_by"]):
            return "".join("fcr"[action] for action in line)
        variant_game = self.get_variant_at_table(record)
        # The first entries of `chips` are for the blinds, the others for the actions.
        blind_count = np.count_nonzero(variant_game.blinds) * variant_game.blind_raise_count
        chips = record["chips"][blind_count:].tolist()
        return "".join(
            f"r{raise_to}" if action >= RAISE else "fc"[action]
            for action, raise_to in zip(line, chips, strict=False)
        )

    def build_view(self, record: np.void, viewer: int | None) -> TableView:
        variant_game = self.get_variant_at_table(record)
        seats, is_over = range(variant_game.seats), bool(record["over"])
        paid = record["paid"][: len(seats)].tolist()
        bet_before_street = self.compute_price_before_street(record)
        bets = [0 if is_over else max(chips_in - bet_before_street, 0) for chips_in in paid]
        board = get_visible_board(variant_game, record)
        own_cards = None if viewer is None else get_hole_cards(variant_game, record, viewer)
        return TableView(
            seats=tuple(
                build_seat_view(variant_game, record, seat, viewer in (None, seat), bets[seat])
                for seat in seats
            ),
            board=name_cards(variant_game, board),
            pots=compute_pot_sizes(
                [chips_in - bet for chips_in, bet in zip(paid, bets, strict=True)],
                [bool(record["folded"][seat]) for seat in seats],
                sum(variant_game.dead_antes),
            ),
            street=get_street_name(variant_game, get_visible_street(variant_game, record)),
            to_act=None if is_over else int(record["to_act"]),
            hand_name="" if own_cards is None else describe_hand(variant_game, own_cards, board),
        )

    def list_moves(self, record: np.void, actions: Sequence[int] | None = None) -> list[LegalMove]:
        variant_game, seat = self.get_variant_at_table(record), int(record["to_act"])
        raises = self._list_raises(record) if variant_game.raise_size_options == [] else []
        usual_names = name_usual_raises(variant_game, record, raises) if raises else {}
        if actions is None:
            legal = self.list_legal_actions(record)
            actions = [a for a in legal if not raises or a < RAISE or a in usual_names]
        chips_before = int(record["paid"][seat])
        bet_before_street = self.compute_price_before_street(record)
        chips_after_actions = self._compute_paid_after_each_action(record, actions)
        action_types = (
            "fold",
            "call" if chips_before < record["price"] else "check",
            "raise" if record["price"] > bet_before_street else "bet",
        )
        legal_moves, sizes = [], variant_game.raise_size_options
        for action, chips_after in zip(map(int, actions), chips_after_actions, strict=True):
            is_raise, size_name = action >= RAISE, usual_names.get(action, "")
            if is_raise and sizes:
                size = sizes[action - RAISE]
                size_name = name_listed_bet_size(variant_game, record, size, chips_after)
            legal_moves.append(
                LegalMove(
                    action=action,
                    name=self.move_name(record, action),
                    action_type=action_types[min(action, RAISE)],
                    chips_added=chips_after - chips_before,
                    raise_to=chips_after - bet_before_street if is_raise else None,
                    size_name=size_name,
                )
            )
        return legal_moves

    def get_bet_range(self, record: np.void) -> BetRange | None:
        raises = self._list_raises(record)
        if self.get_variant_at_table(record).raise_size_options != [] or not raises:
            return None
        bet_before_street = self.compute_price_before_street(record)
        return BetRange(raises[0] - bet_before_street, raises[-1] - bet_before_street, raises[0])

    def _list_raises(self, record: np.void) -> list[int]:
        return [action for action in self.list_legal_actions(record) if action >= RAISE]

    def compute_raise_targets(self, record: np.void) -> dict[int, int]:
        """Map each legal raise to the chips that the seat to act has put in after it."""
        raises = self._list_raises(record)
        return dict(zip(raises, self._compute_paid_after_each_action(record, raises), strict=True))

    def move_name(self, record: np.void, action: int) -> str:
        """Return the name of a legal action; a listed bet size that is all-in is `raise_all_in`."""
        variant_game = self.get_variant_at_table(record)
        if action >= RAISE and variant_game.raise_size_options:
            (chips_after,) = self._compute_paid_after_each_action(record, [action])
            if is_all_in_bet(variant_game, record, chips_after):
                return "raise_all_in"
        return self.action_name(action)

    def _compute_paid_after_each_action(self, record: np.void, actions: Sequence[int]) -> list[int]:
        """Return for each of the actions the chips that the seat to act has put in after it."""
        chips: list[int] = self.compute_next_records(record, actions)["paid"][
            :, record["to_act"]
        ].tolist()
        return chips

    def compute_price_before_street(self, record: np.void) -> int:
        """Return the chips that each seat had to put in before this street to stay in the hand."""
        definition, street = self.definitions[int(record["variant"])], int(record["street"])
        if street == 0:
            return int(definition["ante"])
        if not len(record["chips"]):
            return int(record["price"] - record["raises"] * definition["raise_size"][street])
        mark_count = int(record["marks"])
        cells = record["mark"][:mark_count].astype(np.int64)
        street_of_mark = cells // int(definition["type_count"]) // int(definition["raise_levels"])
        is_earlier_street = street_of_mark % int(definition["streets"]) < street
        chips = record["chips"][:mark_count][is_earlier_street]  # put in so far by the acting seat
        return max(int(definition["price"]), int(chips.max(initial=0)))


def build_seat_view(
    game: PokerGame, record: np.void, seat: int, show_cards: bool, bet: int
) -> SeatView:
    """Return the view of a seat, with its hole cards if `show_cards`."""
    folded, stacks = bool(record["folded"][seat]), game.starting_stacks
    paid = int(record["paid"][seat]) + game.dead_antes[seat]
    stack = None if stacks is None else stacks[seat] - paid
    return SeatView(
        cards=name_cards(game, get_hole_cards(game, record, seat)) if show_cards else (),
        hidden_card_count=0 if show_cards or folded else game.hole_cards,
        bet=bet,
        paid=paid,
        stack=stack,
        folded=folded,
        notes=(*list_seat_roles(game, seat), *["all-in"] * (stack == 0 and not folded)),
    )


def list_seat_roles(game: PokerGame, seat: int) -> list[str]:
    """Return "button" if the seat is the button, and the name of its blind if it posts one."""
    notes = ["button"] if seat == game.seats - 1 else []
    if game.blind_raise_count and game.blinds[seat]:
        amounts = sorted(set(game.blinds) - {0})
        names = *BLIND_NAMES[-len(amounts) :], *["straddle"] * len(amounts)
        notes.append(names[amounts.index(game.blinds[seat])])
    return notes


def get_hole_cards(game: PokerGame, record: np.void, seat: int) -> list[int]:
    start = seat * game.hole_cards
    return list(map(int, record["deck"][start : start + game.hole_cards]))


def get_visible_street(game: PokerGame, record: np.void) -> int:
    """Return the index of the table's street; after a showdown, the index of the last street."""
    is_showdown = record["over"] and record["live"] > 1
    return len(game.board_cards) - 1 if is_showdown else int(record["street"])


def get_visible_board(game: PokerGame, record: np.void) -> list[int]:
    """Return the board cards dealt so far, or all board cards after a showdown."""
    board_start = game.seats * game.hole_cards
    board_count = sum(game.board_cards[: get_visible_street(game, record) + 1])
    return list(map(int, record["deck"][board_start : board_start + board_count]))


def name_cards(game: PokerGame, cards: Sequence[int]) -> tuple[str, ...]:
    return tuple(card_name(card, game.ranks, game.suits) for card in cards)


def get_street_name(game: PokerGame, street: int) -> str:
    """Return the name of a street, such as `flop` or `round 2`; "" if there is only one."""
    if len(game.board_cards) == 1:
        return ""
    return STREET_NAMES[street] if game.board_cards[0] == 0 else f"round {street + 1}"


def compute_pot_sizes(paid: list[int], folded: list[bool], dead_antes: int = 0) -> tuple[int, ...]:
    """Return the chips in the main pot and in each side pot, split as in `pots.payoffs`.

    `dead_antes`, which are not part of `paid`, go to the main pot.
    """
    stakes = sorted({chips for chips, is_out in zip(paid, folded, strict=True) if not is_out})
    pot_sizes, pot_floor = [], 0
    for pot_cap in stakes:
        if pot_cap > pot_floor or dead_antes:
            layers = (max(min(chips, pot_cap) - pot_floor, 0) for chips in paid)
            pot_sizes.append(sum(layers) + dead_antes)
        pot_floor, dead_antes = pot_cap, 0
    return tuple(pot_sizes)


def is_all_in_bet(game: PokerGame, record: np.void, chips_in: int) -> bool:
    """Return whether the whole stack of the seat to act is `chips_in` plus its dead ante."""
    seat, stacks = int(record["to_act"]), game.starting_stacks
    return stacks is not None and chips_in == stacks[seat] - game.dead_antes[seat]


def name_usual_raises(game: PokerGame, record: np.void, raises: list[int]) -> dict[int, str]:
    """Return the names of the usual ones among `raises`, keyed by the chips that they raise to.

    These are the smallest raise, the largest and, between them, the sizes in `BET_SIZE_NAMES`. If
    two sizes raise to the same chips, the larger one gives the name.
    """
    low, high = raises[0], raises[-1]
    targets = {compute_pot_raise_to(game, record, size): size for size in BET_SIZE_NAMES}
    between = {to: BET_SIZE_NAMES[size] for to, size in targets.items() if low < to < high}
    return {low: "minimum", **between, high: "all-in"}


def compute_pot_raise_to(game: PokerGame, record: np.void, hundredths: int) -> int:
    """Return the chips that a raise by `hundredths` of the pot raises to, even if it is illegal."""
    price, paid = int(record["price"]), record["paid"][: game.seats]
    chips_to_call = price - int(paid[record["to_act"]])
    pot_after_call = chips_to_call + int(paid.sum()) + sum(game.dead_antes)
    return price + (hundredths * pot_after_call + FULL_POT // 2) // FULL_POT


def name_listed_bet_size(game: PokerGame, record: np.void, size: float | str, chips_in: int) -> str:
    """Return the name of a listed bet size, such as "half pot" or "33 % of the pot".

    `chips_in` are all chips that the seat has put in after the raise. The name is "all-in" if the
    seat has no chips left, and "minimum" if the smallest legal raise is larger than `size`.
    """
    if isinstance(size, str) or is_all_in_bet(game, record, chips_in):
        return "all-in"
    hundredths = round(size * FULL_POT)
    if chips_in > compute_pot_raise_to(game, record, hundredths):
        return "minimum"
    return BET_SIZE_NAMES.get(hundredths, f"{hundredths} % of the pot")
