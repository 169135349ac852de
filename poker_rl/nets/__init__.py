"""Networks with a copies axis, by shape: dense layers, readers of a history, densities of amounts.

Imports config.
"""
