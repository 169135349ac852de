"""Players that know only which actions are legal."""

from __future__ import annotations

from dataclasses import InitVar, asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from poker_rl.config.settings import Refused
from poker_rl.games.game import Game
from poker_rl.games.poker import betting
from poker_rl.games.tables import Tables, tables_of
from poker_rl.players.player import Unvalued

FEW = 9  # of a game's actions, named in a message


@dataclass(kw_only=True)
class Bot(Unvalued):
    """A player whose settings are all there is to keep; a kind of bot adds `probabilities`."""

    game: InitVar[Game]

    instances: ClassVar[int] = 1

    def __post_init__(self, game: Game) -> None:
        self._game = game

    @property
    def blind_to_suits(self) -> bool:
        """False: it may look at anything."""
        return False

    def instance(self, k: int) -> Self:
        """Itself."""
        return self

    def legal(self, records: np.ndarray) -> np.ndarray:
        """Which actions the seat to act may take at each table, [B, A] bool."""
        return self.tables(records).legal()

    def tables(self, records: np.ndarray) -> Tables:
        """These tables of its game; nothing of them is kept, as several threads may ask at once."""
        return tables_of(self._game, records)

    def state(self) -> dict[str, Any]:
        """The settings."""
        kind = type(self)
        return {"_target_": f"{kind.__module__}.{kind.__qualname__}", **asdict(self)}

    @classmethod
    def from_state(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        """The player whose state this was."""
        settings = {key: value for key, value in state.items() if key != "_target_"}
        return cls(game=game, **settings)


@dataclass(kw_only=True)
class SuitBlind(Bot):
    """A bot to which it is all the same what a suit is called."""

    @property
    def blind_to_suits(self) -> bool:
        """True."""
        return True


@dataclass(kw_only=True)
class Uniform(SuitBlind):
    """Takes each legal action equally often."""

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        legal = self.legal(records)
        chances: np.ndarray = legal / legal.sum(1, keepdims=True)
        return chances


@dataclass(kw_only=True)
class FirstLegal(SuitBlind):
    """Takes the first action of `prefer` that is legal; actions left out come last, in their order.

    `raise` stands for all raises of a no-limit game, the smallest first.

    Raises:
        Refused: if the game has no action of such a name.
    """

    prefer: list[str]

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        names = [game.action_name(action) for action in range(game.actions)]
        called = [(name, name.partition("_")[0]) for name in names]  # raise_12 is a raise
        for word in self.prefer:
            if not any(word in each for each in called):
                few = ", ".join(names[:FEW]) + (", ..." if len(names) > FEW else "")
                raise Refused(f"prefer: {word} is no action of {game.name}: {few}")
        first = [a for word in self.prefer for a, each in enumerate(called) if word in each]
        self._order = np.array(first + [a for a in range(game.actions) if a not in first])

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        legal = self.legal(records)
        choice = self._order[legal[:, self._order].argmax(1)]  # [B]
        out = np.zeros(legal.shape)
        out[np.arange(len(out)), choice] = 1
        return out


@dataclass(kw_only=True)
class AllIn(SuitBlind):
    """Raises as much as it may: all its chips in no-limit. Calls where it may not raise.

    Raises:
        Refused: if the game is not poker.
    """

    def __post_init__(self, game: Game) -> None:
        super().__post_init__(game)
        if game.rules is not betting:
            raise Refused(f"a bot that bets all its chips, which {game.name} is played without")

    def probabilities(self, records: np.ndarray) -> np.ndarray:
        """Tables [B] -> [B, A]."""
        legal = self.legal(records)
        last = legal.shape[1] - 1 - legal[:, ::-1].argmax(1)  # raises come last, by size
        out = np.zeros(legal.shape)
        out[np.arange(len(out)), last] = 1
        return out
