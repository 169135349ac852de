"""Draws the plan of the house: the rooms of `poker_rl` by floor, an arrow for each import.

    python scripts/architecture.py docs/images/architecture.png

The rooms are the packages of `poker_rl`. Their floors follow from the imports
that are found in the sources: a room stands one floor above the highest room that it imports.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

PACKAGE = Path(__file__).resolve().parents[1] / "poker_rl"
GROUND = "config"  # what all rooms import; its arrows are not drawn
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666")


def modules() -> dict[str, Path]:
    """The files of `poker_rl` by dotted name without `poker_rl.`, the package itself left out."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    del found[""]
    return found


def imports(path: Path) -> Iterator[str]:
    """The dotted names that a file imports, late imports and those for types alone included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(module: str) -> str:
    """The room that a module lies in: the first part of its name."""
    return module.partition(".")[0]


def arrows() -> dict[str, set[str]]:
    """The rooms that each room imports."""
    found: dict[str, set[str]] = {room_of(module): set() for module in modules()}
    for module, path in modules().items():
        for name in imports(path):
            if name.startswith("poker_rl."):
                found[room_of(module)].add(room_of(name.removeprefix("poker_rl.")))
    return {
        room: {other for other in others if other in found and other != room}
        for room, others in found.items()
    }


def floors(plan: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each room, from 1.

    Raises:
        RecursionError: if the arrows run in a circle.
    """

    def floor(room: str) -> int:
        return 1 + max((floor(other) for other in plan[room]), default=0)

    return {room: floor(room) for room in plan}


def places(plan: dict[str, set[str]]) -> dict[str, tuple[float, float]]:
    """Where each room is drawn: below the rooms that import it, the lowest floor at the bottom."""
    floor = floors(plan)
    place: dict[str, tuple[float, float]] = {}
    for level in range(max(floor.values()), 0, -1):
        middle = {}
        for room in (room for room in plan if floor[room] == level):
            above = [place[other][0] for other in place if room in plan[other]]
            middle[room] = sum(above) / max(len(above), 1)
        order = sorted(middle, key=lambda room: (middle[room], room))
        for i, room in enumerate(order):
            # Every other floor is a little to the side, so that arrows pass beside its rooms.
            x = 4.6 * (i - (len(order) - 1) / 2) + (0.8 if level % 2 else -0.8)
            place[room] = x, 1.5 * level
    return place


def draw(plan: dict[str, set[str]]) -> Figure:
    """The rooms as boxes above the ground floor, which every one of them imports."""
    above = {room: others - {GROUND} for room, others in plan.items() if room != GROUND}
    place = places(above)
    xs, ys = zip(*place.values(), strict=True)
    figure = Figure(figsize=(9, 1.2 * max(ys) / 1.5 + 1.2), layout="constrained")
    ax = figure.subplots()
    for i, (room, others) in enumerate(sorted(above.items())):
        for other in sorted(others):
            (x, y), (to_x, to_y) = place[room], place[other]
            ax.add_patch(
                FancyArrowPatch(
                    (x, y - 0.25),
                    (to_x, to_y + 0.3),
                    arrowstyle="-|>",
                    mutation_scale=11,
                    connectionstyle="arc3,rad=0.05",
                    color=COLOURS[i % len(COLOURS)],
                    linewidth=1.2,
                )
            )
    for room, (x, y) in place.items():
        box(ax, x, y, f"{room}/")
    box(ax, sum(xs) / len(xs), 0, f"{GROUND}/{' ' * 60}every room above imports it")
    count = sum(map(len, above.values()))
    ax.set_title(f"{len(plan)} rooms; {count} arrows, from each room to those that it imports")
    ax.set_xlim(min(xs) - 1.2, max(xs) + 1.2)
    ax.set_ylim(-0.6, max(ys) + 0.6)
    ax.axis("off")
    return figure


def box(ax: Axes, x: float, y: float, text: str) -> None:
    """A room."""
    frame = {"boxstyle": "round,pad=0.45", "facecolor": "white", "edgecolor": "#333333"}
    ax.text(x, y, text, ha="center", va="center", fontsize=11, bbox=frame)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/architecture.py FILE.png")
    draw(arrows()).savefig(sys.argv[1], dpi=130)
