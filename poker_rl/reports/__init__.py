"""What run folders hold, as tables, pictures and pages to show: comparisons and reports.

Imports config, evaluation, games, players and storage.
"""
