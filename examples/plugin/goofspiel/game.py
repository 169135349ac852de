"""Class of the game Goofspiel: all that training and evaluation need.

The fields of the class are the keys of the YAML file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from goofspiel import rules as goofspiel_rules
from poker_rl.config import Range
from poker_rl.games import Game


@dataclass(kw_only=True, frozen=True)
class Goofspiel(Game):
    """Goofspiel with hidden bids for two; results are in points."""

    cards: Annotated[int, Range(2, goofspiel_rules.MAX_CARDS)]

    rules = goofspiel_rules
    table_dtype = goofspiel_rules.TABLE_DTYPE
    hand_noun = "game"
    feature_dtype = np.dtype(np.uint8)
    infoset_key_size = 1 + 3 * goofspiel_rules.MAX_CARDS

    @property
    def definitions(self) -> np.ndarray:
        """Array of one record, whose constants the rules get as the argument `game`."""
        record = (goofspiel_rules.SEATS, self.cards, self.cards)
        return np.array([record], goofspiel_rules.DEFINITION_DTYPE)

    @property
    def action_count(self) -> int:
        """Number of actions; action 0 bids the lowest card."""
        return self.cards

    @property
    def observation_size(self) -> int:
        """Number of features that `rules.observe` writes."""
        return 1 + (3 + 2 * self.cards) * self.cards

    @property
    def hidden_card_size(self) -> int:
        """Number of features that `rules.observe_hidden_cards` writes."""
        return 2 * self.cards**2

    def recover_actions(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the actions at B tables, [B, 2 MAX_CARDS], and their number so far, [B]."""
        bids = records["bid"].transpose(0, 2, 1)  # seat 0 bids first
        bids = bids.reshape(len(records), goofspiel_rules.SEATS * goofspiel_rules.MAX_CARDS)
        return bids, records["round"].astype(np.int64) * self.seats + records["to_act"]
