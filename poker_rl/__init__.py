"""Reinforcement learning for poker, measured by the exact distance to Nash."""

__version__ = "0.2.0"
