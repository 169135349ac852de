"""Packages of other people, found by the entry point that they are installed with.

A plug-in is a package whose distribution names it in the entry point group `poker_rl.plugins`:

    [project.entry-points."poker_rl.plugins"]
    goofspiel = "goofspiel"

Whoever installs it trusts it. Its classes may then be named by configs and checkpoints as those of
poker_rl are, and the YAML in its folder `conf` joins the options. No code of it runs before a
config or a checkpoint names one of its classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

GROUP = "poker_rl.plugins"


@dataclass(frozen=True)
class Plugin:
    """An installed package of somebody else."""

    package: str  # its name to import it by
    distribution: str  # what it was installed with
    version: str  # of the distribution
    folder: Path  # where its sources lie

    @property
    def conf(self) -> Path:
        """Where its YAML lies; it need not have any."""
        return self.folder / "conf"


def plugins() -> list[Plugin]:
    """The plug-ins that can be used, in the order of their packages' names."""
    return list(_found()[0])


def broken() -> list[str]:
    """A line for each installed plug-in that can't be used, which names it and says why."""
    return list(_found()[1])


def sources() -> Iterator[Path]:
    """The Python files of all plug-ins."""
    for plugin in plugins():
        yield from sorted(plugin.folder.rglob("*.py"))


@cache
def _found() -> tuple[list[Plugin], list[str]]:
    """The plug-ins, and what is wrong with those that can't be used."""
    found, complaints = {}, []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.value):
        assert entry.dist is not None  # as it has where it was found by its group
        distribution, version = entry.dist.name, entry.dist.version
        what = f"plug-in {entry.name} ({distribution} {version}) is not used"
        # Looking for a name with a dot would import the package above it: run code.
        spec = find_spec(entry.value) if entry.value.isidentifier() else None
        if spec is None or not spec.submodule_search_locations:
            lacks = f"there is no top-level package {entry.value}"
            complaints.append(f"{what}: {lacks}; install it again or uninstall it")
            continue
        folder = Path(next(iter(spec.submodule_search_locations)))
        plugin = Plugin(entry.value, distribution, version, folder)
        if roots := sorted(plugin.conf.glob("*.yaml")):
            example = plugin.conf / "game" / "mine.yaml"
            complaints.append(f"{what}: {roots[0]} is of no group; allowed: files as {example}")
            continue
        found[plugin.package] = plugin
    return list(found.values()), complaints
