"""Evaluation of the players of a run: exact if the game tree can be enumerated, else by matches.

docs/evaluation.md explains all measures. A player may have several instances, independent copies
that were trained side by side; its results are then the mean and percentiles over the instances.
A policy [I, A] holds the probabilities of A actions at I information sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from poker_rl.config.input_checks import ConfigError, PositiveInt, Range, error_prefix
from poker_rl.evaluation.exact.exploitability import evaluate_policy
from poker_rl.evaluation.matches.duplicate_match import (
    DealCount,
    VarianceReductionMethod,
    play_match,
)
from poker_rl.evaluation.result import EXACT, Result, get_result_scale_and_unit
from poker_rl.games.game import Game
from poker_rl.games.game_tree import GameTree, count_nodes, get_tree
from poker_rl.players.player import Player, compute_checked_probs
from poker_rl.players.player_loader import format_own_snapshot_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The public tree, variance reduction and matplotlib are imported where they are used, because few
# trainings need them before the end.
MAX_TREE_NODES = 20_000_000  # a larger tree needs more memory than `get_tree` allows


@dataclass(kw_only=True)
class PlayerEvaluator:
    """Evaluator of exploitability and value or, in large games, of matches against `opponents`.

    conf/evaluation/default.yaml explains the settings. If `other_seats_player` is set, it has every
    seat but the first in exact evaluations. `nash_conv` is the sum and `exploitability` the mean
    of the best-response gains of all seats, including those of `other_seats_player`.
    """

    max_tree_nodes: Annotated[int, Range(1, MAX_TREE_NODES)]
    other_seats_player: str | None
    percentiles: list[Annotated[int, Range(0, 100)]]
    opponents: list[str]
    earlier_self: bool
    deals: DealCount
    variance_reduction: VarianceReductionMethod
    exact_every: PositiveInt | None
    x_axis: Literal["decisions", "hands", "updates", "iterations"]
    game: InitVar[Game]
    load: InitVar[Callable[[str], Player]]
    seed: InitVar[int]

    def __post_init__(self, game: Game, load: Callable[[str], Player], seed: int) -> None:
        self._game, self._load_player = game, load
        others = self.other_seats_player
        with error_prefix("other_seats_player"):
            self._other_seats_player = None if others is None else load(others)
        with error_prefix("opponents"):
            self._opponents = {name: load(name) for name in self.opponents}
        if self.uses_aivat:
            from poker_rl.evaluation.variance_reduction.aivat import check_is_poker

            check_is_poker(game)
        self._play_match: Callable[..., Result] = partial(
            play_match, game, deals=self.deals, seed=seed, use_aivat=self.uses_aivat
        )

    @property
    def uses_aivat(self) -> bool:
        """True if AIVAT reduces the variance of match results."""
        return self.variance_reduction == "aivat"

    def check_exact_possible(self, players: Iterable[Player]) -> None:
        """Raise `ConfigError` if exact evaluation is impossible, such as on too large a tree."""
        if self.tree is None:
            from poker_rl.games.public.tree import PublicTree

            # ConfigError if the public tree is too large
            PublicTree(self._game, merge_suits=all(one.is_suit_invariant for one in players))
            if self.other_seats_player is not None:
                raise ConfigError(
                    "needs evaluation.other_seats_player=null: the player must have all seats"
                )

    @cached_property
    def tree(self) -> GameTree | None:
        """The game tree; None if it has more than `max_tree_nodes` nodes or can't be built."""
        if count_nodes(self._game, self.max_tree_nodes) > self.max_tree_nodes:
            return None
        try:
            return get_tree(self._game)
        except ConfigError:
            return None

    def evaluate(
        self,
        players: Mapping[str, Player],
        halfway_snapshot: Path | None = None,
        exact: bool = False,
    ) -> list[Result]:
        """Return all results of all players; every evaluation of a run plays the same deals.

        If the game tree can be enumerated, all results are exact, and the other arguments have no
        effect. Otherwise players play matches, and `exact` adds exact results on the public tree.
        With the setting `earlier_self`, each player with one instance also plays its version in
        `halfway_snapshot`, the newest snapshot from the first half of the training so far.
        """
        results = []
        for name, player in players.items():
            results += self.evaluate_player(name, player, exact)
        if self.earlier_self and self.tree is None and halfway_snapshot is not None:
            opponent_name = format_own_snapshot_name(halfway_snapshot)
            for name, player in players.items():
                if player.instance_count == 1:
                    match = player, self._load_player(f"{halfway_snapshot}:{name}"), opponent_name
                    winnings = self._play_match(*match, player_name=name)
                    results.append(replace(winnings, measure="against/earlier_self"))
        return results

    def evaluate_player(self, name: str, player: Player, exact: bool = False) -> list[Result]:
        """Return all results of a player; with several instances, their means and percentiles."""
        if self.tree is None:
            results_by_instance = [
                self._evaluate_without_game_tree(name, player.select_instance(k), exact)
                for k in range(player.instance_count)
            ]
        else:
            policies = self.compute_instance_policies(self.tree, player)
            if self._other_seats_player is not None:
                others = self.compute_instance_policies(self.tree, self._other_seats_player)
                policies = np.where((self.tree.infoset_seat == 0)[:, None], policies, others)
            results_by_instance = [self.evaluate_exactly(name, self.tree, p) for p in policies]
        results_by_measure = zip(*results_by_instance, strict=True)
        return list(chain.from_iterable(map(self._summarize_instances, results_by_measure)))

    def _evaluate_without_game_tree(self, name: str, player: Player, exact: bool) -> list[Result]:
        results = []
        if exact:
            from poker_rl.evaluation.exact.public_tree_evaluator import evaluate_on_public_tree

            results = self._to_exact_results(name, *evaluate_on_public_tree(self._game, player))
        for opponent_name, opponent in self._opponents.items():
            results.append(self._play_match(player, opponent, opponent_name, player_name=name))
        return results

    def compute_instance_policies(self, tree: GameTree, player: Player) -> np.ndarray:
        """Return the policies of a player's K instances on a game tree, [K, I, A]."""
        records = np.tile(tree.infoset_records, player.instance_count)
        probs = compute_checked_probs(self._game, player, records)
        return probs.reshape(player.instance_count, *tree.legal_mask.shape)

    def evaluate_exactly(self, name: str, tree: GameTree, policy: np.ndarray) -> list[Result]:
        """Return the exact results of a policy [I, A] that acts in all seats."""
        seat_values, best_values, _ = evaluate_policy(tree, policy)
        gains = np.maximum(best_values - seat_values, 0.0)
        return self._to_exact_results(name, gains, seat_values)

    def _to_exact_results(
        self, name: str, seat_gains: np.ndarray, seat_values: np.ndarray
    ) -> list[Result]:
        """Convert best-response gains and values in chips a hand, both [seats], to results."""
        others, (scale, unit) = self.other_seats_player, get_result_scale_and_unit(self._game)
        kind = EXACT if others is None else f"{EXACT}, beside {others}"
        nash_conv, chips = seat_gains.sum() * scale, "chips a hand"
        results = {
            "exploitability": (nash_conv / len(seat_gains), unit),
            "nash_conv": (nash_conv, unit),
            "value": (seat_values[0], chips),
        }
        if len(seat_values) > 2:
            results |= {f"value/seat_{i}": (value, chips) for i, value in enumerate(seat_values)}
        results |= {f"gain/seat_{i}": (gain * scale, unit) for i, gain in enumerate(seat_gains)}
        return [
            Result(name, measure, float(value), None, unit, kind)
            for measure, (value, unit) in results.items()
        ]

    def _summarize_instances(self, results: Sequence[Result]) -> list[Result]:
        """Summarize the results of all instances for one measure as a mean and percentiles.

        The half-width of the mean is the mean of the instances' half-widths, an upper bound even if
        all instances play the same deals. The half-width of a percentile is unknown; the largest
        of any instance replaces it. The result of a single instance is returned unchanged.
        """
        if len(results) == 1:
            return list(results)
        values = [result.value for result in results]
        half_widths = [result.half_width for result in results if result.half_width is not None]
        mean_half_width = float(np.mean(half_widths)) if half_widths else None
        mean = replace(results[0], value=float(np.mean(values)), half_width=mean_half_width)
        wide = replace(mean, half_width=max(half_widths, default=None))
        percentile_values = np.percentile(values, self.percentiles).tolist()
        return [mean] + [
            replace(wide, measure=f"{mean.measure}/p{percent}", value=value)
            for percent, value in zip(self.percentiles, percentile_values, strict=True)
        ]

    def build_figures(
        self, players: Mapping[str, Player], metrics_path: Path | None
    ) -> dict[str, Figure]:
        """Return figures by name: training curves and, in small games and hold'em, policies.

        Without `metrics_path` there are no curves. Policies are those of a player's first instance.
        """
        from poker_rl.evaluation.plots.policy_and_cross_table_figures import (
            build_hand_grid_figures,
            draw_policy,
        )
        from poker_rl.evaluation.plots.run_curves import build_curve_figures

        figures: dict[str, Figure] = {}
        if metrics_path is not None:
            unit = get_result_scale_and_unit(self._game)[1]
            figures |= build_curve_figures(metrics_path, self.x_axis, unit, self.other_seats_player)
        figures |= build_hand_grid_figures(self._game, players)
        if self.tree is not None:
            for name, player in players.items():
                policy = self.compute_instance_policies(self.tree, player)[0]
                if (figure := draw_policy(self.tree, policy, name)) is not None:
                    figures[f"policy_{name}"] = figure
        return figures
