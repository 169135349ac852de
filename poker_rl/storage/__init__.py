"""Files of a run (folder, checkpoints, snapshots of players), safe writing, and terminal output.

This package imports config.

Damaged or wrong files raise a `ConfigError`. Failures of the machine raise an OSError with a path.
"""
