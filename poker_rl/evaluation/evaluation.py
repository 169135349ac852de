"""How the players of a run are measured: exactly where the game can be enumerated, else by matches.

Where it is asked for, games of poker with a small public tree are measured exactly too.

Tags are `<player>/<measure>`:

    exploitability   NashConv a seat              nash_conv         sum of the seats' gains
    value            won by the first seat        value/seat_<i>    with three seats or more
    gain/seat_<i>    won more by a best response there
    against/<name>   won in matches, in games too large to enumerate; the name `earlier_self` is
                     the same player's newest snapshot from at most half as many decisions

A player of several instances gives the mean over them and percentiles, `<player>/<measure>/p50`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from poker_rl.config.settings import Count, Range, Refused, about
from poker_rl.evaluation import grid
from poker_rl.evaluation.equilibrium import FIRST, SECOND, bets, member
from poker_rl.evaluation.exploitability import exploitability, gains, values
from poker_rl.evaluation.matches import Deals, against, unit_of
from poker_rl.evaluation.measurement import PERCENTILE, Measurement
from poker_rl.evaluation.reduction import Make, Reduce, reduction
from poker_rl.evaluation.walked import cost, demand_walk, walk
from poker_rl.games.game import Game
from poker_rl.games.tree import Tree, row_count, tree_of
from poker_rl.players.equilibrium import is_kuhn
from poker_rl.players.load import itself
from poker_rl.players.player import Player, policy_at

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from poker_rl.evaluation.figures import Curves

Measures = dict[str, Measurement]

MOST_NODES = 20_000_000  # no tree of more fits into `MOST_BYTES`


@dataclass(kw_only=True)
class Evaluation:
    """Exact exploitability and value of every player, or what it wins from bots.

    With a player called `others` in every seat but the first, it is the first seat's play that is
    measured: what `gain/seat_0` and the others tell is then of the table as it sits, and so are
    `nash_conv`, their sum, and `exploitability`, their mean.

    Args:
        load: builds the player of a name in `conf/player` or of a run folder.
    """

    most_nodes: Annotated[int, Range(1, MOST_NODES)]
    others: str | None
    percentiles: list[Annotated[int, Range(0, 100)]]
    opponents: list[str]
    earlier_self: bool
    deals: Deals
    reduce: Reduce
    control: str | None
    exact_every: Count | None
    axis: Literal["decisions", "hands", "updates", "iterations"]
    smoothing: Annotated[float, Range(0, 1, open_low=True)]
    game: InitVar[Game]
    load: InitVar[Callable[[str], Player]]
    seed: InitVar[int]

    def __post_init__(self, game: Game, load: Callable[[str], Player], seed: int) -> None:
        self._game, self._load, self._seed = game, load, seed
        with about("others"):
            self._others = None if self.others is None else load(self.others)
        with about("opponents"):
            for name in self.opponents:
                if self.opponents.count(name) > 1:
                    raise Refused(f"{name} is named twice; name each player once")
                if PERCENTILE.search(f"/{name}"):
                    what = "ends as the name of a percentile does"
                    raise Refused(f"{name} {what}; say which player of it, as in {name}:current")
            self._opponents = {name: load(name) for name in self.opponents}
        self.reduction = self.reduced(self.reduce, self.control)
        if self.exact_every is not None:
            with about("exact_every"):
                self.demand_exact()

    def reduced(self, reduce: Reduce, control: str | None) -> Make | None:
        """What takes luck out of matches.

        Raises:
            Refused: if the game has no such reduction, or the control player can't be loaded.
        """
        with about("control"):
            player = None if control is None else self._load(control)
        return reduction(reduce, self._game, player)

    def demand_exact(self) -> None:
        """Refuse to measure exactly what is too large, or a player who has not all seats.

        Raises:
            Refused: if so.
        """
        if self.tree is None:
            demand_walk(self._game)
            if self.others is not None:
                raise Refused("goes without evaluation.others: the player has to have all seats")

    def exact_costs(self, players: Mapping[str, Player]) -> list[str]:
        """How long each player's exact value will take, and how much memory, for people.

        Nothing is told where the game is enumerated, which takes no time.

        Raises:
            Refused: as `demand_exact`, or if the public tree is too large to be walked for a player
                who is shown the names of suits.
        """
        self.demand_exact()
        if self.tree is not None:
            return []
        return [f"{name}: {cost(self._game, one.instance(0))}" for name, one in players.items()]

    @cached_property
    def tree(self) -> Tree | None:
        """The game's tree, None if it has more than `most_nodes` nodes or can't be enumerated."""
        if row_count(self._game, self.most_nodes) > self.most_nodes:
            return None
        try:
            return tree_of(self._game)
        except Refused:
            return None

    def evaluate(
        self,
        players: Mapping[str, Player],
        half: Path | None = None,
        exact: bool = False,
    ) -> Measures:
        """Every measure of every player, by tag; see the protocol."""
        measured = {
            f"{name}/{measure}": one
            for name, player in players.items()
            for measure, one in self.measures(player, exact).items()
        }
        if self.earlier_self and self.tree is None and half is not None:
            for name, player in players.items():
                if player.instances == 1:
                    measured[f"{name}/against/earlier_self"] = against(
                        self._game,
                        player,
                        self._load(f"{half}:{name}"),
                        itself(half),
                        self.deals,
                        self._seed,
                        reduce=self.reduction,
                    )
        return measured

    def measures(self, player: Player, exact: bool = False) -> Measures:
        """Every measure of a player: of several instances the means and the percentiles.

        Args:
            exact: walk the public tree of a game that is too large to enumerate.
        """
        if self.tree is None:
            each = [player.instance(k) for k in range(player.instances)]
            sample = [(self.walk(one) if exact else {}) | self.play(one) for one in each]
        else:
            sample = [self.measure(self.tree, each) for each in self.policies(self.tree, player)]
        measured: Measures = {}
        for measure in sample[0]:
            measured |= self.spread(measure, [one[measure] for one in sample])
        return measured

    def play(self, player: Player) -> Measures:
        """What a player wins from each opponent."""
        return {
            f"against/{name}": against(
                self._game, player, opponent, name, self.deals, self._seed, reduce=self.reduction
            )
            for name, opponent in self._opponents.items()
        }

    def walk(self, player: Player) -> Measures:
        """Exact measures of a player by a walk of the public tree."""
        result = walk(self._game, player)
        return self.gain_measures(result.gains, np.array([result.value, -result.value]))

    def policies(self, tree: Tree, player: Player) -> np.ndarray:
        """The policies of a player's K instances, [K, I, A], the others in their seats."""
        policies = self.own_policies(tree, player)
        if self._others is None:
            return policies
        others = policy_at(self._game, self._others, tree.records)
        return np.where((tree.owner == 0)[:, None], policies, others)

    def own_policies(self, tree: Tree, player: Player) -> np.ndarray:
        """What a player's K instances do in every seat, [K, I, A]."""
        one = player.instances == 1
        records = tree.records if one else np.tile(tree.records, player.instances)
        chances = policy_at(self._game, player, records)
        return chances.reshape(player.instances, *tree.legal.shape)

    def measure(self, tree: Tree, policy: np.ndarray) -> Measures:
        """Exact measures of a policy [I, A]."""
        return self.gain_measures(gains(tree, policy), values(tree, policy))

    def gain_measures(self, gain: np.ndarray, value: np.ndarray) -> Measures:
        """What each seat gains by a best response and wins by the policy, [seats] chips."""
        scale, unit = unit_of(self._game)
        seats = range(self._game.seats)
        won = {"value": value[0]} | {f"value/seat_{i}": value[i] for i in seats if len(seats) > 2}
        distance = float(gain.sum()) * scale
        kind = "exact" if self.others is None else f"exact, beside {self.others}"
        told = {"exploitability": distance / len(seats), "nash_conv": distance}
        gained = {f"gain/seat_{i}": gain[i] * scale for i in seats}
        return {
            tag: Measurement(float(number), None, "chips a hand" if tag in won else unit, kind)
            for tag, number in (told | won | gained).items()
        }

    def median(self, tree: Tree, policies: np.ndarray) -> np.ndarray:
        """The policy [I, A] with the median exploitability of policies [K, I, A]."""
        order = np.argsort([exploitability(tree, policy) for policy in policies], kind="stable")
        median: np.ndarray = policies[order[len(order) // 2]]
        return median

    def spread(self, tag: str, sample: Sequence[Measurement]) -> Measures:
        """A measure of one instance as it is; of several the mean and the percentiles.

        They play the same deals, so the interval of the mean is at most the mean of theirs, which
        is told. Of a percentile it is not known: the widest of theirs stands for it.
        """
        if len(sample) == 1:
            return {tag: sample[0]}
        results = [one.value for one in sample]
        half = [one.half_width for one in sample if one.half_width is not None]
        mean, widest = (float(np.mean(half)), max(half)) if half else (None, None)
        unit, kind = sample[0].unit, sample[0].kind
        levels = zip(self.percentiles, np.percentile(results, self.percentiles), strict=True)
        return {tag: Measurement(float(np.mean(results)), mean, unit, kind)} | {
            f"{tag}/p{percent}": Measurement(float(value), widest, unit, kind)
            for percent, value in levels
        }

    def figures(self, players: Mapping[str, Player], metrics: Path | None) -> dict[str, Figure]:
        """Curves from a metrics.jsonl, if given, and the players' policies.

        These are all of a policy where the game is small, and of hold'em the starting hands.
        """
        from poker_rl.evaluation.figures import read  # matplotlib takes a while to import

        drawn = {} if metrics is None else self.curves(read(metrics))
        drawn |= grid.figures(self._game, players)
        if self.tree is not None:
            for name, player in players.items():
                drawn |= self.pictures(self.tree, name, player)
        return {name: figure for name, figure in drawn.items() if figure is not None}

    def networks(
        self, metrics: Path, selves: Mapping[str, Sequence[tuple[int, Measurement]]]
    ) -> dict[str, Figure]:
        """Each player's matches, those of a metrics.jsonl and those with its earlier selves.

        Args:
            selves: by player, what it won from itself at so many decisions.
        """
        from poker_rl.evaluation import figures

        unit = unit_of(self._game)[1]
        drawn = figures.networks(figures.read(metrics), self.axis, unit, selves)
        return {} if drawn is None else {"networks": drawn}

    def curves(self, curves: Curves) -> dict[str, Figure | None]:
        """Figures over the run, None where there is nothing to draw."""
        from poker_rl.evaluation import figures

        unit = unit_of(self._game)[1]
        return {
            "exploitability": figures.exploitability(curves, self.axis, unit, self.others),
            "matches": figures.matches(curves, self.axis, unit),
            "losses": figures.losses(curves, self.axis, self.smoothing),
        }

    def pictures(self, tree: Tree, name: str, player: Player) -> dict[str, Figure | None]:
        """Figures of a player's own policy; of several instances the median by exploitability."""
        from poker_rl.evaluation import policies as pictures
        from poker_rl.evaluation.figures import brief

        policies = self.own_policies(tree, player)
        policy, title = self.median(tree, policies), f"Policy: {brief(name).replace('_', ' ')}"
        if len(policies) > 1:
            title += f", median of {len(policies)} by exploitability"
        if not is_kuhn(tree):
            return {f"policy_{name}": pictures.policy(tree, policy, title)}
        own = bets(tree, policy)
        alpha = own[0, 0]
        rows = [
            [
                pictures.Bets(f"{who} player", own, seat),
                pictures.Bets(f"equilibrium{at}", member(own), seat),
            ]
            for who, seat, at in (
                ("first", FIRST, f" at alpha {min(alpha, 1 / 3):.2f}"),
                ("second", SECOND, ""),
            )
        ]
        return {f"policy_{name}": pictures.kuhn(rows, title)}
