"""Cache of compiled rules: the temporary folder, and damaged files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import poker_rl

HASH = "import numpy as np; from poker_rl.games.game import hash_bytes;"
HASH += "print(hash_bytes(np.zeros(3, np.uint8), np.uint64(1)))"


def hash_bytes(home):
    """Call a compiled rule in a new process; return its standard output and error."""
    unset = ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"HOME": str(home), "TMPDIR": str(Path("temporary").resolve())}
    environment |= {"PYTHONPATH": str(Path(poker_rl.__file__).parents[1])}
    Path("temporary").mkdir(exist_ok=True)
    options = {"capture_output": True, "text": True, "check": False}
    done = subprocess.run([sys.executable, "-c", HASH], env=environment, **options)
    return done.stdout, done.stderr


@pytest.mark.usefixtures("working_folder")
def test_a_folder_that_can_not_be_written():
    out, err = hash_bytes(Path("/dev/null"))
    assert out.strip().isdecimal()
    (line,) = err.splitlines()
    assert line.startswith("poker-rl: compiled rules can't be kept: ")
    assert "/dev/null/.cache/poker-rl/" in line
    assert line.endswith("Set XDG_CACHE_HOME to a folder that can be written")
    assert list(Path("temporary").rglob("game.hash_bytes-*.nbc"))


@pytest.mark.usefixtures("working_folder")
def test_a_damaged_file_is_compiled_again():
    expected = hash_bytes(Path.cwd())
    (index,) = Path(".cache").rglob("game.hash_bytes-*.nbi")
    (code,) = Path(".cache").rglob("game.hash_bytes-*.nbc")
    for path, damage in [(index, b"?"), (code, code.read_bytes()[:1000])]:
        path.write_bytes(damage)
        assert hash_bytes(Path.cwd()) == expected
        assert path.read_bytes() != damage
    assert expected[1] == ""
