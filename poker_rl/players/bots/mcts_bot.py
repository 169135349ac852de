"""Determinized Monte Carlo tree search: each simulation redeals the hidden cards at random.

This is information set MCTS with one tree (P. Cowling, E. Powley, D. Whitehouse, IEEE TCIAIG 4,
2012). Its nodes are sequences of actions, and each seat selects fold, call or bet by UCB1 (P. Auer,
N. Cesa-Bianchi, P. Fischer, 2002) to maximize its own payoff in chips. A simulation adds one node
and continues with a rollout, in which seats call or bet with equal probability and sometimes fold.
The bot takes the choice with the most visits. UCB1 assumes rewards between 0 and 1, so the
exploration term is scaled by the mean final pot of the simulations so far. If it were scaled by the
pot at the node, which has only a few chips before the flop, the bot would explore too little.

The bot does not cheat: each simulation replaces all cards that its seat can't see. Random numbers
depend only on the seed and the information set, so the bot is a fixed policy.
"""

# The arguments of the compiled functions are NumPy records, which have no type for mypy.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from poker_rl.config.input_checks import NonNegativeFloat, Probability, Range, Seed
from poker_rl.games.game import hash_bytes, jit, random_below, random_bits
from poker_rl.games.poker import betting
from poker_rl.games.poker.observation import find_hidden_positions_and_cards, redeal_hidden_cards
from poker_rl.games.poker.table_dtypes import CALL, FOLD, MAX_DECK_SIZE, MAX_MOVES, MAX_SEATS
from poker_rl.players.bots.bot import PokerBot
from poker_rl.players.bots.fold_call_bet_bot import (
    BET,
    CHOICE_COUNT,
    find_smallest_raises,
    to_legal_action_probs,
)


@dataclass(kw_only=True)
class MCTSBot(PokerBot):
    """Bot that takes the choice (fold, call or bet) that its simulations visited most often."""

    # A simulation needs a node of 72 bytes; a million of them take seconds a decision in hold'em.
    simulations: Annotated[int, Range(1, 1e6)]
    exploration: NonNegativeFloat  # factor of the exploration term of UCB1
    rollout_fold_prob: Probability  # probability to fold at a move of a rollout
    seed: Seed

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        choice_probs = np.eye(CHOICE_COUNT)[self.count_visits(records).argmax(1)]
        legal_mask = self.legal_mask(records)
        return to_legal_action_probs(legal_mask, choice_probs, find_smallest_raises(legal_mask))

    def count_visits(self, records: np.ndarray) -> np.ndarray:
        """Return how many simulations at each of B tables began with fold, call and bet, [B, 3]."""
        tables, game = self.build_tables(records), self._game
        visits = np.empty((len(records), CHOICE_COUNT), np.int64)
        legal_mask = np.empty(game.action_count, np.bool_)
        scratch = np.empty(1, records.dtype), legal_mask, np.empty(game.infoset_key_size, np.uint8)
        settings = self.simulations, self.exploration, self.rollout_fold_prob, np.uint64(self.seed)
        run_searches(tables.gather_definitions(), tables.records, scratch, settings, visits)
        return visits


@jit
def run_searches(definitions, tables, scratch, settings, out):
    """Search at each of B tables; count the visits of fold, call and bet in `out` [B, 3].

    `definitions` [B] are the parameters of the game at each table, `settings` the fields of
    `MCTSBot`. The search overwrites `scratch`: a table, an action mask and an information-set key.
    """
    scratch_tables, legal_mask, infoset_key = scratch
    simulations, exploration, rollout_fold_prob, seed = settings
    child = np.empty((simulations, CHOICE_COUNT), np.int64)  # index of the next node; 0 if none
    visits = np.empty((simulations, CHOICE_COUNT), np.int64)
    chips_won = np.empty((simulations, CHOICE_COUNT))  # sum of the payoffs of the seat that chooses
    path = np.empty((MAX_MOVES, 3), np.int64)  # node, seat and choice of each move
    winnings = np.empty(MAX_SEATS, np.int64)
    is_legal = np.empty(CHOICE_COUNT, np.bool_)
    hidden_positions = np.empty(MAX_DECK_SIZE, np.int64)
    unseen_cards = np.empty(MAX_DECK_SIZE, np.int64)
    for i in range(len(tables)):
        game = definitions[i]
        betting.infoset(game, tables[i], tables[i].to_act, infoset_key)
        random_key, random_counter = hash_bytes(infoset_key, seed), np.uint64(0)
        hidden_count, unseen_count = find_hidden_positions_and_cards(
            game, tables[i], hidden_positions, unseen_cards
        )
        child[:], visits[:], chips_won[:] = 0, 0, 0
        node_count, pot_sum = 1, 0
        for simulation in range(simulations):
            scratch_tables[0] = tables[i]
            table = scratch_tables[0]
            table.key, table.draws = random_key, random_counter
            redeal_hidden_cards(table, hidden_positions, hidden_count, unseen_cards, unseen_count)
            exploration_chips = exploration * pot_sum / max(simulation, 1)
            node, depth = 0, 0
            while not table.over:
                smallest_raise = fill_mask_and_find_smallest_raise(game, table, legal_mask)
                is_legal[FOLD], is_legal[CALL] = legal_mask[FOLD], legal_mask[CALL]
                is_legal[BET] = smallest_raise > 0
                if node < 0:
                    choice = sample_rollout_choice(table, is_legal, rollout_fold_prob)
                else:
                    totals = visits[node], chips_won[node]
                    choice = select_by_ucb(table, is_legal, *totals, exploration_chips)
                    path[depth, 0], path[depth, 1], path[depth, 2] = node, table.to_act, choice
                    depth += 1
                    parent, node = node, child[node, choice]
                    if node == 0:
                        node = -1
                        if node_count < simulations:
                            child[parent, choice] = node_count
                            node_count += 1
                betting.step(game, table, smallest_raise if choice == BET else choice)
            random_counter = table.draws
            betting.payoffs(game, table, winnings)
            for seat in range(game.seats):
                pot_sum += table.paid[seat]
            for d in range(depth):
                visits[path[d, 0], path[d, 2]] += 1
                chips_won[path[d, 0], path[d, 2]] += winnings[path[d, 1]]
        out[i] = visits[0]


@jit
def fill_mask_and_find_smallest_raise(game, table, legal_mask):
    """Fill `legal_mask` [A] and return the smallest legal raise, or 0 if no raise is legal."""
    betting.legal(game, table, legal_mask)
    for action in range(BET, len(legal_mask)):
        if legal_mask[action]:
            return action
    return 0


@jit
def sample_rollout_choice(table, is_legal, fold_prob):
    """Fold with probability `fold_prob`, else call or bet; an illegal choice becomes a call."""
    bits = random_bits(table)
    if (bits >> np.uint64(11)) * 2.0**-53 < fold_prob:  # 53 bits as a number in [0, 1)
        return FOLD if is_legal[FOLD] else CALL
    return BET if is_legal[BET] and bits & np.uint64(1) else CALL


@jit
def select_by_ucb(table, is_legal, visits, chips_won, exploration_chips):
    """Return a random unvisited legal choice or, if all were visited, the one that UCB1 selects."""
    total_visits, untried_count = 0, 0
    for choice in range(CHOICE_COUNT):
        if is_legal[choice]:
            total_visits += visits[choice]
            untried_count += visits[choice] == 0
    skip = random_below(table, untried_count)
    best_choice, best_bound = CALL, -np.inf
    for choice in range(CHOICE_COUNT):
        if is_legal[choice]:
            if untried_count == 0:
                upper_bound = chips_won[choice] / visits[choice]
                upper_bound += exploration_chips * np.sqrt(np.log(total_visits) / visits[choice])
                if upper_bound > best_bound:
                    best_choice, best_bound = choice, upper_bound
            elif visits[choice] == 0:
                if skip == 0:
                    best_choice = choice
                skip -= 1
    return best_choice
