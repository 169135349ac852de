"""Who can sit down at a table: networks, tables of probabilities and bots, asked in one way.

Imports config, games, nets and storage.
"""

from poker_rl.players.bots import Bot
from poker_rl.players.load import load_player
from poker_rl.players.network import NetworkPlayer
from poker_rl.players.player import Player, Unvalued, policy_at
from poker_rl.players.sampling import draw
from poker_rl.players.table import TablePlayer

__all__ = [
    "Bot",
    "NetworkPlayer",
    "Player",
    "TablePlayer",
    "Unvalued",
    "draw",
    "load_player",
    "policy_at",
]
