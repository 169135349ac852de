"""How many units of a player's networks answer differently to different positions, layer by layer.

    python scripts/alive_units.py limit_holdem outputs/limit_holdem/nfsp/RUN:greedy

A unit that says the same everywhere, as a ReLU does that is 0 everywhere, passes on no gradient.
Where all units of a layer do, the layers before it learn nothing more, and the player acts alike in
every position. The positions are those of hands that are played at random, 8 decisions at each of
1,000 tables.
"""

from __future__ import annotations

import sys

import numpy as np
import torch

from poker_rl.config.settings import Refused
from poker_rl.games.game import Game
from poker_rl.games.load import load_game
from poker_rl.games.tables import Tables
from poker_rl.nets.dense import Layers
from poker_rl.players.load import load_player
from poker_rl.players.network import NetworkPlayer
from poker_rl.players.sampling import draw

TABLES, DECISIONS = 1000, 8


def positions(game: Game) -> np.ndarray:
    """Tables of a game on which somebody is to act, [N] records."""
    tables, generator, met = Tables(game, TABLES, 0), np.random.default_rng(0), []
    tables.deal()
    for _ in range(DECISIONS):
        met.append(tables.records.copy())
        legal = tables.legal()
        tables.step(draw(legal / legal.sum(1, keepdims=True), generator.random(TABLES)))
        if len(over := np.flatnonzero(tables.records["over"])):
            tables.deal(over)
    return np.concatenate(met)


def alive(player: NetworkPlayer, records: np.ndarray) -> list[np.ndarray]:
    """The share of units that tell positions [N] apart, of each layer by copy, [K] each.

    Raises:
        Refused: if the networks are no plain layers.
    """
    if not isinstance(player.module, Layers):
        raise Refused("these networks are not layers alone")
    x = torch.from_numpy(player.features(records)).float()
    x = x.expand(len(next(player.module.parameters())), *x.shape)
    shares = []
    with torch.no_grad():
        for i in range(len(player.module.layers)):
            x = player.module.between(x, i, i + 1)
            shares.append((x.amax(1) > x.amin(1)).float().mean(1).numpy())
    return shares


def main() -> None:
    """Print a line for each layer."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        game = load_game(sys.argv[1])
        player = load_player(sys.argv[2], game)
        if not isinstance(player, NetworkPlayer):
            raise Refused(f"{sys.argv[2]} is no network")
        layers = alive(player, positions(game))
    except Refused as error:
        sys.exit(str(error))
    for number, shares in enumerate(layers, 1):
        told = "  ".join(f"{share:7.1%}" for share in shares)
        print(f"layer {number:2}: {told}")


if __name__ == "__main__":
    main()
