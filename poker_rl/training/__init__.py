"""Training of one run: build its parts, train, log, save checkpoints and handle signals.

A row is a line of metrics.jsonl. A run has several players, such as the current policy and an
average policy; its headline player is the one expected to be closest to an equilibrium. This
package imports algos, config, evaluation, games, learning, nets, players and storage.
"""
