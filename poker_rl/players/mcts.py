"""Determinised Monte Carlo tree search: each simulation deals the cards it can't see anew.

Information set MCTS with one tree (P. Cowling, E. Powley, D. Whitehouse, IEEE TCIAIG 4, 2012):
nodes are lines of betting, whatever the cards, and each seat chooses among fold, call and bet by
UCB1 (P. Auer, N. Cesa-Bianchi, P. Fischer, 2002) on what it won itself, in chips. A simulation adds
one node and is played out from there by calls and bets, equally likely, with some folds. The answer
is the choice visited most often. UCB1 wants rewards between 0 and 1: its exploration is scaled by
the pot that the simulations so far have ended with, on average. Scaled by the pot at the node, a
few chips before the flop, it settles on whatever won first (docs/results/bots.md compares them).

What it knows is its information set alone: the others' cards and those to come are overwritten
before they are looked at, and its random numbers are drawn from its seed and the information set's
key. So it is a fixed policy: asked again, in any order, it gives the same answer.
"""

# Records have no static type: numba gives the compiled functions theirs.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from poker_rl.config.settings import NonNegative, Probability, Range, Refused, Seed
from poker_rl.games.game import Game, below, random, rule
from poker_rl.games.hashing import hashed
from poker_rl.games.poker import betting
from poker_rl.games.poker.betting import (
    CALL,
    CARDS,
    FOLD,
    MOVES,
    SEATS,
    infoset,
    legal,
    payoffs,
    step,
)
from poker_rl.games.poker.sight import deal_unseen, hide
from poker_rl.players.bots import Bot
from poker_rl.players.holdem import BET, CHOICES, certain, granted

UNIT = 2.0**-53  # of 53 random bits

# A node each, of 72 bytes; a million take a decision of hold'em seconds.
Simulations = Annotated[int, Range(1, 1e6)]


@dataclass(kw_only=True)
class MCTS(Bot):
    """Plays the choice that its simulations visit most often.

    Raises:
        Refused: if the game is not poker.
    """

    simulations: Simulations
    exploration: NonNegative
    folds: Probability
    seed: Seed

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if game.rules is not betting:
            raise Refused(
                f"a bot that deals hole and board cards anew, not the cards of {game.name}"
            )

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        return granted(self.legal(records), certain(self.visits(records).argmax(1)))

    def visits(self, records: np.ndarray) -> np.ndarray:
        """How many simulations began with fold, call and bet at each table, [B, 3]."""
        tables = self.tables(records)
        game = tables.game
        visits = np.empty((len(records), CHOICES), np.int64)
        search(
            tables.definitions(),
            tables.records,
            np.empty(1, records.dtype),
            np.empty(game.actions, np.bool_),
            np.empty(game.infoset_size, np.uint8),
            self.simulations,
            self.exploration,
            self.folds,
            np.uint64(self.seed),
            visits,
        )
        return visits


@rule
def search(games, tables, room, mask, known, simulations, exploration, folds, seed, out):
    """Write the visits of each choice, [B, 3], at tables [B] of games [B].

    Args:
        room: for a table to play on, [1].
        mask: for its legal actions, [A].
        known: for the information set's key, as bytes.
        folds: chance of a fold in rollouts.
    """
    child = np.empty((simulations, CHOICES), np.int64)  # nodes; 0 where there is none yet
    visits = np.empty((simulations, CHOICES), np.int64)
    total = np.empty((simulations, CHOICES))  # chips won by who chose
    path = np.empty((MOVES, 3), np.int64)  # node, seat, choice
    won = np.empty(SEATS, np.int64)
    hidden = np.empty(CARDS, np.int64)
    unseen = np.empty(CARDS, np.int64)
    for i in range(len(tables)):
        game = games[i]
        infoset(game, tables[i], tables[i].to_act, known)
        key, draws = hashed(known, seed), np.uint64(0)
        places, count = hide(game, tables[i], hidden, unseen)
        clear(child, visits, total, 0)
        nodes, pots = 1, 0
        for simulation in range(simulations):
            room[0] = tables[i]
            table = room[0]
            table.key, table.draws = key, draws
            deal_unseen(table, hidden, places, unseen, count)
            spread = exploration * pots / max(simulation, 1)
            node, depth = 0, 0
            while not table.over:
                bet = offers(game, table, mask)
                if node < 0:
                    choice = rollout(table, mask, bet, folds)
                else:
                    choice = ucb(table, mask, bet, visits[node], total[node], spread)
                    path[depth, 0], path[depth, 1], path[depth, 2] = node, table.to_act, choice
                    depth += 1
                    above, node = node, child[node, choice]
                    if node == 0:
                        node = -1
                        if nodes < simulations:
                            child[above, choice] = nodes
                            clear(child, visits, total, nodes)
                            nodes += 1
                step(game, table, bet if choice == BET else choice)
            draws = table.draws
            payoffs(game, table, won)
            for seat in range(game.seats):
                pots += table.paid[seat]
            for d in range(depth):
                visits[path[d, 0], path[d, 2]] += 1
                total[path[d, 0], path[d, 2]] += won[path[d, 1]]
        for choice in range(CHOICES):
            out[i, choice] = visits[0, choice]


@rule
def clear(child, visits, total, node):
    """A node without visits."""
    for choice in range(CHOICES):
        child[node, choice] = 0
        visits[node, choice] = 0
        total[node, choice] = 0


@rule
def offers(game, table, mask):
    """Write the legal actions; return the bet, the smallest legal raise, 0 if there is none."""
    legal(game, table, mask)
    for action in range(BET, len(mask)):
        if mask[action]:
            return action
    return 0


@rule
def rollout(table, mask, bet, folds):
    """Fold by chance, else call or bet, equally likely; what is not legal is a call."""
    bits = random(table)
    if (bits >> np.uint64(11)) * UNIT < folds:
        return FOLD if mask[FOLD] else CALL
    return BET if bet and bits & np.uint64(1) else CALL


@rule
def ucb(table, mask, bet, visits, total, spread):
    """The legal choice of the highest upper confidence bound; a random one never made, if any.

    Args:
        visits: of each choice, [3]; total: chips it won, [3].
        spread: weight of what is left unexplored, in chips.
    """
    made, untried = 0, 0
    for choice in range(CHOICES):
        if offered(mask, bet, choice):
            made += visits[choice]
            untried += visits[choice] == 0
    skip = below(table, untried)
    best, bound = CALL, -np.inf
    for choice in range(CHOICES):
        if offered(mask, bet, choice):
            if untried == 0:
                upper = total[choice] / visits[choice]
                upper += spread * np.sqrt(np.log(made) / visits[choice])
                if upper > bound:
                    best, bound = choice, upper
            elif visits[choice] == 0:
                if skip == 0:
                    best = choice
                skip -= 1
    return best


@rule
def offered(mask, bet, choice):
    """Whether a choice is legal, by the legal actions [A] and the bet, 0 if there is none."""
    return bet > 0 if choice == BET else mask[choice]
