"""Bots: players that are defined by rules and settings instead of being trained."""
