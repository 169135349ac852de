"""Learners and solvers by the names that they have in `conf/algo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from poker_rl.algos.algorithm import Algorithm
from poker_rl.config.build import build_as, class_and_settings, takes
from poker_rl.config.horizons import resolved
from poker_rl.config.settings import Refused
from poker_rl.config.threads import set_default_threads
from poker_rl.games.game import Game
from poker_rl.learning.agents import Given
from poker_rl.nets.dense import Net
from poker_rl.players.player import Player

CPU = torch.device("cpu")
COUNTING = ("algo", "net", "budget", "budget_unit", "experiment")  # settings that a learner is of


def load_algorithm(
    name: str,
    game: Game,
    *overrides: str,
    seed: int = 0,
    device: torch.device = CPU,
) -> Algorithm:
    """The learner in self-play that `poker-rl train algo=NAME` begins with, of a plug-in too.

    As there, this process computes on one thread, unless `poker_rl.config.set_threads` was called.

    Args:
        overrides: settings of one's own as the command line takes them, such as `algo.gamma=0.9`,
            `net=mlp_large` or `budget=1e7`, which schedules may follow.

    Raises:
        Refused: if there is no such algorithm, a setting can't be accepted, or it does not play
            this game.
    """
    from poker_rl.config.compose import composed  # late: only names as on a command line need hydra

    if isinstance(game, str):
        raise Refused(f'game: "{game}" is a name; give a game, such as load_game("{game}")')
    settings = resolved(composed([f"algo={name}", *overrides], only=COUNTING))
    return build_algorithm(settings, game, device, seed)


def build_algorithm(
    settings: Mapping[str, Any],
    game: Game,
    device: torch.device,
    seed: int,
    opponent: Player | None = None,
    workers: int = 1,
    rank: int = 0,
) -> Algorithm:
    """The learner or solver of a run's settings, whose horizons are in steps already.

    Args:
        settings: those of `algo`, and of `net` if there are any.
        opponent: a fixed player in every seat but agent 0's, or None for self-play.
        workers: processes that learn together.
        rank: number of this one.

    Raises:
        Refused: if a setting can't be accepted, there is no net where one is needed, there is one,
            or an opponent, where none is taken, or several processes can't learn so together.
    """
    set_default_threads()
    target, _ = class_and_settings(settings["algo"], "algo")
    if workers > 1 and getattr(target, "own", None) is None:
        raise Refused(f"workers: {target.__name__} learns in one process; allowed: 1")
    net = build_as(Net, settings["net"], "net") if "net" in settings else None
    # `net` and `opponent` are arguments of no constructor. They stand here so that a refusal that
    # begins with one of them goes on as it is, and not as "algo: net: …".
    runtime: dict[str, Any] = {"game": game, "seed": seed, "net": net, "opponent": opponent}
    if "given" in takes(target):
        if net is None:
            raise Refused(f"net: missing, {target.__name__} needs one")
        runtime["given"] = Given(
            game=game,
            net=net,
            device=device,
            seed=seed,
            opponent=opponent,
            workers=workers,
            rank=rank,
        )
    for key, part in (("net", net), ("opponent", opponent)):
        if part is not None and "given" not in takes(target):
            raise Refused(f"{key}: {target.__name__} takes none")
    algorithm: Algorithm = build_as(Algorithm, settings["algo"], "algo", **runtime)
    return algorithm
