"""Everything that is measured in a match: winnings, hands won, returns and playing style."""

from __future__ import annotations

from dataclasses import dataclass

from poker_rl.evaluation.matches.duplicate_match import (
    compute_exact_values,
    get_result_unit,
    play_match,
)
from poker_rl.evaluation.matches.playing_style import PlayingStyle, StyleCounter, is_holdem
from poker_rl.evaluation.matches.return_distribution import ReturnCounter, ReturnDistribution
from poker_rl.evaluation.result import EXACT, Result
from poker_rl.evaluation.variance_reduction.variance_reducers import ReducerFactory
from poker_rl.games.game import Game
from poker_rl.games.game_tree import GameTree
from poker_rl.players.player import Player, compute_checked_probs


@dataclass(frozen=True)
class MatchResults:
    """Measurements of one match.

    Attributes:
        results: the first player's winnings, their exact value if the game can be enumerated, and
            its share of hands won.
        styles: playing styles of both players; empty except in hold'em.
        distribution: distribution of what the first player wins in a hand.
    """

    results: list[Result]
    styles: list[PlayingStyle]
    distribution: ReturnDistribution

    @property
    def winnings(self) -> Result:
        """Winnings of the first player."""
        return self.results[0]


def measure_match(
    game: Game,
    tree: GameTree | None,
    player_name: str,
    player: Player,
    opponent_name: str,
    opponent: Player,
    deals: int,
    seed: int,
    reducer_factory: ReducerFactory | None,
) -> MatchResults:
    """Play a match and measure it; the arguments are those of `play_match` and the game's tree."""
    return_counter = ReturnCounter(game)
    style_counter = StyleCounter(game) if is_holdem(game) else None
    observers = [return_counter.add_hands]
    if style_counter is not None:
        observers.append(style_counter.add_hands)
    winnings = play_match(
        game, player, opponent, opponent_name, deals, seed, observers, reducer_factory, player_name
    )
    results = [winnings]
    if tree is not None:
        policies = [
            compute_checked_probs(game, one, tree.infoset_records) for one in (player, opponent)
        ]
        values = compute_exact_values(tree, [policies[0]] + [policies[1]] * (game.seats - 1))
        exact = float(values[0]) * get_result_unit(game)[0]
        results.append(Result(player_name, winnings.measure, exact, None, winnings.unit, EXACT))
    distribution = return_counter.build_distribution(player_name, opponent_name)
    results.append(return_counter.compute_share_of_hands_won(player_name, opponent_name))
    styles = (
        [] if style_counter is None else style_counter.compute_styles(player_name, opponent_name)
    )
    return MatchResults(results, styles, distribution)
