"""Fork server for the processes of tests, and default signal handlers."""

import multiprocessing
import signal
import time
from contextlib import contextmanager
from pathlib import Path

# Children are forked from a server: a fork of this process would lack its threads.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch", "poker_rl.training.start_run"])  # imported once


@contextmanager
def default_signals():
    """Set the default handlers of SIGHUP and SIGINT in this context.

    Tests that run in the background (`nohup pytest &`) ignore them, and so would their children.
    """
    handlers = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_for(condition, process=None):
    """Wait until `condition()` is true and return its value; fail if `process` ends before."""
    while not (value := condition()):
        assert process is None or process.poll() is None
        time.sleep(0.05)
    return value


def is_running(process):
    """Return whether the process with this id is running; a zombie is not."""
    try:
        return Path("/proc", str(process), "stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False
