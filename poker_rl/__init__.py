"""Reinforcement learning for poker, measured by exact exploitability in games of moderate size."""

__version__ = "0.2.0"
