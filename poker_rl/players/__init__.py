"""Players: networks, tables of probabilities and bots behind one interface.

This package imports only these other packages of `poker_rl`: `config`, `games`, `nets`, `storage`.
"""

from poker_rl.players.bots.bot import Bot
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.player import Player, compute_checked_probs, sample_from_probs
from poker_rl.players.player_loader import load_player
from poker_rl.players.tabular_player import TabularPlayer

__all__ = [
    "Bot",
    "NetworkPlayer",
    "Player",
    "TabularPlayer",
    "compute_checked_probs",
    "load_player",
    "sample_from_probs",
]
