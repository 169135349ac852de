"""Measure in each layer of a network the share of units whose output differs between positions.

    python scripts/alive_units.py limit_holdem outputs/limit_holdem/nfsp/RUN:greedy

A unit whose output differs is alive. If no unit of a layer is alive, the policy is the same at all
positions. A ReLU that is 0 at all positions is not alive, and passes no gradient to earlier layers.
The positions are from random hands: 8 decisions at each of 1,000 tables.
"""

from __future__ import annotations

import sys

import numpy as np
import torch

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import Game, load_game
from poker_rl.games.tables import Tables
from poker_rl.nets.dense import ReplicatedMLP
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.player import sample_from_probs
from poker_rl.players.player_loader import load_player

TABLE_COUNT, DECISIONS_PER_TABLE = 1000, 8


def collect_random_decision_records(game: Game) -> np.ndarray:
    """Return table records [positions] from random hands, each with a seat to act."""
    tables, generator, positions = Tables(game, TABLE_COUNT, 0), np.random.default_rng(0), []
    tables.deal()
    for _ in range(DECISIONS_PER_TABLE):
        positions.append(tables.records.copy())
        legal = tables.legal_mask()
        tables.step(
            sample_from_probs(legal / legal.sum(1, keepdims=True), generator.random(TABLE_COUNT))
        )
        if len(over := np.flatnonzero(tables.records["over"])):
            tables.deal(over)
    return np.concatenate(positions)


def measure_alive_unit_shares(player: NetworkPlayer, records: np.ndarray) -> list[np.ndarray]:
    """Return for each layer an array [K]: the share of alive units in each of K networks.

    Args:
        player: player with K networks; a unit is alive if its output differs between positions.
        records: table records of the positions, [positions].

    Raises:
        ConfigError: if the networks are not sequences of dense layers.
    """
    if not isinstance(player.module, ReplicatedMLP):
        raise ConfigError("these networks are not sequences of dense layers")
    x = torch.from_numpy(player.encoder(records)).float()
    x = x.expand(len(next(player.module.parameters())), *x.shape)
    shares = []
    with torch.no_grad():
        for i in range(len(player.module.layers)):
            x = player.module(x, layers=slice(i, i + 1))
            shares.append((x.amax(1) > x.amin(1)).float().mean(1).numpy())
    return shares


def main() -> None:
    """Print a line for each layer: the share of alive units in each network of the player."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        game = load_game(sys.argv[1])
        player = load_player(sys.argv[2], game)
        if not isinstance(player, NetworkPlayer):
            raise ConfigError(f"{sys.argv[2]} is no network")
        layers = measure_alive_unit_shares(player, collect_random_decision_records(game))
    except ConfigError as error:
        sys.exit(str(error))
    for number, shares in enumerate(layers, 1):
        text = "  ".join(f"{share:7.1%}" for share in shares)
        print(f"layer {number:2}: {text}")


if __name__ == "__main__":
    main()
