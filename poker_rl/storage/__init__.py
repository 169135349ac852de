"""What a run leaves on the disk: its folder, its checkpoints and the snapshots of its players.

Imports config.
"""
