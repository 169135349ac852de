"""`poker-rl evaluate seats=[…]`: a mixed table, measured once."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from poker_rl.config.settings import about
from poker_rl.evaluation.evaluate import Wanted
from poker_rl.evaluation.kept import keep
from poker_rl.evaluation.report import Report
from poker_rl.evaluation.seated import demand_seats, seat_all
from poker_rl.players.load import full_spec
from poker_rl.storage.disk import make_folder, say


def evaluate_seats(seats: Sequence[str], wanted: Wanted) -> Report:
    """Measure the players of a mixed table: print it, and keep it in a folder under the time.

    Each deal is played in every rotation of the players.

    Args:
        seats: a player for each seat, in their order around the table, as `wanted.load` takes them.
        wanted: of which the seats take no opponents, bounds and figures.

    Raises:
        Refused: before anything is computed: if a player can't be loaded, there are more or fewer
            than the game has seats, or nothing can be written.
    """
    game, evaluation, out = wanted.game, wanted.evaluation, wanted.out
    with about("seats"):
        demand_seats(game, len(seats))
        order = [full_spec(spec) for spec in seats]
        players = {name: wanted.load(name) for name in dict.fromkeys(order)}
    if out is not None:
        with about("out"):
            make_folder(out)
    began = datetime.now()
    report = Report(
        time=began,
        command=shlex.join(["poker-rl", *sys.argv[1:]]),
        game=game,
        evaluation=asdict(evaluation) | {"reduce": "none", "control": None},  # of two players alone
        snapshot=None,
        headline=None,
        seed=wanted.seed,
        deals=wanted.deals,
        measures={},
        matches=[],
        kuhn={},
        table=seat_all(game, evaluation.tree, order, players, wanted.deals, wanted.seed),
    )
    say(report.text())
    if out is not None:
        keep(report, out)
        say(f"\nkept: {out / report.stem}.json, .csv")
    return report
