"""File of a session, to which each hand is appended.

The file has one JSON line for the table, and then one for each deal and each finished hand:

    {"session": "5f…", "seed": 7, "table": {"game": {…}, "against": ["uniform"], "adviser": null}}
    {"dealt": 1}
    {"hand": 1, "variant": 0, "deck": [2, 0], "player_of_seat": [0, 1], "actions": [1, 2], "won": …}

`variant` is 0 or, if the number of seats is random, the index of this hand's number of seats.
`player_of_seat` is the player index of each seat (0 is the human player). `won` is the payoff of
each player in chips. `ev_adjusted` is the human player's payoff in chips, adjusted for luck by
AIVAT, or null. A hand with a line `dealt` but no line `hand` was not finished.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.compose import FILE_NAME_PATTERN
from poker_rl.config.input_checks import MAX_INTEGER, MIB, ConfigError, open_regular_file
from poker_rl.play.live_hand import PERSON_INDEX
from poker_rl.storage.disk import fsync_path, name_path_in_errors

MAX_FILE_BYTES = 64 * MIB  # enough for 100,000 hands

Hands = Sequence[Mapping[str, Any]]  # finished hands, as in the lines of the file


@dataclass(frozen=True)
class SavedSession:
    """Content of a session's file."""

    session_id: str
    seed: int
    table: dict[str, Any]  # values of `TableSetup.to_dict`
    hands: list[dict[str, Any]]  # the finished hands, values of `LiveHand.to_dict`
    hands_dealt: int  # number of hands dealt, finished or not


def read_session(path: Path) -> SavedSession:
    """Read a session's file, without replaying its hands; raise ConfigError if it is not one.

    A last line without a newline is ignored, because a crash left it incomplete.
    """
    try:
        with open_regular_file(path, MAX_FILE_BYTES) as file:
            data = file.read()
        complete_lines = data[: data.rfind(b"\n") + 1].splitlines()
        first_line, *lines = map(json.loads, complete_lines)
        session_id, seed, table = first_line["session"], first_line["seed"], first_line["table"]
        game, adviser = table["game"], table["adviser"]
        texts = [game["unit"], *table["against"], *([] if adviser is None else [adviser])]
        hands = [line for line in lines if "hand" in line]
        dealt = [0, *(line["dealt"] for line in lines if "dealt" in line)]
        integers = [seed, game["unit_chips"], *dealt]
        payoffs = [hand["won"][PERSON_INDEX] for hand in hands]
        for hand in hands:
            integers += [hand["hand"], hand["variant"]]
            integers += chain(*(hand[k] for k in ("deck", "player_of_seat", "actions", "won")))
            payoffs.append(0.0 if hand["ev_adjusted"] is None else hand["ev_adjusted"])
        if not (
            all(isinstance(text, str) for text in texts)
            and all(type(integer) is int for integer in integers)
            and all(map(FILE_NAME_PATTERN.fullmatch, (session_id, game["name"])))
            and seed >= 0
            and game["unit_chips"] > 0
            # This is also false if one of the numbers is NaN.
            and np.abs([*dealt, *payoffs, game["unit_chips"]]).max() <= MAX_INTEGER
        ):
            raise ValueError
    except (OSError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
        raise ConfigError(f"{path} is not a file of a session") from None
    return SavedSession(session_id, seed, table, hands, max(dealt))


class SessionFile:
    """Existing, locked file of one session, to which lines are appended.

    The lock prevents two programs from dealing the same hand; a file that is in use raises
    ConfigError. The kernel releases the lock when the process ends. Opening the file removes an
    incomplete last line.
    """

    def __init__(self, path: Path) -> None:
        # A symbolic link could point to a file outside the folder of sessions.
        if path.is_symlink() or not path.is_file():
            raise ConfigError(f"{path} is not a file")
        self.path = path
        with name_path_in_errors(path):
            self._locked_file = path.open("r+b")
            try:
                fcntl.flock(self._locked_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._locked_file.close()
                raise ConfigError(f"{path} is in use: its session is open elsewhere") from None
            self._locked_file.truncate(self._locked_file.read().rfind(b"\n") + 1)

    @classmethod
    def create(cls, path: Path, first_line: dict[str, Any]) -> SessionFile:
        """Create and lock a new file with its first line; create its folder if necessary."""
        with name_path_in_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(exist_ok=False)
            file = cls(path)
            file.append_line(first_line)
            fsync_path(path.parent)
        return file

    def append_line(self, line: dict[str, Any]) -> None:
        """Append a JSON line and flush it to the disk; if this fails, try to remove the line."""
        with name_path_in_errors(self.path):
            end_offset = self.path.stat().st_size
            try:
                with self.path.open("ab") as file:
                    file.write(json.dumps(line).encode() + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
            except OSError:
                with suppress(OSError):
                    os.truncate(self.path, end_offset)
                raise

    def close(self) -> None:
        """Close the file, which releases its lock."""
        self._locked_file.close()
