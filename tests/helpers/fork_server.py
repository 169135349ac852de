"""Processes of tests: children of a server, as a fork of this one would lack its threads."""

from __future__ import annotations

import multiprocessing

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch", "poker_rl.training.train"])  # once for all children
