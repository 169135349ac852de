"""The wheel works away from the checkout."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the wheel was installed into, its dependencies being those of the tests."""
    built, folder = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip"]
    quiet = ["--quiet", "--no-deps", "--disable-pip-version-check"]
    wheel = [*pip, "wheel", *quiet, "--no-build-isolation", "--wheel-dir", str(built), str(ROOT)]
    subprocess.run(wheel, check=True)
    (path,) = built.glob("poker_rl-*.whl")
    subprocess.run([*pip, "install", *quiet, "--target", str(folder), str(path)], check=True)
    return folder


def run(installed: Path, cwd: Path, *arguments: str) -> str:
    """What the installed console script prints."""
    command = [sys.executable, str(installed / "bin/poker-rl"), *arguments]
    # Before the checkout, which the tests may have installed as editable.
    environment = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_trains_in_another_folder(installed: Path, tmp_path: Path) -> None:
    run(installed, tmp_path, "train", "game=kuhn", "algo=cfr_plus")
    (folder,) = tmp_path.glob("outputs/kuhn/cfr_plus/*")
    last = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["eval/average/exploitability"] < 1e-3


def test_holds_all_of_conf_and_nothing_else(installed: Path, tmp_path: Path) -> None:
    conf = installed / "poker_rl" / "conf"
    shipped = {path.relative_to(conf) for path in conf.rglob("*") if path.is_file()}
    ours = {path.relative_to(ROOT / "conf") for path in (ROOT / "conf").rglob("*.yaml")}
    assert shipped == ours
    names = {path.name for path in installed.iterdir()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"bin", "poker_rl"}
    assert "leduc" in run(installed, tmp_path, "list", "game")


def test_says_that_it_is_typed(installed: Path) -> None:
    assert (installed / "poker_rl" / "py.typed").read_bytes() == b""


def needs(name: str) -> list[str]:
    """What an installed package needs; of one that is not installed, nothing is known."""
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def pins(**environment: str) -> dict[str, str]:
    """Return the version in constraints.txt of each package, for this Python or another one."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    found = [Requirement(line) for line in lines if not line.startswith("#")]
    chosen = [one for one in found if one.marker is None or one.marker.evaluate(environment)]
    versions = {canonicalize_name(one.name): str(one.specifier)[2:] for one in chosen}
    assert len(versions) == len(chosen), "a package has two pins"
    return versions


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_pins_fit_every_python(python: str) -> None:
    """Each package that pyproject.toml names has one pin there, and it is one of those allowed."""
    environment = {"python_version": python, "python_full_version": f"{python}.1"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11,<3.15"
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]
    pinned = pins(**environment)
    for line in chain(project["dependencies"], *project["optional-dependencies"].values()):
        one = Requirement(line)
        if one.marker is None or one.marker.evaluate(environment):
            assert one.specifier.contains(pinned[canonicalize_name(one.name)], prereleases=True), (
                one
            )


def test_all_that_make_installs_is_pinned() -> None:
    """Of torch's build for CUDA the libraries are left out: their versions are torch's matter.

    `make test` does not install the packages of `bench`. Where they are not there, the test looks
    for their own pins only, and not for those of what they need.
    """
    pinned = pins().keys()
    extras_of_make = ("", "bench", "dev", "joblib", "play", "ray", "slurm", "tune")
    wanted, seen = [("poker-rl", extras_of_make)], set()
    while wanted:
        name, extras = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        for line in needs(name):
            one = Requirement(line)
            asked = one.marker is None or any(one.marker.evaluate({"extra": x}) for x in extras)
            if asked and not re.match(r"nvidia|cuda|triton", one.name):
                wanted.append((canonicalize_name(one.name), ("", *one.extras)))
    assert seen - pinned == {"poker-rl"}
