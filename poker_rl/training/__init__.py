"""Training of one run: build its parts, train, log, save checkpoints and handle signals.

A row is a line of metrics.jsonl. The headline player of a run is the player that its algorithm
returns first, the one expected to be closest to an equilibrium. This package imports algos, config,
evaluation, games, learning, nets, players and storage.
"""
