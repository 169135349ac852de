"""Averages of a policy over training: as a network, as a table, and as averaged weights."""
