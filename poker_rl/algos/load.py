"""Learners and solvers by the names that they have in `conf/algo`."""

from __future__ import annotations

import torch

from poker_rl.algos.algorithm import Algorithm
from poker_rl.config.build import build_as
from poker_rl.config.compose import composed
from poker_rl.config.horizons import resolved
from poker_rl.games.game import Game
from poker_rl.nets.dense import Net

CPU = torch.device("cpu")


def load_algorithm(
    name: str,
    game: Game,
    *overrides: str,
    seed: int = 0,
    device: torch.device = CPU,
) -> Algorithm:
    """The learner in self-play that `poker-rl train algo=NAME` begins with, of a plug-in too.

    Args:
        overrides: settings of one's own as the command line takes them, such as `algo.gamma=0.9`,
            `net=mlp_large` or `budget=1e7`, which schedules may follow.

    Raises:
        Refused: if there is no such algorithm, a setting can't be accepted, or it does not play
            this game.
    """
    settings = resolved(composed([f"algo={name}", *overrides]))
    net = build_as(Net, settings["net"], "net") if "net" in settings else None
    runtime = {"game": game, "net": net, "opponent": None, "seed": seed, "device": device}
    algorithm: Algorithm = build_as(Algorithm, settings["algo"], "algo", **runtime)
    return algorithm
