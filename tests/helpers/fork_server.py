"""Fork server for the processes of tests, since a fork of this process would lack its threads."""

from __future__ import annotations

import multiprocessing

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch", "poker_rl.training.train"])  # once for all children
