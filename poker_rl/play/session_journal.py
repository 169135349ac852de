"""Journal of a session: a file with JSON lines for the table, each deal and each finished hand.

    {"session": "5f…", "seed": 7, "table": {"game": {…}, "against": ["uniform"], "adviser": null}}
    {"dealt": 1}
    {"hand": 1, "variant": 0, "deck": [2, 0], "player_of_seat": [0, 1], "actions": [1, 2], "won": …}

`player_of_seat` is the player index of each seat (0 is the human player). `won` is the payoff of
each player in chips. `ev_adjusted` is the human player's payoff in chips, adjusted for luck by
AIVAT, or null.

`append_lines` returns after the lines were written to the disk. A hand with a line `dealt` but no
line `hand` was not finished. A last line without a newline is incomplete because of a crash; the
next append overwrites it. The writer locks the file, so that two programs never deal the same hand.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from poker_rl.config.untrusted_files import MIB, open_regular_file
from poker_rl.config.validation import ConfigError
from poker_rl.storage.disk import fsync_path, name_path_in_errors

MAX_JOURNAL_BYTES = 64 * MIB  # enough for 100,000 hands


class SessionInUseError(ConfigError):
    """Error raised if a session is already open, in any process."""


class SessionJournal:
    """Locked file of one session.

    Raises:
        ConfigError: if there is no such file.
        SessionInUseError: if the file is open in another journal, in any process.
        OSError: naming the file, if it can't be written to.
    """

    def __init__(self, path: Path) -> None:
        # A symbolic link could point to a file outside the folder of sessions.
        if path.is_symlink() or not path.is_file():
            raise ConfigError(f"{path} is not a file")
        self.path = path
        with name_path_in_errors(path):
            self._locked_file = path.open("r+b", buffering=0)
            try:
                # The kernel releases the lock when the process ends.
                fcntl.flock(self._locked_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._locked_file.close()
                raise SessionInUseError(
                    f"{path} is in use: its session is open elsewhere"
                ) from None

    def close(self) -> None:
        """Close the file, which releases its lock."""
        self._locked_file.close()

    @classmethod
    def create(cls, path: Path, first_line: dict[str, Any]) -> SessionJournal:
        """Create a new file with its first line; create its folder if necessary."""
        with name_path_in_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(exist_ok=False)
        journal = cls(path)
        try:
            journal.append_lines(first_line)
            fsync_path(path.parent)
        except OSError:
            with suppress(OSError):
                path.unlink()
            journal.close()
            raise
        return journal

    def append_lines(self, *lines: dict[str, Any]) -> None:
        """Write lines and flush them to the disk; a failure leaves the file unchanged.

        Raises:
            OSError: naming the file.
        """
        with name_path_in_errors(self.path), self.path.open("r+b", buffering=0) as file:
            end_offset = file.seek(0, os.SEEK_END)
            if end_offset:
                file.seek(end_offset - 1)
                if file.read(1) != b"\n":
                    file.seek(0)
                    end_offset = file.readall().rfind(b"\n") + 1
                    file.truncate(end_offset)
                file.seek(end_offset)
            data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
            try:
                while data:
                    data = data[file.write(data) :]
                os.fsync(file.fileno())
            except OSError:
                with suppress(OSError):
                    file.truncate(end_offset)
                raise

    def read_lines(self) -> tuple[list[dict[str, Any]], bool]:
        """Return all complete lines, and whether an incomplete line follows them.

        Raises:
            ConfigError: if a line is not a JSON object.
        """
        with (
            name_path_in_errors(self.path),
            open_regular_file(self.path, MAX_JOURNAL_BYTES) as file,
        ):
            data = file.read()
        complete_length = data.rfind(b"\n") + 1
        lines = []
        for line_number, line in enumerate(data[:complete_length].splitlines(), 1):
            try:
                parsed_line = json.loads(line)
            except (ValueError, RecursionError):
                parsed_line = None
            if not isinstance(parsed_line, dict):
                raise ConfigError(f"{self.path}: line {line_number} is not a line of a session")
            lines.append(parsed_line)
        return lines, complete_length < len(data)
