"""A memory of decisions in poker that keeps hands, and lets the rules play them again.

What networks are shown of a hand in which every card counts is far longer than its cards and
actions. So an item is those, and how many of the actions came before the decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from poker_rl.games.poker.hands import Hands
from poker_rl.learning.agents import Agents
from poker_rl.learning.memory import Circular, Column, Memory

CHECKED = ("hand", "moves", "next")  # columns that the rules play again
CHECKED_AT_ONCE = 65_536  # hands, of which each takes a table


@dataclass(frozen=True)
class Transitions:
    """Decisions drawn from a memory, B for each of K copies, and the same agents' next ones.

    Where a hand ended first, the next decision is the table at its end, which nobody is asked at.
    """

    seen: Tensor  # what the player saw [K, B, W]
    seen_next: Tensor
    known: Tensor  # that and the hidden cards, which a critic sees [K, B, W + H]
    known_next: Tensor
    legal: Tensor  # actions [K, B, A] bool
    legal_next: Tensor
    action: Tensor  # that was taken [K, B] int64
    reward: Tensor  # until the next decision [K, B]
    goes_on: Tensor  # whether there was one [K, B] bool


class HandMemory(Memory):
    """The newest decisions of K copies of a learner.

    Args:
        hands: packs the game's tables.
        agents: what the networks are shown, and where they are.
        key: the setting that says `capacity`, named in errors.
        capacity: decisions of a copy.
        copies: K.
        beside: memories that have to fit in as well.

    Raises:
        Refused: if they do not fit in.
    """

    def __init__(
        self,
        hands: Hands,
        agents: Agents,
        key: str,
        capacity: int,
        *,
        copies: int,
        beside: Sequence[Memory],
    ) -> None:
        columns = {
            "hand": Column(torch.uint8, hands.width),
            "moves": Column(torch.uint8),  # of the hand before the decision
            "next": Column(torch.uint8),  # before the next one, or all of them
            "reward": Column(torch.float32),
        }
        rules = torch.device("cpu")  # where the hands are played again
        seed = agents.seed()
        super().__init__(
            key, capacity, Circular(), columns, rules, seed, copies=copies, beside=beside
        )
        self._hands, self._agents = hands, agents

    def _check(self, added: Sequence[int], items: Mapping[str, Sequence[Tensor]]) -> None:
        super()._check(added, items)
        for hand, moves, then in zip(*(items[name] for name in CHECKED), strict=True):
            if bool((moves >= then).any()):
                raise ValueError("items.next: no later decision than the one before")
            for first in range(0, len(hand), CHECKED_AT_ONCE):
                some = slice(first, first + CHECKED_AT_ONCE)
                self._hands.check(hand[some].numpy(), then[some].numpy())

    def transitions(self, count: int) -> Transitions:
        """Some of them, drawn with replacement: `count` of each copy, where the networks are."""
        drawn = self.sample(count)
        shape = drawn["reward"].shape  # K, B
        hand = drawn["hand"].flatten(0, 1).numpy()
        moves = drawn["moves"].flatten().numpy()
        both = np.concatenate([moves, drawn["next"].flatten().numpy()])
        tables = self._hands.tables(np.concatenate([hand, hand]), both)  # now, then next: [2 K B]
        seen, hidden = self._agents.known(tables.records)
        goes_on = self._agents.tensor(tables.records["over"] == 0)[len(hand) :]
        halves = [
            self._agents.tensor(rows).view(2, *shape, -1)
            for rows in (seen, np.concatenate([seen, hidden], 1), tables.legal())
        ]
        (s, s_next), (w, w_next), (legal, legal_next) = halves
        return Transitions(
            seen=s,
            seen_next=s_next,
            known=w,
            known_next=w_next,
            legal=legal,
            legal_next=legal_next,
            action=self._agents.tensor(self._hands.action(hand, moves)).view(shape),
            reward=drawn["reward"].to(self._agents.device),
            goes_on=goes_on.view(shape),
        )
