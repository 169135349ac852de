"""Tables, figures and files of evaluations, tournaments, comparisons, runs, hands and policies.

This package imports config, evaluation, games, nets, players, storage and training.
"""
