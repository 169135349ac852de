"""Sweeps of many runs: their jobs and summary, and studies that search for good settings.

Imports algos, config, games, players, storage and training.
"""
