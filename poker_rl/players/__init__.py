"""Players: networks, tables of probabilities and bots behind one interface.

Of the other packages of `poker_rl` this one imports only `config`, `games`, `nets` and `storage`.
"""

from poker_rl.players.bots.basic_bots import Bot
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
