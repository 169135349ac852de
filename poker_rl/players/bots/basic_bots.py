"""Base class of bots, and bots that look only at the legal actions."""

from __future__ import annotations

from dataclasses import InitVar, asdict, dataclass
from typing import Any, Self

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.poker import betting
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.players.player import Player, get_class_path


@dataclass(kw_only=True)
class Bot(Player):
    """Base class of bots, whose settings are dataclass fields; subclasses add `action_probs`."""

    game: InitVar[Game]

    def __post_init__(self, game: Game) -> None:
        self._game = game

    def legal_mask(self, records: np.ndarray) -> np.ndarray:
        """Return which of A actions are legal for the seat to act at each of B tables, [B, A]."""
        return self.to_tables(records).legal_mask()

    def to_tables(self, records: np.ndarray) -> Tables:
        """Return new `Tables` of these records; the bot stores none, so threads may share it."""
        return tables_from_records(self._game, records)

    def to_dict(self) -> dict[str, Any]:
        return {"_target_": get_class_path(self), **asdict(self)}

    @classmethod
    def from_dict(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        config = {key: value for key, value in state.items() if key != "_target_"}
        return cls(game=game, **config)


@dataclass(kw_only=True)
class PokerBot(Bot):
    """Base class of bots for poker games; `__post_init__` raises ConfigError for other games."""

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if game.rules is not betting:
            raise ConfigError(f"a bot of poker, not of {game.name}")


@dataclass(kw_only=True)
class UniformBot(Bot):
    """Bot that takes each legal action with equal probability."""

    is_suit_invariant = True

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        legal_mask = self.legal_mask(records)
        probs: np.ndarray = legal_mask / legal_mask.sum(1, keepdims=True)
        return probs


@dataclass(kw_only=True)
class PreferenceBot(Bot):
    """Bot that takes the first legal action in the list `prefer`, which holds names of actions.

    If none of them is legal, it takes the legal action with the lowest number. In the list, `raise`
    stands for all raises of a no-limit game, the smallest first.
    """

    is_suit_invariant = True

    prefer: list[str]

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        order: list[int] = []
        names = [game.action_name(action) for action in range(game.action_count)]
        for preferred in self.prefer:
            # `raise` matches all raises, such as raise_12.
            actions = [a for a, name in enumerate(names) if preferred in (name, name.split("_")[0])]
            if not actions:
                examples = ", ".join(names[:9])
                raise ConfigError(f"prefer: {preferred} is no action of {game.name}: {examples}")
            order += actions
        order += [action for action in range(game.action_count) if action not in order]
        self._order = np.array(order)

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        legal_mask = self.legal_mask(records)
        return to_one_hot(self._order[legal_mask[:, self._order].argmax(1)], legal_mask)


@dataclass(kw_only=True)
class AllInBot(PokerBot):
    """Bot that makes the largest legal raise (all-in in no-limit games) or, without one, calls."""

    is_suit_invariant = True

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        legal_mask = self.legal_mask(records)
        # The last legal action is the largest raise or, if no raise is legal, the call.
        return to_one_hot(legal_mask.shape[1] - 1 - legal_mask[:, ::-1].argmax(1), legal_mask)


def to_one_hot(actions: np.ndarray, legal_mask: np.ndarray) -> np.ndarray:
    """Return probabilities [B, A], the shape of `legal_mask`: 1 for `actions` [B], 0 for others."""
    probs = np.zeros(legal_mask.shape)
    probs[np.arange(len(probs)), actions] = 1
    return probs
