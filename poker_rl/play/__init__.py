"""Play against trained players: sessions, their files, review, statistics and advice.

A session is the sequence of hands that one person plays at one table; in Big 2 a hand is a whole
game. The adviser is a player that gives hints and grades the person's moves. A view is what a
person may know of a table, as plain values for JSON. The package contains no rules of games: legal
moves and views come from the game.
"""
