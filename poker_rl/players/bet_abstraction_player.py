"""Player of a full no-limit game whose networks were trained in a variant with listed bet sizes.

Such a variant is called a bet abstraction of the full game, in which a seat may bet any number of
chips. The networks see past bets in chips, so they also see the exact amounts of bets of unlisted
sizes. The player itself bets only listed sizes, which the rules of the variant convert to chips.
"""

# Compiled functions have no annotations, since numba infers their types.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import Game, jit
from poker_rl.games.poker.betting import compute_raise_to
from poker_rl.games.poker.table_dtypes import RAISE
from poker_rl.nets.net_interfaces import SEPARABLE_FEATURES
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.player import Player, PlayerWrapper, player_from_dict


class BetAbstractionPlayer(PlayerWrapper):
    """Player of a full no-limit game that chooses between the bet sizes of `sized_game`.

    `sized_game` is the variant in which `player` was trained. Its rules convert sizes to chips: a
    size below the smallest legal raise becomes that raise, and a size above the stack becomes
    all-in. If several sizes give the same amount, only the first of them is legal.
    """

    def __init__(self, game: Game, sized_game: Game, player: Player) -> None:
        super().__init__(game, player)
        self._sized_game = sized_game
        if not (
            isinstance(player, NetworkPlayer)
            and player.network_sharing != "per_betting_node"
            and player.net_config.features in SEPARABLE_FEATURES
        ):
            raise ConfigError(
                f"a player of {sized_game.name} can play {game.name} only if it is a network with"
                f" net.features one of {', '.join(SEPARABLE_FEATURES)}, without"
                " network_sharing=per_betting_node"
            )

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        return self._to_full_game_values(records, self._player.action_probs(records), 0.0)

    def state_values(self, records: np.ndarray) -> np.ndarray | None:
        return self._player.state_values(records)

    def action_values(self, records: np.ndarray) -> np.ndarray | None:
        """Return the critic's values [B, A] in chips; NaN if illegal or of no listed size."""
        values = self._player.action_values(records)
        return None if values is None else self._to_full_game_values(records, values, np.nan)

    def _to_full_game_values(
        self, records: np.ndarray, sized_values: np.ndarray, unlisted_value: float
    ) -> np.ndarray:
        """Convert values of the actions of `sized_game` to those of the full game, [B, A].

        A raise to an amount that no listed size gives gets `unlisted_value`.
        """
        targets = compute_raise_targets(self._sized_game, records)
        values = np.full((len(records), self._game.action_count), unlisted_value)
        values[:, :RAISE] = sized_values[:, :RAISE]
        row, size = np.nonzero(targets)
        values[row, targets[row, size]] = sized_values[row, RAISE + size]
        return values

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"sized_game": self._sized_game.to_dict()}

    @classmethod
    def from_dict(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        sized_game = replace(game, **state["sized_game"])
        return cls(game, sized_game, player_from_dict(state["player"], sized_game, device))


def is_bet_abstraction_of(game_config: dict[str, Any], full_game_config: dict[str, Any]) -> bool:
    """Return whether two games differ only in name and bet sizes, which only the first limits."""
    own_settings = {key: game_config.get(key) for key in ("name", "bet_sizes")}
    is_restricted = full_game_config.get("bet_sizes") == [] and bool(own_settings["bet_sizes"])
    return is_restricted and game_config == full_game_config | own_settings


def compute_raise_targets(game: Game, records: np.ndarray) -> np.ndarray:
    """Return the chips that each bet size raises to at B tables, [B, sizes]; 0 if illegal."""
    targets = np.empty((len(records), game.action_count - RAISE), np.int64)
    _fill_raise_targets(game.definitions, records, targets)
    return targets


@jit
def _fill_raise_targets(definitions, tables, targets):
    for i in range(len(tables)):
        for size in range(targets.shape[1]):
            targets[i, size] = compute_raise_to(
                definitions[tables[i].variant], tables[i], RAISE + size
            )
