"""What run folders hold, to show and for other programs: comparisons, reports, hands, policies.

Imports config, evaluation, games, players, runs and storage.
"""
