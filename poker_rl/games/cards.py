"""Cards and their notation.

A card is the integer `rank * suit_count + suit`. Ranks count from 0, the lowest. In poker the ace
is rank 12, so a deck of fewer ranks has no ace. Short-deck hold'em is the exception: there the ace
is the highest of the nine ranks.
"""

from __future__ import annotations

from poker_rl.config.input_checks import ConfigError

MAX_RANKS = 13
MAX_SUITS = 4


def card_name(card: int, ranks: str, suits: str) -> str:
    """Return the name of a card, such as `As`, or only its rank in a deck of one suit."""
    rank, suit = divmod(card, len(suits))
    return ranks[rank] + (suits[suit] if len(suits) > 1 else "")


def parse_cards(text: str, ranks: str, suits: str) -> list[int]:
    """Return the cards in a text such as `AsKd` or `As Kd`; raise ConfigError if one is invalid."""
    card_by_name = {card_name(card, ranks, suits): card for card in range(len(ranks) * len(suits))}
    compact_text, size = "".join(text.split()), min(len(suits), 2)
    names = [compact_text[i : i + size] for i in range(0, len(compact_text), size)]
    for name in names:
        if name not in card_by_name:
            allowed_text = f"one of {' '.join(ranks)}"
            if size == 2:
                example = card_name(0, ranks, suits)
                allowed_text = f"a rank of {ranks} and a suit of {suits}, as in {example}"
            raise ConfigError(f"{name!r} in {text!r} is no card; a card is {allowed_text}")
    return [card_by_name[name] for name in names]
