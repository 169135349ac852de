"""Where a person meets players: sessions of hands, their files, review and statistics; advice.

Imports algos, config, evaluation, games, players, runs and storage. Nothing here knows a rule: what
may be done, and what there is to see, is asked of the game; what the others do, of their `Player`s.
"""
