"""Play against trained players: sessions, their files, review, statistics and advice.

A session is the sequence of hands that one person plays at one table. The adviser is a player that
gives hints and grades the person's moves. A hand may also be a game of Big 2.

This package contains no rules of games: legal moves and views come from the game, and the moves of
the other seats from their `Player`. It imports algos, config, evaluation, games, players, reports,
storage and training.
"""
