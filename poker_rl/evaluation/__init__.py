"""How good a player is: exactly where the game can be enumerated, else in duplicate matches.

Imports config, games, players and storage.
"""
