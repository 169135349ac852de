"""Fork server for the processes of tests, and default signal handlers."""

import multiprocessing
import signal
from contextlib import contextmanager

# A fork of this process would lack its threads.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch", "poker_rl.training.train"])  # once for all children


@contextmanager
def default_signals():
    """Set the default handlers of SIGHUP and SIGINT, which nohup ignores, in this context.

    Outside of it, background tests continue when their terminal is closed.
    """
    handlers = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
