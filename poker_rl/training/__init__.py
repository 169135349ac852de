"""Training of one run: build its parts, train, log, save checkpoints and handle signals."""
