"""A game of five rules: two cards, and each seat passes or doubles the stakes in turn."""

from dataclasses import dataclass

import numpy as np
import rules_of_high_card

from poker_rl.games import Game


@dataclass(kw_only=True, frozen=True)
class HighCard(Game):
    """The least that a game has to define."""

    rules = rules_of_high_card
    table_dtype = rules_of_high_card.TABLE_DTYPE
    definitions = np.array([(2, 4, 2)], rules_of_high_card.DEFINITION_DTYPE)
    action_count = 2
    observation_size = 6
