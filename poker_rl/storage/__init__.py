"""Files of a run: its folder, its checkpoints and the snapshots of its players.

This package imports config.

Damaged or wrong files raise a `ConfigError`. Failures of the machine raise an OSError with a path.
"""
