"""Cache of compiled rules: the temporary folder, and damaged files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import poker_rl

HASH = (
    "import numpy as np\n"
    "from poker_rl.games.hashing import hash_bytes\n"
    "print(hash_bytes(np.zeros(3, np.uint8), np.uint64(1)))\n"
)
NO_HOME = "import os\nos.path.expanduser = lambda path: path\n"
FULL = (
    "from numba.core.caching import IndexDataCacheFile\n"
    "save = IndexDataCacheFile.save\n"
    "def fail(self, key, data):\n"
    "    if '.cache' in self._cache_path:\n"
    "        raise OSError(28, 'No space left on device')\n"
    "    save(self, key, data)\n"
    "IndexDataCacheFile.save = fail\n"
)


def hash_bytes(home: Path, before: str = "") -> tuple[str, str]:
    """Call a compiled rule in a new process; return its standard output and error."""
    unset = ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"HOME": str(home), "TMPDIR": str(Path("temporary").resolve())}
    environment |= {"PYTHONPATH": str(Path(poker_rl.__file__).parents[1])}
    Path("temporary").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", before + HASH],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("home", "before", "why"),
    [
        ("/dev/null", "", "/dev/null/.cache/poker-rl/"),
        ("home", NO_HOME, "Could not determine home directory; "),
        ("home", FULL, "home/.cache/poker-rl/"),
    ],
)
@pytest.mark.usefixtures("working_folder")
def test_a_folder_that_can_not_be_written(home: str, before: str, why: str) -> None:
    Path("home").mkdir()
    out, err = hash_bytes(Path(home).resolve(), before)
    assert out.strip().isdecimal()
    (line,) = err.splitlines()
    assert line.startswith("poker-rl: compiled rules can't be kept: ")
    assert why in line
    assert ("No space left on device" in line) == (before == FULL)
    assert line.endswith("Set XDG_CACHE_HOME to a folder that can be written")
    assert list(Path("temporary").rglob("hashing.hash_bytes-*.nbc"))


@pytest.mark.usefixtures("working_folder")
def test_a_damaged_file_is_compiled_again() -> None:
    expected = hash_bytes(Path.cwd())
    (index,) = Path(".cache").rglob("hashing.hash_bytes-*.nbi")
    (code,) = Path(".cache").rglob("hashing.hash_bytes-*.nbc")
    whole = code.read_bytes()
    machine_code = whole.index(b"\x7fELF") + 100
    wrong_byte = whole[:machine_code] + b"\xff" + whole[machine_code + 1 :]
    for path, damage in [(index, b"?"), (code, wrong_byte)]:
        path.write_bytes(damage)
        assert hash_bytes(Path.cwd()) == expected
        assert path.read_bytes() != damage
    assert expected[1] == ""


@pytest.mark.usefixtures("working_folder")
def test_a_temporary_folder_of_another_user_is_not_used() -> None:
    """Loading compiled code executes it."""
    elsewhere = Path("elsewhere")
    elsewhere.mkdir()
    Path("temporary").mkdir()
    Path("temporary", f"poker-rl-cache-{os.getuid()}").symlink_to(elsewhere.resolve())
    assert hash_bytes(Path("/dev/null"))[0].strip().isdecimal()
    assert not list(elsewhere.iterdir())
