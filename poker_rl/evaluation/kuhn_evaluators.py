"""Evaluators that draw the figures of two publications on Kuhn poker.

`KuhnEdgeEvaluator` draws losses and the first player's edge, the chips it wins in a hand, as
Vegapit, "Kuhn poker with Torch" (2019). `KuhnDistanceEvaluator` draws the distance to optimal of
many models, as "Kuhn poker via RL" (BSM 2025).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.kuhn_bet_probs import (
    FIRST_PLAYER_SITUATIONS,
    SECOND_PLAYER_SITUATIONS,
    compute_squared_distances,
    extract_bet_probs,
)
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.evaluation.result import EXACT, Result
from poker_rl.games.game import Game
from poker_rl.games.game_tree import GameTree, get_tree
from poker_rl.players.bots.kuhn_equilibrium_bot import compute_equilibrium_bet_probs, is_kuhn
from poker_rl.players.player import Player

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from poker_rl.evaluation.plots.run_figures import Curves

GAME_VALUE = -1 / 18  # to the first player, in antes
SITUATIONS_BY_PLAYER = {"first": FIRST_PLAYER_SITUATIONS, "second": SECOND_PLAYER_SITUATIONS}


@dataclass(kw_only=True)
class KuhnEvaluator(PlayerEvaluator):
    """Evaluator that accepts no game but Kuhn poker."""

    def __post_init__(self, game: Game, load: Callable[[str], Player], seed: int) -> None:
        if game.count_deals() != 6 or not is_kuhn(get_tree(game)):
            raise ConfigError(
                f"_target_: {type(self).__name__} is for Kuhn poker, not for {game.name}"
            )
        super().__post_init__(game, load, seed)


@dataclass(kw_only=True)
class KuhnEdgeEvaluator(KuhnEvaluator):
    """Evaluator of the edge that the critic estimates at the first move, tag `edge_metric`."""

    edge_metric: str

    def build_curve_figures(self, curves: Curves) -> dict[str, Figure | None]:
        """Return a run's figures and one of the edge, the policy's value and the game's value."""
        from poker_rl.evaluation.plots import plotting, run_figures

        lines, x = [], curves[self.x_axis]
        if self.edge_metric in curves:
            critic = curves[self.edge_metric]
            lines.append(plotting.CurveLine("critic of the first move", x, critic))
        for player in run_figures.list_players(curves, "value"):
            line = run_figures.build_player_line(curves, self.x_axis, player, "value")
            lines.append(
                plotting.CurveLine(f"value of {line.name}", line.x, line.y, line.bands, player)
            )
        figure, (ax,) = plotting.create_figure(6.4, 4.2)
        plotting.draw_lines(ax, lines)
        ante_chips = get_tree(self._game).game.unit_chips
        ax.axhline(GAME_VALUE * ante_chips, color=plotting.INK_COLOR, linewidth=1, linestyle="--")
        ax.annotate(
            f"{-ante_chips}/18",
            (1, GAME_VALUE * ante_chips),
            xycoords=("axes fraction", "data"),
            xytext=(4, -3),
            textcoords="offset points",
            color=plotting.INK_COLOR,
            fontsize=9,
        )
        plotting.label_axes(
            ax, "Player 1 edge", self.x_axis, "won by the first player (chips a hand)"
        )
        plotting.add_footnote(
            figure,
            "the policy's value is exact, the critic's its own estimate;"
            f" {-ante_chips}/18 is the game's value" + plotting.describe_bands(lines),
        )
        return super().build_curve_figures(curves) | {"edge": figure}


@dataclass(kw_only=True)
class KuhnDistanceEvaluator(KuhnEvaluator):
    """Evaluator of squared distances to optimal, without that of `other_seats_player`."""

    def __post_init__(self, game: Game, load: Callable[[str], Player], seed: int) -> None:
        super().__post_init__(game, load, seed)
        self._learning_players = (
            ["first", "second"] if self.other_seats_player is None else ["first"]
        )

    def evaluate_policy(self, name: str, tree: GameTree, policy: np.ndarray) -> list[Result]:
        """Return the exact results of a policy [I, A] and its distances to optimal."""
        distances = compute_squared_distances(extract_bet_probs(tree, policy))
        return super().evaluate_policy(name, tree, policy) + [
            Result(name, f"distance_{position}", float(distance), None, "squared distance", EXACT)
            for position, distance in zip(SITUATIONS_BY_PLAYER, distances, strict=True)
            if position in self._learning_players
        ]

    def build_curve_figures(self, curves: Curves) -> dict[str, Figure | None]:
        """Return a run's figures and one of the distances, with bands over the instances."""
        from poker_rl.evaluation.plots import plotting, run_figures

        figure, axes = plotting.create_figure(
            1 + 4.8 * len(self._learning_players), 4, 1, len(self._learning_players)
        )
        drawn_lines: list[plotting.CurveLine] = []
        for position, ax in zip(self._learning_players, axes, strict=True):
            measure = f"distance_{position}"
            lines = [
                run_figures.build_player_line(curves, self.x_axis, player, measure)
                for player in run_figures.list_players(curves, measure)
            ]
            plotting.draw_lines(ax, lines)
            drawn_lines += lines
            plotting.label_axes(
                ax, f"{position.capitalize()} player", self.x_axis, "squared distance to optimal"
            )
        max_y = max(ax.get_ylim()[1] for ax in axes)
        for ax in axes:
            ax.set_ylim(0, max_y)
        plotting.add_footnote(
            figure, f"exact, from the policies' probabilities{plotting.describe_bands(drawn_lines)}"
        )
        return super().build_curve_figures(curves) | {"distance": figure}

    def build_policy_figures(
        self, tree: GameTree, name: str, player: Player
    ) -> dict[str, Figure | None]:
        """Return a figure of the best and the median instance of each learning player."""
        from poker_rl.evaluation.plots.policy_figures import KuhnPanel, draw_kuhn_policies

        policies = self.compute_table_policies(tree, player)
        bet_probs = extract_bet_probs(tree, policies)  # [K, 4, 3]
        panel_rows: list[list[KuhnPanel]] = []
        for (position, situations), distances in zip(
            SITUATIONS_BY_PLAYER.items(), compute_squared_distances(bet_probs), strict=True
        ):
            if position not in self._learning_players:
                title = f"{position} player: {self.other_seats_player}"
                panel_rows[-1].append(KuhnPanel(title, bet_probs[0], situations))
                continue
            order = np.argsort(distances, kind="stable")
            best, median = order[0], order[len(order) // 2]
            optimum = compute_equilibrium_bet_probs(bet_probs[best, 0, 2] / 3)
            optimum_title = "optimum for the best" if position == "first" else "optimum"
            panels = {
                f"best: {distances[best]:.3f}": bet_probs[best],
                f"median: {distances[median]:.3f}": bet_probs[median],
                optimum_title: optimum,
            }
            panel_rows.append(
                [
                    KuhnPanel(f"{position} player, {title}", probs, situations)
                    for title, probs in panels.items()
                ]
            )
        title = f"{len(policies)} models by squared distance to optimal"
        return {f"policy_{name}": draw_kuhn_policies(panel_rows, title)}
