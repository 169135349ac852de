"""What `poker-rl evaluate` does once settings are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from poker_rl.config.build import build_as, convert_fields
from poker_rl.config.settings import Count, Natural, Refused, Seed, about
from poker_rl.evaluation import kept
from poker_rl.evaluation.evaluate import Wanted, evaluate_players, evaluate_run
from poker_rl.evaluation.evaluate_seats import evaluate_seats
from poker_rl.evaluation.evaluation import Evaluation
from poker_rl.evaluation.matches import Deals
from poker_rl.evaluation.reduction import Reduce
from poker_rl.games.game import Game
from poker_rl.players.load import full_spec
from poker_rl.players.opponents import Opponents
from poker_rl.storage.disk import demand_own, say
from poker_rl.training.device import prepare_device
from poker_rl.training.opponents import player_loader
from poker_rl.training.run_config import read_config
from poker_rl.training.signals import interrupt_at_once

OF_PLAYERS = (  # settings that seats go without
    *("player", "against", "earlier", "figures", "exact", "lbr", "best_responses"),
    *("reduce", "control"),
)
OWN = "self"  # among the seats: the player of the run
NOT_KEPT = "\nnothing was written; out=FOLDER keeps it as JSON and CSV"


@dataclass(kw_only=True, frozen=True)
class Evaluate:
    """The settings of `poker-rl evaluate`."""

    run: str | None
    checkpoint: Natural | None
    player: str | None
    against: list[str]
    seats: list[str]
    earlier: Natural | None
    deals: Deals | None
    reduce: Reduce | None
    control: str | None
    figures: bool
    exact: bool
    lbr: bool
    best_responses: list[str]
    out: str | None
    show: bool
    seed: Seed
    device: Literal["auto", "cpu", "cuda"]
    threads: Count


def evaluate(
    settings: dict[str, Any], chosen: Mapping[str, Any] | None, conf: Sequence[Path]
) -> None:
    """Measure the players of a run folder, or a player of a chosen game.

    Args:
        chosen: the settings of `game` and `evaluation`, None if they are those of a run.
        conf: the folders of the options.

    Raises:
        Refused: if any setting can't be accepted.
    """
    asked = Evaluate(**convert_fields(Evaluate, settings, "", {}))
    if asked.run is not None and chosen is not None:
        raise Refused(
            "game, evaluation: a run has its own; leave them out, or give game=NAME without run"
        )
    if asked.show:
        show(asked)
        return
    if asked.run is None and chosen is None:
        raise Refused("run: missing; give run=FOLDER, or game=NAME and player=NAME or seats=[…]")
    device = prepare_device(asked.device, asked.threads, asked.seed)
    wanted = _wanted(asked, chosen, conf, device)
    if asked.run is not None and asked.out is None:  # then it is written into
        with about("run"):
            demand_own(Path(asked.run))
    if asked.run is None and asked.checkpoint is not None:
        raise Refused("checkpoint: is of a run; here it is FOLDER@DECISIONS")
    if asked.seats:
        evaluate_table(asked, wanted)
    elif asked.run is not None:
        with interrupt_at_once():
            evaluate_run(
                Path(asked.run),
                wanted,
                device=device,
                checkpoint=asked.checkpoint,
                player=asked.player,
                earlier=asked.earlier,
            )
    else:
        evaluate_player(asked, wanted)


def _wanted(
    asked: Evaluate,
    chosen: Mapping[str, Any] | None,
    conf: Sequence[Path],
    device: torch.device,
) -> Wanted:
    """What is to be measured, in the game of the run or in the one that was chosen."""
    run = None if asked.run is None else Path(asked.run)
    cfg = chosen if run is None else read_config(run, "run")
    assert cfg is not None
    own = {"deals": asked.deals, "reduce": asked.reduce, "control": asked.control}
    measured = cfg["evaluation"] | {key: value for key, value in own.items() if value is not None}
    game: Game = build_as(Game, cfg["game"], "game")
    opponents = None if run is None else Opponents(run)
    evaluation: Evaluation = build_as(
        Evaluation,
        measured,
        "evaluation",
        game=game,
        load=player_loader(game, device, conf, opponents),
        seed=asked.seed,
    )
    return Wanted(
        game=game,
        evaluation=evaluation,
        load=player_loader(game, device, conf),
        deals=evaluation.deals,
        seed=asked.seed,
        against=asked.against,
        exact=asked.exact,
        lbr=asked.lbr,
        best_responses=asked.best_responses,
        figures=asked.figures,
        out=None if asked.out is None else Path(asked.out),
    )


def evaluate_player(asked: Evaluate, wanted: Wanted) -> None:
    """Measure one player that is of no run, or named by its folder.

    Raises:
        Refused: if it is missing, or anything is asked for that only a run has.
    """
    if asked.earlier:
        raise Refused("earlier: snapshots are of a run, give run=FOLDER")
    if asked.figures and asked.out is None:
        raise Refused("figures: without a run give out=FOLDER for them")
    if asked.player is None:
        raise Refused("player: missing; give player=NAME or player=FOLDER")
    with about("player"):
        players = {full_spec(asked.player): wanted.load(asked.player)}
    with interrupt_at_once():
        evaluate_players(players, wanted)
    if asked.out is None:
        say(NOT_KEPT)


def evaluate_table(asked: Evaluate, wanted: Wanted) -> None:
    """Measure the players of a mixed table, among them perhaps that of the run.

    Raises:
        Refused: if anything is asked for that such a table has not.
    """
    for key in OF_PLAYERS:
        if getattr(asked, key):
            raise Refused(f"{key}: goes without seats, which name the player of every seat")
    order, out = asked.seats, wanted.out
    if asked.run is not None:
        own = asked.run if asked.checkpoint is None else f"{asked.run}@{asked.checkpoint}"
        order = [own if spec == OWN else spec for spec in order]
        out = Path(asked.run) / kept.EVALUATIONS if out is None else out
    with interrupt_at_once():
        evaluate_seats(order, replace(wanted, out=out))
    if out is None:
        say(NOT_KEPT)


def show(asked: Evaluate) -> None:
    """Print a table of all evaluations of a run, or in the folder `out`.

    Raises:
        Refused: if there are none.
    """
    if asked.out is not None:
        say(kept.table(Path(asked.out)))
    elif asked.run is not None:
        read_config(Path(asked.run), "run")
        say(kept.table(Path(asked.run) / kept.EVALUATIONS))
    else:
        raise Refused("show: of which folder? give run=FOLDER or out=FOLDER")
