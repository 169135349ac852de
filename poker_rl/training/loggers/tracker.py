"""Base class of loggers for experiment trackers, such as Weights & Biases or MLflow.

A tracker works in its own thread, because its library may wait for a network. If the tracker fails
or hangs, a warning is printed once, and the run continues without it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, ClassVar

from poker_rl.config.validation import ConfigError
from poker_rl.storage.console import print_error
from poker_rl.storage.run_folder import flatten_hparams, read_manifest
from poker_rl.training.loggers import Logger, Row

TIMEOUT_S = 60.0  # longest wait at the end of a run; starting a library can take 20 s


class Tracker(Logger, ABC):
    """Logger for an experiment tracker.

    A subclass is a dataclass that defines `open_run`, `track` and `close_run`. They are called in
    one thread, and may raise any exception.

    Attributes:
        package: name of the library and of the extra that installs it.
        run_id: id of the run from its manifest, which a resumed run keeps.
        run_name: game, algorithm and name of the run.
        names: chosen option by group, such as game: kuhn.
        hparams: the settings by dotted key.
        files: folder for the tracker's files, which all runs in `outputs` share.
        is_resumed: whether the run was resumed.
    """

    package: ClassVar[str]
    _thread: Thread | None = None

    def __post_init__(self) -> None:
        if find_spec(self.package) is None:
            raise ConfigError(f"needs more packages: pip install 'poker-rl[{self.package}]'")

    @abstractmethod
    def open_run(self, config: Mapping[str, Any]) -> None:
        """Start the tracker's run, or continue the one with the id `run_id`."""

    @abstractmethod
    def track(self, values: Mapping[str, float], figures: Mapping[str, Path], step: int) -> None:
        """Write values and figures after `step` decisions; figures are PNG files."""

    @abstractmethod
    def close_run(self, status: str) -> None:
        """End the tracker's run; `status` is finished, interrupted or failed."""

    def start(self, config: Mapping[str, Any], folder: Path, resumed_at: int | None) -> None:
        """Start the thread and open the run in it."""
        manifest, folder = read_manifest(folder), folder.resolve()
        self.run_id, self.is_resumed = str(manifest["tracker_id"]), bool(manifest["resumed"])
        self.names, self.hparams = dict(config["names"]), flatten_hparams(config)
        self.run_name = "/".join((self.names["game"], self.names["algo"], folder.name))
        self.files = folder.parents[2] / self.package
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._is_dropped = False
        self._thread = Thread(target=self._run_calls, daemon=True)
        self._thread.start()
        self._add_call(partial(self.open_run, config))

    def log(self, row: Row, step: int) -> None:
        """Track the counters and the values, except half-widths of confidence intervals."""
        headlines = {f"eval/{tag}": result.value for tag, result in row.headlines.items()}
        values = {tag: one for tag, one in row.values.items() if not tag.endswith("/half_width")}
        self._add_call(partial(self.track, {**row.counters, **headlines, **values}, {}, step))

    def figure(self, name: str, path: Path, step: int) -> None:
        """Track a figure."""
        self._add_call(partial(self.track, {}, {f"figures/{name}": path}, step))

    def close(self, status: str) -> None:
        """Close the run and wait until everything is tracked, at most TIMEOUT_S."""
        if self._thread is None:
            return
        self._add_call(partial(self.close_run, status))
        self._calls.put(None)
        self._thread.join(TIMEOUT_S)
        if self._thread.is_alive():
            self._drop(f"no answer for {TIMEOUT_S:g} s")

    def _add_call(self, call: Callable[[], None]) -> None:
        if not self._is_dropped:
            self._calls.put(call)

    def _run_calls(self) -> None:
        try:
            while (call := self._calls.get()) is not None:
                call()
        except (Exception, SystemExit) as error:
            reason = str(error).strip().partition("\n")[0]
            self._drop(f"{type(error).__name__}: {reason}")

    def _drop(self, reason: str) -> None:
        """Print a warning and ignore all further calls."""
        if not self._is_dropped:
            self._is_dropped = True
            print_error(f"logger {self.package}: {reason}; the run continues without this logger")
