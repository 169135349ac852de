"""Files of a run (folder, checkpoints, snapshots of players), safe writing, and terminal output."""
