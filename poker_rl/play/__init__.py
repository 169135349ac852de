"""Where a person sits down at a table: a session, its file, review and statistics; the page.

Imports algos, config, evaluation, games, players, runs, storage.

Nothing here knows a rule: what may be done, and what there is to see, is asked of the game; what
the others do, of their `Player`s.
"""
