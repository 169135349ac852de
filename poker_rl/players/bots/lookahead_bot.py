"""Bot that improves the policy of a trained player by looking ahead to the seat's next decision.

At a decision, the hidden cards are dealt again many times; all deals consistent with the
information set are equally likely. Each such deal is called a world. In each world, every
sufficiently likely action of the trained player is tried: then all seats play the trained player's
policy until the hand ends, or until the bot's seat decides again, where the critic estimates the
value. If Q(a) is the mean value of action a over the worlds, the bot plays the tried actions with
probabilities proportional to

    policy(a) exp(Q(a) / temperature)

Of all policies over these actions, this one maximizes the expected value minus `temperature` times
the Kullback-Leibler divergence from `policy`. If only one action is likely enough, the bot plays
`policy` unchanged. Policy improvement by rollouts during play is an idea of G. Tesauro and G.
Galperin ("On-line policy improvement using Monte-Carlo search", 1996).

The bot ignores what the past actions of the other seats reveal about their cards, so it suits games
in which actions reveal little. Random numbers depend only on the seed and the information set, so
the bot is a fixed policy, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from poker_rl.config.input_checks import ConfigError, Probability, Range, Seed
from poker_rl.games.game import Game, hash_bytes, jit, random_uniform
from poker_rl.games.tables import Tables
from poker_rl.players.action_values_by_lookahead import MAX_TABLES, estimate_action_values
from poker_rl.players.bots.bot import Bot
from poker_rl.players.player import compute_checked_probs, sample_from_probs
from poker_rl.players.player_loader import load_search_base_player

MAX_PROBS = 2**24  # limit on the action probabilities in memory at once, 128 MB


@dataclass(kw_only=True)
class LookaheadBot(Bot):
    """Bot that tries the likely actions of a player in sampled deals, and prefers the best ones."""

    policy: str  # spec of the player whose policy and critic are used
    worlds: Annotated[int, Range(1, 1e4)]  # number of deals in which each action is tried
    # In the game's unit; with a low temperature, the bot departs further from `policy`.
    temperature: Annotated[float, Range(0, 1e9, exclude_low=True)]
    min_action_prob: Probability  # less probable actions are not tried, except the likeliest one
    seed: Seed
    option_folders: InitVar[Sequence[Path] | None] = None  # where `policy` is looked up by name

    def __post_init__(self, game: Game, option_folders: Sequence[Path] | None) -> None:
        super().__post_init__(game)
        self._player = load_search_base_player(self.policy, game, self, option_folders)
        tables = Tables(game, 1, seed=0)
        tables.deal()
        if self._player.state_values(tables.records) is None:
            problem = f"{self.policy} has no values to look ahead by"
            raise ConfigError(f"policy: {problem}; docs/players.md lists the players that have")
        tables.resample_hidden_cards()

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        probs = compute_checked_probs(self._game, self._player, records)
        threshold = np.minimum(self.min_action_prob, probs.max(1, keepdims=True))
        is_tried = (probs > 0) & (probs >= threshold)
        is_tried &= is_tried.sum(1, keepdims=True) > 1  # a single action needs no value
        has_choice = is_tried.any(1)
        decision, action = np.nonzero(is_tried)
        action_values = np.full(probs.shape, -np.inf)
        max_tables = min(MAX_TABLES, MAX_PROBS // probs.shape[1])
        chunk_size = max_tables // self.worlds or 1  # number of actions that are tried at once
        for start in range(0, len(decision), chunk_size):
            chunk = decision[start : start + chunk_size], action[start : start + chunk_size]
            action_values[chunk] = self._estimate_action_values(records.take(chunk[0]), chunk[1])
        values = action_values[has_choice]
        best_values = values.max(1, keepdims=True)
        weights = probs[has_choice] * np.exp((values - best_values) / self.temperature)
        probs[has_choice] = weights / weights.sum(1, keepdims=True)
        return probs

    def _estimate_action_values(self, records: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Return the value of one action at each of N tables, [N], in the game's unit."""
        tables = self.build_tables(records)
        keys = tables.infoset_keys().view(np.uint8).reshape(len(records), -1)
        tables.load_records(records.take(np.repeat(np.arange(len(records)), self.worlds)))
        seed_random_states(keys, np.uint64(self.seed), self.worlds, tables.records)
        tables.resample_hidden_cards()

        def choose_responses(rows: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
            records_now = tables.records.take(rows)
            probs = compute_checked_probs(self._game, self._player, records_now, legal_mask)
            uniform = np.empty(len(probs))
            sample_uniform_numbers(tables.records, rows, uniform)
            return sample_from_probs(probs, uniform)

        def estimate_state_values(rows: np.ndarray) -> np.ndarray:
            return np.asarray(self._player.state_values(tables.records.take(rows)))

        rollout_values = estimate_action_values(
            tables, np.repeat(actions, self.worlds), choose_responses, estimate_state_values
        )
        mean_values: np.ndarray = rollout_values.reshape(-1, self.worlds).mean(1)
        return mean_values / self._game.unit_chips


@jit
def seed_random_states(keys, seed, worlds, tables):  # type: ignore[no-untyped-def]
    """Set the random states of N * `worlds` tables, `worlds` consecutive ones per information set.

    A state depends on `seed`, on the key of the information set in `keys` [N, bytes], and on the
    index of the world.
    """
    for i in range(len(tables)):
        tables[i].key = hash_bytes(keys[i // worlds], seed)
        tables[i].draws = (i % worlds) << 32


@jit
def sample_uniform_numbers(tables, rows, out):  # type: ignore[no-untyped-def]
    """Write into `out` a random number in [0, 1) from the random state of each table in `rows`."""
    for i in range(len(rows)):
        out[i] = random_uniform(tables[rows[i]])
