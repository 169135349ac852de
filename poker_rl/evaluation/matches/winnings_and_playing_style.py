"""Statistics of a match: winnings, share of hands won and, in hold'em, the playing style.

The statistics of playing style are:

hands       number of hands dealt to the player
vpip        share of hands in which the player called or raised before the flop; a call from the
            small blind counts, but posting a blind and checking do not
pfr         share of hands in which the player raised before the flop
aggression  number of bets and raises divided by number of calls; None without a call
showdown    share of hands that the player took to a showdown
"""

from __future__ import annotations

import numpy as np

from poker_rl.evaluation.matches.duplicate_match import (
    average_by_deal,
    compute_exact_match_values,
    play_match,
    summarize_blocks,
)
from poker_rl.evaluation.result import AGAINST, EXACT, Result, get_result_scale_and_unit
from poker_rl.games.game import Game, jit
from poker_rl.games.game_tree import GameTree
from poker_rl.games.poker.betting import can_fold, start, step
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.table_dtypes import CALL, MAX_SEATS, RAISE
from poker_rl.games.poker.variable_seats import VariableSeatsPoker
from poker_rl.games.tables import Tables, copy_records
from poker_rl.players.player import Player

HAND_COUNT, VPIP_COUNT, PFR_COUNT, RAISE_COUNT, CALL_COUNT, SHOWDOWN_COUNT = range(6)
STYLE_UNITS = {
    "hands": "hands",
    "vpip": "of hands",
    "pfr": "of hands",
    "aggression": "a call",
    "showdown": "of hands",
}


class StyleCounter:
    """Observer of a match; counts actions of the first player and of all its opponents together."""

    def __init__(self) -> None:
        self.counts = np.zeros((2, 6), np.int64)
        """Rows: first player, all opponents. Columns: `HAND_COUNT` to `SHOWDOWN_COUNT`."""

    def add_hands(self, tables: Tables, rotation: np.ndarray) -> None:
        """Add finished hands [B], in which the first player has seat `rotation` [B]."""
        records = copy_records(tables.records)  # the replay changes the records
        _accumulate_style_counts(tables.gather_definitions(), records, rotation, self.counts)

    def list_style_results(self, player: str, opponent: str) -> list[Result]:
        """Return the style statistics of the two players with these names as results."""
        names = (player, f"{AGAINST}{opponent}"), (opponent, f"{AGAINST}{player}")
        return [
            Result(name, statistic, value, None, STYLE_UNITS[statistic], kind)
            for (name, kind), counts in zip(names, self.counts, strict=True)
            for statistic, value in compute_style_statistics(counts).items()
            if value is not None
        ]


def compute_style_statistics(counts: np.ndarray) -> dict[str, float | None]:
    """Compute style statistics by name from the counts [6] of a player with at least one hand."""
    hands, vpip, pfr, raises, calls, showdowns = counts.tolist()
    values = hands, vpip / hands, pfr / hands, raises / calls if calls else None, showdowns / hands
    return dict(zip(STYLE_UNITS, values, strict=True))


def is_holdem(game: Game) -> bool:
    """Return whether the game is poker with two hole cards and betting before a flop."""
    return (
        isinstance(game, PokerGame | VariableSeatsPoker)
        and game.hole_cards == 2
        and len(game.board_cards) > 1
        and game.board_cards[0] == 0
    )


@jit
def _accumulate_style_counts(definitions, tables, rotation, counts):  # type: ignore[no-untyped-def]
    """Replay the hands in `tables`, and add to the `counts` [2, 6] of a `StyleCounter`."""
    hand_counts = np.zeros((MAX_SEATS, 6), np.int64)  # counts of one hand for each seat
    for i in range(len(tables)):
        game, table = definitions[i], tables[i]
        hand_counts[:] = 0
        moves = table.moves
        start(game, table)
        for move in range(moves):
            seat, action = table.to_act, table.line[move]
            is_raise = action >= RAISE
            is_call = action == CALL and can_fold(table)
            if table.street == 0:
                hand_counts[seat, VPIP_COUNT] |= is_raise or is_call
                hand_counts[seat, PFR_COUNT] |= is_raise
            hand_counts[seat, RAISE_COUNT] += is_raise
            hand_counts[seat, CALL_COUNT] += is_call
            step(game, table, action)
        for seat in range(game.seats):
            hand_counts[seat, HAND_COUNT] = 1
            hand_counts[seat, SHOWDOWN_COUNT] = table.live > 1 and not table.folded[seat]
            counts[int(seat != rotation[i])] += hand_counts[seat]


def measure_winnings_and_style(
    game: Game,
    tree: GameTree | None,
    player_name: str,
    player: Player,
    opponent_name: str,
    opponent: Player,
    deals: int,
    seed: int,
    use_aivat: bool,
) -> tuple[list[Result], list[Result]]:
    """Play a match and return two lists of results.

    The first holds the player's winnings, its share of hands won and, if `tree` is not None, its
    exact expected winnings. The second holds the style statistics of both players; it is empty
    unless the game is hold'em. For the other arguments see `play_match`.
    """
    hands_won: list[np.ndarray] = []

    def record_hands_won(tables: Tables, rotation: np.ndarray) -> None:
        payoffs = tables.payoffs()[np.arange(len(rotation)), rotation]
        hands_won.append(average_by_deal((payoffs > 0).astype(float), rotation))

    style_counter = StyleCounter()
    observers = [record_hands_won] + [style_counter.add_hands] * is_holdem(game)
    winnings = play_match(
        game, player, opponent, opponent_name, deals, seed, observers, use_aivat, player_name
    )
    results = [winnings]
    if tree is not None:
        values = compute_exact_match_values(tree, [player] + [opponent] * (game.seats - 1))
        exact = float(values[0]) * get_result_scale_and_unit(game)[0]
        results.append(Result(player_name, winnings.measure, exact, None, winnings.unit, EXACT))
    blocks, measure = np.concatenate(hands_won), f"hands_won/{opponent_name}"
    results.append(summarize_blocks(player_name, measure, blocks, "of hands", winnings.kind))
    styles = style_counter.list_style_results(player_name, opponent_name) if is_holdem(game) else []
    return results, styles
