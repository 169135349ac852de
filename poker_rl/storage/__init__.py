"""Files of a run: its folder, its checkpoints and the snapshots of its players.

This package imports config.

Damaged or wrong files raise a `ConfigError`, failures of the machine an OSError with a file name.
"""
