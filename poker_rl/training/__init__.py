"""Training one run: building it, the loop, its record, checkpoints, processes and signals.

Imports algos, config, evaluation, games, learning, players and storage.
"""
