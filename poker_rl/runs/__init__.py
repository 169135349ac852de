"""A run and what surrounds it: building it, the training loop, its record, sweeps, searches.

Imports algos, config, evaluation, games, learning, players and storage.
"""
