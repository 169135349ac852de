"""What two works on Kuhn poker show of their runs.

`NodeAgents`: Vegapit, "Kuhn poker with Torch" (2019): the losses, and the first player's edge.
`Optimal`: "Kuhn poker via RL" (BSM 2025): the distance to optimal of many models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.evaluation.equilibrium import FIRST, SECOND, bets, distance
from poker_rl.evaluation.evaluation import Evaluation, Measures
from poker_rl.evaluation.measurement import Measurement
from poker_rl.games.game import Game
from poker_rl.games.tree import Tree, tree_of
from poker_rl.players.equilibrium import is_kuhn, optimal
from poker_rl.players.player import Player

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from poker_rl.evaluation.figures import Curves

VALUE = -1 / 18  # to the first player, in antes
SEATS = {"first": FIRST, "second": SECOND}


@dataclass(kw_only=True)
class Kuhn(Evaluation):
    """Of Kuhn poker alone."""

    def __post_init__(self, game: Game, load: Callable[[str], Player], seed: int) -> None:
        if game.deal_count() != 6 or not is_kuhn(tree_of(game)):
            raise Refused(f"_target_: {type(self).__name__} is for Kuhn poker, not for {game.name}")
        super().__post_init__(game, load, seed)


@dataclass(kw_only=True)
class NodeAgents(Kuhn):
    """The first player's edge by the critic of his first move: the metric called `edge`."""

    edge: str

    def curves(self, curves: Curves) -> dict[str, Figure | None]:
        """The edge beside the value of the policy and that of the game."""
        from poker_rl.evaluation import drawing, figures

        lines = []
        if self.edge in curves:
            lines.append(
                drawing.Line("critic of the first move", curves[self.axis], curves[self.edge])
            )
        for player in figures.players_of(curves, "value"):
            line = figures.of_player(curves, self.axis, player, "value")
            lines.append(drawing.Line(f"value of {line.name}", line.x, line.y, line.bands, player))
        figure, (ax,) = drawing.canvas(6.4, 4.2)
        drawing.draw(ax, lines)
        chips = tree_of(self._game).game.unit_chips
        ax.axhline(VALUE * chips, color=drawing.INK, linewidth=1, linestyle="--")
        ax.annotate(
            f"{-chips}/18",
            (1, VALUE * chips),
            xycoords=("axes fraction", "data"),
            xytext=(4, -3),
            textcoords="offset points",
            color=drawing.INK,
            fontsize=9,
        )
        drawing.label(ax, "Player 1 edge", self.axis, "won by the first player (chips a hand)")
        drawing.footnote(
            figure,
            "the policy's value is exact, the critic's its own estimate;"
            f" {-chips}/18 is the game's value" + drawing.shaded(lines),
        )
        return super().curves(curves) | {"edge": figure}


@dataclass(kw_only=True)
class Optimal(Kuhn):
    """Squared distance to optimal of both players, or of the first alone beside `others`."""

    def __post_init__(self, game: Game, load: Callable[[str], Player], seed: int) -> None:
        super().__post_init__(game, load, seed)
        self._learners = ["first", "second"] if self.others is None else ["first"]

    def measure(self, tree: Tree, policy: np.ndarray) -> Measures:
        """The distances too."""
        far = dict(zip(SEATS, distance(bets(tree, policy)), strict=True))
        return super().measure(tree, policy) | {
            f"distance_{who}": Measurement(float(far[who]), None, "squared distance", "exact")
            for who in self._learners
        }

    def curves(self, curves: Curves) -> dict[str, Figure | None]:
        """The distances of all instances over the run."""
        from poker_rl.evaluation import drawing, figures

        figure, axes = drawing.canvas(1 + 4.8 * len(self._learners), 4, 1, len(self._learners))
        shown: list[drawing.Line] = []
        for who, ax in zip(self._learners, axes, strict=True):
            measure = f"distance_{who}"
            lines = [
                figures.of_player(curves, self.axis, player, measure)
                for player in figures.players_of(curves, measure)
            ]
            drawing.draw(ax, lines)
            shown += lines
            drawing.label(
                ax, f"{who.capitalize()} player", self.axis, "squared distance to optimal"
            )
        top = max(ax.get_ylim()[1] for ax in axes)
        for ax in axes:
            ax.set_ylim(0, top)
        drawing.footnote(figure, f"exact, from the policies' probabilities{drawing.shaded(shown)}")
        return super().curves(curves) | {"distance": figure}

    def pictures(self, tree: Tree, name: str, player: Player) -> dict[str, Figure | None]:
        """The best and the median model of each learner, and the optimum."""
        from poker_rl.evaluation import policies as pictures

        policies = self.policies(tree, player)
        own = bets(tree, policies)  # [K, 4, 3]
        rows: list[list[pictures.Bets]] = []
        for who, far in zip(SEATS, distance(own), strict=True):
            seat = SEATS[who]
            if who not in self._learners:
                rows[-1].append(pictures.Bets(f"second player: {self.others}", own[0], seat))
                continue
            order = np.argsort(far, kind="stable")
            best, median = order[0], order[len(order) // 2]
            goal = optimal(own[best, 0, 2] / 3)
            goal_of = "optimum for the best" if seat is FIRST else "optimum"
            rows.append(
                [
                    pictures.Bets(f"{who} player, best: {far[best]:.3f}", own[best], seat),
                    pictures.Bets(f"{who} player, median: {far[median]:.3f}", own[median], seat),
                    pictures.Bets(f"{who} player, {goal_of}", goal, seat),
                ]
            )
        title = f"{len(policies)} models by squared distance to optimal"
        return {f"policy_{name}": pictures.kuhn(rows, title)}
