"""Play against trained players: sessions, their files, review, statistics and advice.

Imports algos, config, evaluation, games, players, reports, storage and training. No rule of a game
is here: legal moves and views come from the game, and the moves of the other seats from their
`Player`. A session is the sequence of hands that one person plays at one table. The adviser is a
player that gives hints and whose policy the person's moves are compared with.
"""
