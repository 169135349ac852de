"""Base class of players that change the actions of another player."""

from __future__ import annotations

from poker_rl.games.game import Game
from poker_rl.players.player import Player


class PlayerWrapper(Player):
    """Player of a game that uses the probabilities of another player, the wrapped player."""

    def __init__(self, game: Game, player: Player) -> None:
        self._game, self._player = game, player

    @property
    def instances(self) -> int:
        """Number of instances of the wrapped player."""
        return self._player.instances

    @property
    def is_suit_invariant(self) -> bool:
        """True if the wrapped player is suit-invariant."""
        return self._player.is_suit_invariant
