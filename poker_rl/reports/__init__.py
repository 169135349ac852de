"""Tables, figures and files of evaluations, tournaments, comparisons, runs, hands and policies.

Imports config, evaluation, games, players, storage and training.
"""
