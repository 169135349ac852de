"""The wheel works without the checkout, and versions and pins are consistent."""

import json
import os
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from poker_rl import __version__

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site_folder(tmp_path_factory):
    """Return the folder into which the wheel is installed, without its dependencies."""
    built, folder = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip"]
    quiet = ["--quiet", "--no-deps", "--disable-pip-version-check"]
    wheel = [*pip, "wheel", *quiet, "--no-build-isolation", "--wheel-dir", str(built), str(ROOT)]
    subprocess.run(wheel, check=True)
    (path,) = built.glob("poker_rl-*.whl")
    subprocess.run([*pip, "install", *quiet, "--target", str(folder), str(path)], check=True)
    return folder


def run(site_folder, cwd, *arguments):
    """Run the installed script `poker-rl`; return its output."""
    command = [sys.executable, str(site_folder / "bin/poker-rl"), *arguments]
    # PYTHONPATH has precedence over the checkout, which may be installed as editable.
    environment = os.environ | {"PYTHONPATH": str(site_folder)}
    options = {"capture_output": True, "text": True, "check": False}
    process = subprocess.run(command, cwd=cwd, env=environment, **options)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_installed_wheel_trains_in_another_folder(site_folder, tmp_path):
    run(site_folder, tmp_path, "train", "game=kuhn", "algo=cfr_plus", "budget=20", "figures=false")
    (folder,) = tmp_path.glob("outputs/kuhn/cfr_plus/*")
    last = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["eval/average/exploitability"] < 0.05


def test_wheel_has_all_of_conf_and_the_py_typed_marker(site_folder):
    conf = site_folder / "poker_rl" / "conf"
    shipped = {path.relative_to(conf) for path in conf.rglob("*") if path.is_file()}
    ours = {path.relative_to(ROOT / "conf") for path in (ROOT / "conf").rglob("*.yaml")}
    assert shipped == ours
    names = {path.name for path in site_folder.iterdir()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"bin", "poker_rl"}
    assert (site_folder / "poker_rl" / "py.typed").read_bytes() == b""


def test_citation_and_changelog_name_the_version():
    for pattern, name in ((r"^version: (.+)$", "CITATION.cff"), (r"^## (\S+)", "CHANGELOG.md")):
        assert re.search(pattern, (ROOT / name).read_text(), re.M)[1] == __version__


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_pins_fit_the_requirements_for_every_python(python):
    """Each requirement of pyproject.toml has one pin in constraints.txt, which it allows."""
    environment = {"python_version": python, "python_full_version": f"{python}.1"}

    def select(lines):
        parsed = [Requirement(line) for line in lines if not line.startswith("#")]
        return [req for req in parsed if req.marker is None or req.marker.evaluate(environment)]

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]
    pins = select((ROOT / "constraints.txt").read_text().splitlines())
    pinned = {canonicalize_name(pin.name): str(pin.specifier)[2:] for pin in pins}
    assert len(pinned) == len(pins), "a package has two pins"
    needed = chain(project["dependencies"], *project["optional-dependencies"].values())
    for req in select(needed):
        assert req.specifier.contains(pinned[canonicalize_name(req.name)], prereleases=True), req
