"""Training of one run: build its parts, train, log, save checkpoints and handle signals.

A row is a line of metrics.jsonl. The headline player of a run is the one whose measurements come
first in a row. Imports algos, config, evaluation, games, learning, players and storage.
"""
