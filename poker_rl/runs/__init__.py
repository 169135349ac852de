"""A run and what surrounds it: building it, the training loop, its record, sweeps of several.

Imports algos, config, evaluation, games, learning, players and storage.
"""
