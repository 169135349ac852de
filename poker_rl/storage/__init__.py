"""Files of a run (folder, checkpoints, snapshots of players), safe writing, and terminal output.

Damaged or wrong files raise a `ConfigError`. Failures of the machine, such as a full disk, raise an
OSError with a path. This package imports config.
"""
