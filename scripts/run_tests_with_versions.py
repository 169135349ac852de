"""Run the tests with other versions of the dependencies.

    python scripts/run_tests_with_versions.py lowest --python 3.11 -n auto

The first argument is `pinned`, `newest` or `lowest`. `pinned` installs the versions in
constraints.txt, and `newest` the newest ones that pyproject.toml allows. `lowest` installs the
lowest allowed version of each package in pyproject.toml, but the newest tools of its extras `dev`
and `docs`. The packages are installed in .venv-VERSIONS-PYTHON, such as .venv-lowest-3.11. All
other arguments are passed to pytest. The script needs uv.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = (
    "export",
    "gym",
    "joblib",
    "mlflow",
    "play",
    "ray",
    "review",
    "slurm",
    "trackio",
    "tune",
    "wandb",
    "watch",
)


def run(*command: str | Path) -> None:
    """Print a command and run it in the repository; exit with its exit code if it fails."""
    print("+", *command, flush=True)
    if code := subprocess.run(command, cwd=ROOT).returncode:
        sys.exit(code)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", choices=["pinned", "newest", "lowest"])
    parser.add_argument("--python", default="{}.{}".format(*sys.version_info), metavar="VERSION")
    arguments, pytest_arguments = parser.parse_known_args()
    folder = ROOT / f".venv-{arguments.versions}-{arguments.python}"
    python = folder / "bin" / "python"
    run("uv", "venv", "--clear", "--seed", "--python", arguments.python, folder)
    bounds: list[str | Path] = []
    if arguments.versions == "pinned":
        bounds = ["--constraints", ROOT / "constraints.txt"]
    if arguments.versions == "lowest":
        lowest = folder / "lowest.txt"
        extras = [f"--extra={extra}" for extra in EXTRAS]
        options = ["--resolution=lowest-direct", "--quiet", "--python", python]
        run("uv", "pip", "compile", "pyproject.toml", *extras, *options, "--output-file", lowest)
        bounds = ["--constraints", lowest]
    package = f".[{','.join(['dev', 'docs', *EXTRAS])}]"
    run("uv", "pip", "install", "--python", python, *bounds, "--editable", package)
    run(python, "-m", "pytest", *pytest_arguments)


if __name__ == "__main__":
    main()
