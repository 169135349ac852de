"""Fork server for the processes of tests, and default signal handlers."""

import multiprocessing
import signal
import time
from contextlib import contextmanager
from pathlib import Path

# A fork of this process would lack its threads.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch", "poker_rl.training.start_run"])  # once for all children


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


def wait_for(condition, process=None):
    """Wait until a condition holds, as long as a process is alive; return the condition's value."""
    while not (value := condition()):
        assert process is None or process.poll() is None
        time.sleep(0.05)
    return value


def is_running(process):
    """Return whether a process has not ended; a zombie has ended."""
    try:
        return Path("/proc", str(process), "stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False
