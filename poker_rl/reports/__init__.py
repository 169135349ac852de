"""What run folders hold, as tables, pictures and files to show and for other programs to read.

Imports config, evaluation, games, players, runs and storage.
"""
