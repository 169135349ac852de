"""Tables, figures and files for people and other programs: evaluations, tournaments, comparisons,
reports, hands and policies.

Imports config, evaluation, games, players, storage and training.
"""
