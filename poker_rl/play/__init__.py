"""Play against trained players: sessions, their files, review, statistics and advice.

Imports algos, config, evaluation, games, players, storage and training. Nothing here knows a rule:
legal moves and views come from the game, and the moves of other seats from their `Player`.
"""
