"""A trained player that looks ahead: it tries its likeliest actions and values where they lead.

For a decision it deals what it can't see anew, many times, all deals that fit what it sees equally
likely. Into each of these worlds it takes every action that its policy finds likely enough, lets
the others answer as that policy would, from what they would see there, and asks its critic once it
is to decide again; a hand that ends before counts as what it pays. Of action a, with Q(a) the mean
over the worlds, it then makes

    policy'(a)  ~  policy(a) exp(Q(a) / temperature)

the policy that wins most, by these values, less `temperature` times how far it goes from `policy`
(their Kullback-Leibler divergence). To improve a policy by such rollouts while it plays is an idea
of G. Tesauro and G. Galperin ("On-line policy improvement using Monte-Carlo search", 1996).

What the others' actions so far tell about their cards is left out, so it suits games in which they
tell little. All random numbers follow from its seed and the information set's key: it is a fixed
policy, and gives the same answer, up to rounding, however often and in whatever order it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from poker_rl.config.options import folders
from poker_rl.config.settings import Probability, Range, Refused, Seed, about
from poker_rl.games.game import Game, random, rule
from poker_rl.games.hashing import hashed
from poker_rl.games.tables import Tables
from poker_rl.players.bots import Bot
from poker_rl.players.load import bot_of, bot_settings, load_player
from poker_rl.players.onward import MOST_TABLES, outcome
from poker_rl.players.player import policy_at
from poker_rl.players.sampling import draw

Worlds = Annotated[int, Range(1, 1e4)]
Temperature = Annotated[float, Range(0, 1e9, open_low=True)]
MOST_CHANCES = 2**24  # of all actions at those tables: 128 MB
NAME = f"{__name__}.Lookahead"


@dataclass(kw_only=True)
class Lookahead(Bot):
    """A player, and a look at where its likeliest actions lead.

    Raises:
        Refused: if the player has no values, or the game does not tell how to deal hidden cards.
    """

    policy: str  # the player whose policy and values it takes
    worlds: Worlds  # that each action is tried in
    temperature: Temperature  # in the game's unit; the lower, the further from the player's policy
    least: Probability  # chance of the actions that are tried; the likeliest is in any case
    seed: Seed

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        with about("policy"):
            bot = bot_of(self.policy)
            if bot is not None and bot_settings(bot, folders(None)).get("_target_") == NAME:
                raise Refused(f"{self.policy} looks ahead itself")
            self._player = load_player(self.policy, game)
        dealt = Tables(game, 1, seed=0)
        dealt.deal()
        if self._player.values(dealt.records) is None:
            raise Refused(
                f"policy: {self.policy} has no values to look ahead by; docs/players.md says"
                " which trained players have"
            )
        dealt.redeal()

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        policy = policy_at(self._game, self._player, records)
        tried = (policy > 0) & (policy >= np.minimum(self.least, policy.max(1, keepdims=True)))
        tried &= tried.sum(1, keepdims=True) > 1  # with nothing to choose from it keeps the policy
        chosen = tried.any(1)
        decision, action = np.nonzero(tried)
        worth = np.full(policy.shape, -np.inf)
        room = min(MOST_TABLES, MOST_CHANCES // policy.shape[1]) // self.worlds or 1  # actions
        for first in range(0, len(decision), room):
            part = decision[first : first + room], action[first : first + room]
            worth[part] = self._worth(records.take(part[0]), part[1])
        best = np.where(chosen, worth.max(1), 0.0)[:, None]
        better = policy * np.exp((worth - best) / self.temperature)
        policy[chosen] = (better / np.where(chosen, better.sum(1), 1.0)[:, None])[chosen]
        return policy

    def _worth(self, records: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """What the seat to act at each table [N] wins by an action [N], in the game's unit [N]."""
        tables = self.tables(records)
        keys = tables.infosets().view(np.uint8).reshape(len(records), -1)
        tables.use(records.take(np.repeat(np.arange(len(records)), self.worlds)))
        seed_worlds(keys, np.uint64(self.seed), self.worlds, tables.records)
        tables.redeal()

        def answer(rows: np.ndarray, legal: np.ndarray) -> np.ndarray:
            asked = tables.records.take(rows)
            chances = policy_at(self._game, self._player, asked, legal)
            uniform = np.empty(len(chances))
            draw_uniform(tables.records, rows, uniform)
            return draw(chances, uniform)

        def value(rows: np.ndarray) -> np.ndarray:
            values = self._player.values(tables.records.take(rows))
            assert values is not None  # as it has had values from the start
            return values

        won = outcome(tables, np.repeat(actions, self.worlds), answer, value)
        chips: np.ndarray = won.reshape(-1, self.worlds).mean(1)
        return chips / self._game.unit_chips


@rule
def seed_worlds(keys, seed, worlds, tables):  # type: ignore[no-untyped-def]
    """Give the tables of each key [N, bytes], so many worlds each, random states of their own."""
    for i in range(len(tables)):
        tables[i].key = hashed(keys[i // worlds], seed)
        tables[i].draws = (i % worlds) << 32


@rule
def draw_uniform(tables, rows, out):  # type: ignore[no-untyped-def]
    """Draw a number in [0, 1) for each row, from its table's own random state."""
    for i in range(len(rows)):
        out[i] = (random(tables[rows[i]]) >> np.uint64(11)) * 2.0**-53
