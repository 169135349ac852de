"""Where a person sits down at a table: a session of hands, its file, its review and statistics.

Imports algos, config, evaluation, games, players, storage.

Nothing here knows a rule: what may be done, and what there is to see, is asked of the game; what
the others do, of their `Player`s.
"""
