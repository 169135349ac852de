"""A session's file: a line of JSON for the table, one for each hand dealt and each hand finished.

    {"session": "5f…", "seed": 7, "table": {"game": {…}, "against": ["uniform"], "adviser": null}}
    {"dealt": 1}
    {"hand": 1, "variant": 0, "deck": [2, 0], "ring": [0, 1], "actions": [1, 2, 0], "won": …}

`ring` says who had each seat, as places round the table, the person being place 0; `won` is in
chips and by place; a last key, `lucky`, is what the person won less what luck gave, null where that
is not known. Lines are on the disk when `append` returns. A hand that was dealt and has no line of
its own was left unfinished. A last line without its end was torn by a crash; the next `append`
writes in its place. Whoever writes holds the file's lock, so that nobody deals the same hand too.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from poker_rl.config.files import MIB, open_file
from poker_rl.config.settings import Refused
from poker_rl.storage.disk import at, sync

LARGEST = 64 * MIB  # bytes of a file: 100,000 hands of 600


class InUse(Refused):
    """Somebody else is playing the session of this file."""


class Journal:
    """The file of one session, which is this journal's alone until it is closed.

    Raises:
        Refused: if there is no such file.
        InUse: if another journal of it is open, of this process or of another one.
        OSError: naming the file, if it can't be written to.
    """

    def __init__(self, path: Path) -> None:
        if path.is_symlink() or not path.is_file():  # it is written to
            raise Refused(f"{path} is not a file")
        self.path = path
        with at(path):
            self._locked = path.open("r+b", buffering=0)
            try:
                # The kernel drops the lock with the process, however it ends.
                fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._locked.close()
                raise InUse(f"{path} is in use: its session is open somewhere else") from None

    def close(self) -> None:
        """Let others have the file."""
        self._locked.close()

    @classmethod
    def begun(cls, path: Path, head: dict[str, Any]) -> Journal:
        """A new file in a folder that is made if need be."""
        with at(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(exist_ok=False)
        journal = cls(path)
        try:
            journal.append(head)
            sync(path.parent)
        except OSError:
            with suppress(OSError):
                path.unlink()
            journal.close()
            raise
        return journal

    def append(self, *lines: dict[str, Any]) -> None:
        """Write lines and wait until they are on the disk; if that fails, nothing of them is left.

        Raises:
            OSError: naming the file.
        """
        with at(self.path), self.path.open("r+b", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":
                    file.seek(0)
                    end = file.readall().rfind(b"\n") + 1
                    file.truncate(end)
                file.seek(end)
            data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
            try:
                while data:
                    data = data[file.write(data) :]
                os.fsync(file.fileno())
            except OSError:
                with suppress(OSError):
                    file.truncate(end)
                raise

    def read(self) -> tuple[list[dict[str, Any]], bool]:
        """All whole lines, and whether one that was torn follows them.

        Raises:
            Refused: if a line is none of a session.
        """
        with at(self.path), open_file(self.path, LARGEST) as file:
            data = file.read()
        whole = data.rfind(b"\n") + 1
        lines = []
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                read = json.loads(line)
            except (ValueError, RecursionError):
                read = None
            if not isinstance(read, dict):
                raise Refused(f"{self.path}: line {number} is no line of a session")
            lines.append(read)
        return lines, whole < len(data)
