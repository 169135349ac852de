"""Many runs: the jobs of a sweep, their summary, and searches for settings.

Imports algos, config, games, players, storage and training.
"""
