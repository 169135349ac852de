"""The wheel works away from the checkout."""

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

from poker_rl import __version__

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Folder that the wheel was installed into, without its dependencies."""
    built, folder = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip"]
    quiet = ["--quiet", "--no-deps", "--disable-pip-version-check"]
    wheel = [*pip, "wheel", *quiet, "--no-build-isolation", "--wheel-dir", str(built), str(ROOT)]
    subprocess.run(wheel, check=True)
    (path,) = built.glob("poker_rl-*.whl")
    subprocess.run([*pip, "install", *quiet, "--target", str(folder), str(path)], check=True)
    return folder


def run(installed, cwd, *arguments):
    """Run the installed console script; return its output."""
    command = [sys.executable, str(installed / "bin/poker-rl"), *arguments]
    # Before the checkout, which the tests may have installed as editable.
    environment = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_trains_in_another_folder(installed, tmp_path):
    run(installed, tmp_path, "train", "game=kuhn", "algo=cfr_plus", "budget=20", "figures=false")
    (folder,) = tmp_path.glob("outputs/kuhn/cfr_plus/*")
    last = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["eval/average/exploitability"] < 0.05


def test_holds_all_of_conf_and_the_marker_of_typed_packages(installed):
    conf = installed / "poker_rl" / "conf"
    shipped = {path.relative_to(conf) for path in conf.rglob("*") if path.is_file()}
    ours = {path.relative_to(ROOT / "conf") for path in (ROOT / "conf").rglob("*.yaml")}
    assert shipped == ours
    names = {path.name for path in installed.iterdir()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"bin", "poker_rl"}
    assert (installed / "poker_rl" / "py.typed").read_bytes() == b""


def test_files_name_the_same_version():
    in_citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    in_changelog = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert in_citation is not None
    assert in_changelog is not None
    assert in_citation[1] == in_changelog[1] == __version__


def list_requirements(name):
    """Return the requirements of a package, none if it is not installed."""
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def read_pins(**environment):
    """Return the version of each package in constraints.txt, for this Python or another."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    found = [Requirement(line) for line in lines if not line.startswith("#")]
    chosen = [pin for pin in found if pin.marker is None or pin.marker.evaluate(environment)]
    versions = {canonicalize_name(pin.name): str(pin.specifier)[2:] for pin in chosen}
    assert len(versions) == len(chosen), "a package has two pins"
    return versions


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_pins_fit_every_python(python):
    """Each package of pyproject.toml has one pin, within the versions that it allows."""
    environment = {"python_version": python, "python_full_version": f"{python}.1"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11,<3.15"
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]
    pinned = read_pins(**environment)
    for line in chain(project["dependencies"], *project["optional-dependencies"].values()):
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(environment):
            version = pinned[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version, prereleases=True), requirement


def test_all_packages_that_make_installs_are_pinned():
    """The CUDA libraries of torch are left out, as torch pins them itself.

    `make test` does not install the packages of `bench`. Without them the test checks their own
    pins, and not those of their requirements.
    """
    pinned = read_pins().keys()
    extras_of_make = ("", "bench", "dev", "docs", "gym", "joblib", "play", "ray", "slurm", "tune")
    pending, seen = [("poker-rl", extras_of_make)], set()
    while pending:
        name, extras = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for line in list_requirements(name):
            requirement = Requirement(line)
            marker = requirement.marker
            is_needed = marker is None or any(marker.evaluate({"extra": x}) for x in extras)
            if is_needed and not re.match(r"nvidia|cuda|triton", requirement.name):
                pending.append((canonicalize_name(requirement.name), ("", *requirement.extras)))
    assert seen - pinned == {"poker-rl"}
