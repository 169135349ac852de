"""Compare random hands move by move with independent engines: PokerKit and, heads-up, OpenSpiel.

    python scripts/compare_game_engines.py [--hands 100000] [--seed 0] [game ...]

Each hand is played by this project's rules and replayed in the other engine with the same cards and
actions. The seat to act, the legal actions, the raise amounts in no-limit and the chips won must be
equal; the first difference is printed, with exit code 1.

Besides the games in conf/game, three names stand for games with two to nine seats and random
stacks, which change every few hands: `stacks` is no-limit hold'em, `limit_stacks` fixed-limit
hold'em, and `short_deck` no-limit short-deck hold'em. With `limit_stacks` and `short_deck`, antes
differ between seats in half of the games.

There are two rules on who may raise after an all-in for less than a full raise. Every second
no-limit game with random stacks has the rule of PokerKit, `short_bets_reopen`. In other no-limit
games, a raise must be legal if and only if both PokerKit and the tournament rules allow it; this
script has its own implementation of these rules. In fixed limit only the tournament rules decide,
because they require half of a bet where PokerKit requires a full bet.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from poker_rl.config.build import build
from poker_rl.config.input_checks import ConfigError
from poker_rl.config.option_files import load_option
from poker_rl.games.cards import card_name
from poker_rl.games.hand_evaluator import SHORT_DECK_RANKS, THREE_CARD_HAND
from poker_rl.games.poker.fixed_limit_poker import FixedLimitPoker
from poker_rl.games.poker.no_limit_poker import NoLimitPoker
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.table_dtypes import CALL, FOLD, RAISE
from poker_rl.games.poker.variable_seats import VariableSeatsPoker
from poker_rl.games.tables import Tables

GAMES = ["limit_holdem", "limit_holdem_3p", "limit_holdem_6p", "limit_holdem_9p"]
GAMES += ["limit_holdem_2to9"]
STACKS, LIMIT_STACKS, SHORT_DECK = RANDOM_STACKS = ("stacks", "limit_stacks", "short_deck")
BATCH = 1000  # hands that are played before the other engine replays them
HANDS_PER_STACKS = 10  # hands before the stacks change
TIE_INTERVAL = 5  # every fifth board of hold'em is a royal flush, so that the pot is split
ROYAL_FLUSH = range(32, 52, 4)
# Weights of fold, call and raise. The two rows alternate between tables; with the second row, most
# hands reach a showdown.
ACTION_WEIGHTS = np.array([[1, 1, 1], [1, 8, 4]])


class EnginesDifferError(Exception):
    """Error raised if two engines disagree on a state or a result of a hand."""


class Decision(NamedTuple):
    """Decision in a hand that was played by this project's rules."""

    seat: int
    legal: list[int]  # which of fold, call and raise are legal
    action: int  # fold, call or raise
    # Only in games with stacks:
    raises: Sequence[int] = ()  # all legal raises, as action numbers
    chosen: int = 0  # number of the action that was taken
    raised_to: int = 0  # after a raise, the chips that the seat has paid in this hand; else 0


class Hand(NamedTuple):
    """A hand that was played by this project's rules."""

    game: PokerGame
    deck: list[int]  # the cards dealt: hole cards seat by seat, then the board
    decisions: list[Decision]
    paid: list[int]  # chips that each seat put in
    won: list[int]  # chips that each seat won
    showdown: bool

    def check_engines_agree(self, what: str, ours: object, theirs: object) -> None:
        """Compare a value in this project with that in the other engine.

        Raises:
            EnginesDifferError: if they differ.
        """
        if ours != theirs:
            moves = "".join(
                "fcr"[d.action] + (f"{d.raised_to}" if d.raised_to else "") for d in self.decisions
            )
            cards = " ".join(card_name(c, self.game.ranks, self.game.suits) for c in self.deck)
            where = f"{self.game.name}, cards {cards}, actions {moves}"
            if self.game.starting_stacks:
                where += f", stacks {self.game.starting_stacks}, ante {self.game.ante}"
            raise EnginesDifferError(f"{where}: {what} {ours} here, {theirs} there")


Engine = Callable[[Hand], None]
"""Function that replays a hand in another engine; it raises EnginesDifferError at a difference."""


def sample_hands(game: PokerGame | VariableSeatsPoker, hands: int, seed: int) -> Iterator[Hand]:
    """Play random hands by this project's rules, in batches of tables, and yield them."""
    generator = np.random.default_rng(seed)
    tables = Tables(game, min(BATCH, hands), seed)
    weights = np.resize(ACTION_WEIGHTS, (len(tables.records), 3))
    first_game = get_variant_at_table(game, tables.records[0])
    no_limit, has_limited_stacks = (
        isinstance(first_game, NoLimitPoker),
        first_game.starting_stacks is not None,
    )
    for first in range(0, hands, BATCH):
        tables.deal()
        for record in tables.records[::TIE_INTERVAL]:
            put_royal_flush_on_board(record, game)
        decisions: list[list[Decision]] = [[] for _ in tables.records]
        while len(rows := np.flatnonzero(tables.records["over"] == 0)):
            legal = tables.legal_mask(rows)
            kinds = np.c_[legal[:, :RAISE], legal[:, RAISE:].any(1)]
            cumulative_weights = (kinds * weights[rows]).cumsum(1)
            samples = generator.random((len(rows), 1)) * cumulative_weights[:, -1:]
            kind = (samples < cumulative_weights).argmax(1)
            actions = kind.copy()
            for i in np.flatnonzero(kind == RAISE):
                if no_limit:
                    raises = RAISE + np.flatnonzero(legal[i, RAISE:])
                    actions[i] = sample_raise_action(raises, tables.records[rows[i]], generator)
            seats = tables.records["to_act"][rows]
            tables.step(actions, rows)
            put = tables.records["paid"][rows, seats]
            for i, row in enumerate(rows):
                here = Decision(int(seats[i]), np.flatnonzero(kinds[i]).tolist(), int(kind[i]))
                if has_limited_stacks:
                    raises = (RAISE + np.flatnonzero(legal[i, RAISE:])).tolist()
                    to = int(put[i]) if kind[i] == RAISE else 0
                    here = here._replace(raises=raises, chosen=int(actions[i]), raised_to=to)
                decisions[row].append(here)
        won = tables.payoffs()
        for row, record in enumerate(tables.records[: hands - first]):
            each = get_variant_at_table(game, record)
            yield Hand(
                each,
                record["deck"][: each.cards_dealt].tolist(),
                decisions[row],
                record["paid"][: each.seats].tolist(),
                won[row, : each.seats].tolist(),
                record["live"] > 1,
            )


def sample_raise_action(raises: np.ndarray, record: np.void, generator: np.random.Generator) -> int:
    """Sample one of the actions `raises`: the smallest, the largest, nearest to the pot, or any.

    `record` is the table record before the raise.
    """
    pot = 2 * record["price"] - record["paid"][record["to_act"]] + record["paid"].sum()
    kinds = [raises[0], raises[np.abs(raises - pot).argmin()], raises[-1], generator.choice(raises)]
    return int(generator.choice(kinds, p=[0.4, 0.2, 0.1, 0.3]))


def sample_stack_games(
    count: int, seed: int, name: str = STACKS
) -> Iterator[NoLimitPoker | FixedLimitPoker]:
    """Yield `count` hold'em games with two to nine seats, and random stacks, antes and bet sizes.

    `name` is one of RANDOM_STACKS.
    """
    generator = np.random.default_rng(seed)
    for i in range(count):
        while (game := sample_stack_game(2 + i // 2 % 8, i % 2 == 0, generator, name)) is None:
            pass
        yield game


def sample_stack_game(
    seats: int, short_bets_reopen: bool, generator: np.random.Generator, name: str
) -> NoLimitPoker | FixedLimitPoker | None:
    """Return a game with random stacks; None if the blinds leave no player a decision."""
    blinds = [2, 1] if seats == 2 else [1, 2] + [0] * (seats - 2)
    ante = int(generator.integers(2))
    stacks = np.exp(generator.uniform(0, np.log(generator.choice([10, 60, 300])), seats))
    settings = {
        **load_option("game", "nolimit_holdem"),
        "name": name,
        "seats": seats,
        "blinds": blinds,
        "openers": [1 if seats == 2 else 2 % seats, 0, 0, 0],
        "ante": ante,
        "min_bet": int(generator.integers(2, 6)),
        "short_bets_reopen": short_bets_reopen,
        "stacks": np.maximum(stacks.round().astype(int), np.array(blinds) + ante).clip(1).tolist(),
        "bet_sizes": [0.33, 0.5, 1.0, 2.01, "all_in"] if generator.random() < 0.25 else [],
    }
    if name != STACKS and generator.random() < 0.5:
        antes = generator.integers(0, 4, seats)
        settings["ante"] = antes.tolist()
        settings["stacks"] = (np.array(settings["stacks"]) + antes).tolist()
    if name == SHORT_DECK:
        settings |= {"ranks": SHORT_DECK_RANKS, "ranking": "short_deck"}
    if name == LIMIT_STACKS:
        small = int(generator.integers(2, 6))
        betting = {"raise_sizes": [small, small, 2 * small, 2 * small]}
        betting["max_raises"] = generator.integers(1, 5, 4).tolist()
        own = [*load_option("game", "limit_holdem"), "stacks"]
        settings = {**{key: settings[key] for key in own if key in settings}, **betting}
        settings["_target_"] = f"{FixedLimitPoker.__module__}.{FixedLimitPoker.__name__}"
    with suppress(ConfigError):
        return build(settings, "game")
    return None


def put_royal_flush_on_board(record: np.void, game: PokerGame | VariableSeatsPoker) -> None:
    """Swap cards so that the board will be a royal flush, if deck and board allow it."""
    each = get_variant_at_table(game, record)
    if each.deck_size == 52 and sum(each.board_cards) == 5:
        for board_index, card in enumerate(ROYAL_FLUSH, each.cards_dealt - 5):
            deck = record["deck"]
            deck[deck.tolist().index(card)], deck[board_index] = deck[board_index], card


def get_variant_at_table(game: PokerGame | VariableSeatsPoker, record: np.void) -> PokerGame:
    """Return the game at a table: `game`, or its variant with the table's number of seats."""
    return game if isinstance(game, PokerGame) else game.variant_games[record["variant"]]


# PokerKit


class RaiseReopeningRule:
    """Rules 43 and 47 of the Tournament Directors Association (TDA): who may raise on a street.

    "An all-in wager (or cumulative multiple short all-ins) totaling less than a full bet or raise
    will not reopen betting for players who have already acted and are not facing at least a full
    bet or raise when the action returns to them"; a full raise is "at least equal to the largest
    prior bet or raise of the current betting round". "In limit, at least 50% of a full bet or raise
    is required to re-open betting for players who have already acted."
    """

    def __init__(self, smallest_bet: int, limit: bool) -> None:
        self.already_acted: set[int] = set()
        self.full_bet_or_raise = smallest_bet
        self.share = Fraction(1, 2) if limit else Fraction(1)

    def is_open_to(self, seat: int, facing: int) -> bool:
        """Return whether a seat may raise if it has to pay `facing` chips to call."""
        return seat not in self.already_acted or facing >= self.share * self.full_bet_or_raise

    def act(self, seat: int, raised_by: int) -> None:
        """Record an action; `raised_by` is the size of a raise above the highest bet, else 0."""
        self.already_acted.add(seat)
        self.full_bet_or_raise = max(self.full_bet_or_raise, raised_by)


def replay_in_pokerkit(hand: Hand) -> None:
    """Replay a hand of hold'em in PokerKit, where player i has seat i.

    Raises:
        EnginesDifferError: at the first difference.
    """
    state, game = create_initial_pokerkit_state(hand.game), hand.game
    limit = isinstance(game, FixedLimitPoker)
    tournament = limit or (isinstance(game, NoLimitPoker) and not game.short_bets_reopen)
    hand.check_engines_agree("blinds", game.blinds or [0] * game.seats, list(state.bets))
    cards = [card_name(card, game.ranks, game.suits) for card in hand.deck]
    for seat in range(game.seats):
        first = seat * game.hole_cards
        state.deal_hole("".join(cards[first : first + game.hole_cards]), seat)
    board, street = cards[game.seats * game.hole_cards :], 0

    def start_street() -> RaiseReopeningRule:
        bet = state.streets[street].min_completion_betting_or_raising_amount
        return RaiseReopeningRule(bet, limit)

    betting = start_street()

    def deal_board() -> None:
        nonlocal board, street, betting
        while state.can_deal_board() or state.can_show_or_muck_hole_cards():
            if state.can_deal_board():
                street += 1
                betting = start_street()
                count = game.board_cards[street]
                state.deal_board("".join(board[:count]))
                board = board[count:]
            else:
                state.show_or_muck_hole_cards(True)

    for decision in hand.decisions:
        deal_board()
        hand.check_engines_agree("seat to act", decision.seat, state.actor_index)
        if limit:  # turn off PokerKit's rule for short raises
            state.consecutive_short_all_in_amounts.clear()
            state.completion_betting_or_raising_amount = 0
        reopen_after_short_all_ins(state)
        legal = [state.can_fold(), state.can_check_or_call(), state.can_complete_bet_or_raise_to()]
        facing, price = state.checking_or_calling_amount or 0, max(state.bets)
        if tournament and not betting.is_open_to(decision.seat, facing):
            legal[RAISE] = False
        hand.check_engines_agree("legal actions", decision.legal, np.flatnonzero(legal).tolist())
        to = None
        if game.starting_stacks:
            seat = decision.seat
            before = game.starting_stacks[seat] - state.stacks[seat] - state.bets[seat]
            before -= game.dead_antes[seat]
            amounts = list_raise_amounts(game, state, before) if legal[RAISE] else []
            if game.raise_size_options != []:
                hand.check_engines_agree("number of raises", len(decision.raises), len(amounts))
            else:
                hand.check_engines_agree("raises", decision.raises, amounts)
            if decision.raised_to:
                amount = amounts[decision.raises.index(decision.chosen)]
                hand.check_engines_agree("chips raised to", decision.raised_to, amount)
                to = decision.raised_to - before
        if decision.action == FOLD:
            state.fold()
        elif decision.action == CALL:
            state.check_or_call()
        else:
            state.complete_bet_or_raise_to(to)
        betting.act(decision.seat, to - price if to else 0)
    deal_board()
    winnings = redivide_pokerkit_pots(state) if sum(state.statuses) > 1 else None
    while state.can_kill_hand():
        state.kill_hand()
    while state.can_push_chips():
        state.push_chips()
    hand.check_engines_agree("the hand is over", True, not state.status)
    pushed = [int(chips) for chips in state.payoffs]
    won = winnings or pushed
    hand.check_engines_agree("chips won", hand.won, won)
    apart = max(abs(ours - theirs) for ours, theirs in zip(won, pushed, strict=True))
    hand.check_engines_agree("but for odd chips, chips won", True, apart < 2 * game.seats)


def reopen_after_short_all_ins(state: Any) -> None:
    """Let several short all-ins that add up to a full raise reopen the betting in PokerKit.

    PokerKit resets the sum of short all-ins when it reaches a full raise. Another short all-in then
    closes the betting for all players who have acted, although they face more than a full raise.
    """
    if (state.checking_or_calling_amount or 0) >= state.completion_betting_or_raising_amount:
        state.consecutive_short_all_in_amounts.clear()


def list_raise_amounts(game: PokerGame, state: Any, before: int) -> list[int]:
    """Return the chips that the seat has paid in the hand after each raise legal in PokerKit.

    Args:
        game: the game of the hand.
        state: PokerKit's state, whose amounts count from the beginning of the street.
        before: chips that the seat paid on earlier streets.
    """
    low = state.min_completion_betting_or_raising_to_amount
    high = state.max_completion_betting_or_raising_to_amount
    if not game.raise_size_options:
        return list(range(low + before, high + before + 1))
    pot = state.total_pot_amount + state.checking_or_calling_amount
    amounts = {high if size == "all_in" else 0 for size in game.raise_size_options}
    for size in game.raise_size_options:
        if size != "all_in":
            by = math.floor(Fraction(str(size)) * pot + Fraction(1, 2))
            amounts.add(max(low, min(high, max(state.bets) + by)))
    return [amount + before for amount in sorted(amounts - {0})]


def redivide_pokerkit_pots(state: Any) -> list[int]:
    """Return the chips won by each seat if PokerKit's pots are divided by this project's rules.

    If the winners of a pot can't divide it equally, PokerKit gives all odd chips to the first one,
    and this project gives one each to the first winners. PokerKit also merges pots that have the
    same contenders after losing hands are gone; this project divides each pot by itself.
    """
    won = [int(chips) for chips in state.payoffs]
    for pot in state.pots:
        contenders = pot.player_indices
        if len(contenders) > 1:
            hands = {seat: state.get_hand(seat, 0, 0) for seat in contenders}
            contenders = [seat for seat in contenders if hands[seat] == max(hands.values())]
        share, odd = divmod(pot.amount, len(contenders))
        for order, seat in enumerate(contenders):
            won[seat] += share + (order < odd)
    return won


def create_initial_pokerkit_state(game: PokerGame) -> Any:
    """Return PokerKit's state at the start of a hand.

    PokerKit's own fixed-limit game is not used, because it allows one more raise before the flop.
    """
    from pokerkit import (
        Automation,
        BettingStructure,
        Deck,
        Opening,
        RhodeIslandHoldemHand,
        ShortDeckHoldemHand,
        StandardHighHand,
        State,
        Street,
    )

    by_hand = {
        *(Automation.HOLE_DEALING, Automation.BOARD_DEALING, Automation.CARD_BURNING),
        *(Automation.HOLE_CARDS_SHOWING_OR_MUCKING, Automation.HAND_KILLING),
        Automation.CHIPS_PUSHING,
    }
    raises: list[tuple[int, int | None]]
    if isinstance(game, NoLimitPoker):
        structure = BettingStructure.NO_LIMIT
        raises = [(game.min_bet, None)] * len(game.board_cards)
    else:
        structure = BettingStructure.FIXED_LIMIT
        raises = list(zip(game.raise_sizes, game.max_raises, strict=True))
    order = -1 if game.seats == 2 else 1  # heads-up, PokerKit lists antes and blinds in reverse
    deck, kind = Deck.STANDARD, StandardHighHand
    if has_three_card_hands(game):
        kind = RhodeIslandHoldemHand
    elif game.ranking == "short_deck":
        deck, kind = Deck.SHORT_DECK_HOLDEM, ShortDeckHoldemHand
    return State(
        tuple(automation for automation in Automation if automation not in by_hand),
        deck,
        (kind,),
        tuple(
            Street(
                False,
                (False,) * game.hole_cards if i == 0 else (),
                count,
                False,
                Opening.POSITION,
                size,
                most,
            )
            for i, (count, (size, most)) in enumerate(zip(game.board_cards, raises, strict=True))
        ),
        structure,
        not any(game.dead_antes),  # unequal antes must not be trimmed
        game.antes[::order],
        game.blinds[::order] or 0,
        0,
        game.starting_stacks or [game.max_chips_per_seat + 1] * game.seats,
        game.seats,
    )


def has_three_card_hands(game: PokerGame) -> bool:
    """Return whether hands have three cards; OpenSpiel has no straights and flushes of three."""
    return game.hole_cards + sum(game.board_cards) == THREE_CARD_HAND


# OpenSpiel

MapActions = Callable[[list[int]], dict[int, int]]
"""Function that returns OpenSpiel's action for each legal action of fold, call and raise."""


def map_to_same_actions(legal: list[int]) -> dict[int, int]:
    """Map each legal action to OpenSpiel's action of the same number."""
    return {action: action for action in legal}


def map_to_open_spiel_kuhn_actions(legal: list[int]) -> dict[int, int]:
    """Map actions to those of OpenSpiel's Kuhn poker: 0 is check or fold, 1 is bet or call."""
    return {FOLD: 0, CALL: 1} if FOLD in legal else {CALL: 0, RAISE: 1}


def create_open_spiel_replayer(other: Any, map_actions: MapActions = map_to_same_actions) -> Engine:
    """Return an engine that replays hands in a game of OpenSpiel."""

    def engine(hand: Hand) -> None:
        deck, state = iter(hand.deck), other.new_initial_state()

        def deal() -> None:
            while state.is_chance_node():
                state.apply_action(next(deck))

        for seat, legal, action, *_ in hand.decisions:
            deal()
            hand.check_engines_agree("seat to act", seat, state.current_player())
            hand.check_engines_agree(
                "legal actions", sorted(map_actions(legal).values()), state.legal_actions()
            )
            state.apply_action(map_actions(legal)[action])
        deal()  # some games deal the last board cards after the last action
        hand.check_engines_agree("the hand is over", True, state.is_terminal())
        # OpenSpiel splits an odd chip into fractions; this project gives it to one winner.
        for ours, theirs in zip(hand.won, state.returns(), strict=True):
            apart = abs(ours - theirs)
            hand.check_engines_agree(
                "chips won", True, apart == 0 or (apart < 1 and theirs != round(theirs))
            )

    return engine


def load_universal_poker(game: FixedLimitPoker) -> Any:
    """Load a game in OpenSpiel, which counts players from 1 and treats antes as blinds."""
    import pyspiel

    def join_numbers(numbers: Any) -> str:
        return " ".join(map(str, numbers))

    return pyspiel.load_game(
        "universal_poker",
        {
            "betting": "limit",
            "numPlayers": game.seats,
            "numRounds": len(game.board_cards),
            "blind": join_numbers(game.definitions["post"][0, : game.seats]),
            "firstPlayer": join_numbers(seat + 1 for seat in game.openers),
            "raiseSize": join_numbers(game.raise_sizes),
            "maxRaises": join_numbers(game.max_raises),
            "numSuits": len(game.suits),
            "numRanks": len(game.ranks),
            "numHoleCards": game.hole_cards,
            "numBoardCards": join_numbers(game.board_cards),
        },
    )


def count_odd_chips_or_all_ins(hand: Hand, winners: int) -> dict[str, int]:
    """Return the number of odd chips in a game without stacks, else the number of all-ins."""
    if hand.game.starting_stacks is None:
        return {"odd chips": sum(hand.paid) % winners}
    stacks = zip(hand.paid, hand.game.dead_antes, hand.game.starting_stacks, strict=True)
    return {"all-ins": sum(put + dead == stack for put, dead, stack in stacks)}


def compare_engines(
    game: PokerGame | VariableSeatsPoker, engine: Engine, hands: int, seed: int
) -> Counter[str]:
    """Play random hands in both engines; return counts such as those of hands and decisions.

    Raises:
        EnginesDifferError: at the first difference.
    """
    counts: Counter[str] = Counter()
    for hand in sample_hands(game, hands, seed):
        engine(hand)
        winners = sum(chips + put > 0 for chips, put in zip(hand.won, hand.paid, strict=True))
        counts.update(
            {
                "hands": 1,
                "decisions": len(hand.decisions),
                "showdowns": int(hand.showdown),
                "split pots": int(winners > 1),
                **count_odd_chips_or_all_ins(hand, winners),
            }
        )
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hands", type=int, default=100_000, help="in all, beside each engine")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("games", nargs="*", default=GAMES, metavar="game")
    arguments = parser.parse_args()
    if arguments.hands < (least := HANDS_PER_STACKS * len(arguments.games)):
        parser.error(f"--hands {arguments.hands}: at least {least} for so many games")
    if arguments.seed < 0:
        parser.error(f"--seed {arguments.seed}: at least 0")
    try:
        built = [
            None if name in RANDOM_STACKS else load_game_for_pokerkit(name)
            for name in arguments.games
        ]
    except ConfigError as error:
        parser.error(str(error))
    for name, game in zip(arguments.games, built, strict=True):
        hands = arguments.hands // len(arguments.games)
        if game is None:
            games: list[Any] = list(
                sample_stack_games(hands // HANDS_PER_STACKS, arguments.seed, name)
            )
            compare_and_print(
                name, "PokerKit", games, replay_in_pokerkit, HANDS_PER_STACKS, arguments.seed
            )
            continue
        compare_and_print(name, "PokerKit", [game], replay_in_pokerkit, hands, arguments.seed)
        limit = isinstance(game, FixedLimitPoker) and game.stacks is None
        if game.seats == 2 and limit and not has_three_card_hands(game):
            engine = create_open_spiel_replayer(load_universal_poker(game))
            compare_and_print(name, "OpenSpiel", [game], engine, arguments.hands, arguments.seed)


def load_game_for_pokerkit(name: str) -> PokerGame | VariableSeatsPoker:
    """Return a game that PokerKit supports too.

    Raises:
        ConfigError: if there is no such game, or PokerKit does not support it.
    """
    game = build(load_option("game", name), "game")
    each = game.variant_games[0] if isinstance(game, VariableSeatsPoker) else game
    if (
        isinstance(each, PokerGame)
        and sum(each.board_cards)
        and (each.deck_size == 52 or each.ranking)
    ):
        return game
    raise ConfigError(f"{name}: allowed: {', '.join(RANDOM_STACKS)} and the games of hold'em")


def compare_and_print(
    name: str, other: str, games: list[Any], engine: Engine, hands: int, seed: int
) -> None:
    """Compare `hands` hands of each game, and print counts; exit with code 1 at a difference."""
    start, counts = time.perf_counter(), Counter[str]()
    for i, game in enumerate(games):
        try:
            counts += compare_engines(game, engine, hands, seed + i)
        except EnginesDifferError as difference:
            print(difference)
            sys.exit(1)
    text = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    seconds = time.perf_counter() - start
    print(f"{name} and {other}: {text}; no difference; {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
