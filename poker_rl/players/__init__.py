"""Who can sit down at a table: networks, tables of probabilities and bots, asked in one way.

Imports config, games, nets and storage.
"""
