"""An equilibrium of a small game, computed when it is asked for."""

from __future__ import annotations

from poker_rl.algos.load import load_algorithm
from poker_rl.config.settings import Refused
from poker_rl.games.game import Game
from poker_rl.games.tree import row_count, tree_of
from poker_rl.players.player import Player

SOLVER, ITERATIONS = "pdcfr_plus", 2000  # Kuhn poker to 1e-14 antes a hand, Leduc to 2e-4, in 0.4 s
MOST_NODES = 200_000  # of the game's tree; the variants of no-limit Leduc have 130,000: 3 seconds

_players: dict[str, Player] = {}


def equilibrium(game: Game) -> Player | None:
    """The average policy of a solver after `ITERATIONS`, computed once for each game.

    None for a game with more than two seats, of which the solver finds no equilibrium for sure, for
    one with more than `MOST_NODES` nodes, and for one that can't be enumerated. A game may have
    several equilibria; this is one.
    """
    if game.seats != 2 or row_count(game, MOST_NODES) > MOST_NODES:
        return None
    key = repr(game.state())
    if key not in _players:
        try:
            tree_of(game)
        except Refused:
            return None
        solver = load_algorithm(SOLVER, game, f"algo.iterations_per_step={ITERATIONS}")
        solver.learn()
        _players[key] = next(iter(solver.players().values()))
    return _players[key]
