"""The page of every learner on every small game."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import small_games

pytestmark = pytest.mark.usefixtures("here")


def test_rows_are_trained_once_and_stand_on_the_page(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(
        small_games.EXPERIMENTS, ("kuhn", "mccfr"), "game=kuhn algo=mccfr budget=2e3"
    )
    monkeypatch.setattr("sys.argv", ["small_games.py", "kuhn/mccfr", "seeds=2"])
    Path("docs/images").mkdir(parents=True)
    small_games.main()
    page = Path("docs/benchmark.md").read_text()
    (row,) = [line for line in page.splitlines() if line.startswith("| mccfr |")]
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert cells[0] == "mccfr"
    assert cells[-1] == "`-m game=kuhn algo=mccfr budget=2e3 seed=0,1`"
    # Every traversal meets two decisions at least, and twelve information sets are all there are.
    assert 8_000 <= float(cells[2].removesuffix("k")) * 1000 <= 2 * 2 * 2_000 * 12
    assert 0 < float(cells[1].strip("*").split(" ± ")[0]) < 0.4583  # of uniform play
    assert Path("docs/images/small_kuhn.png").stat().st_size > 10_000
    assert "Not run yet: cfr, cfr_plus," in page
    points = list(csv.DictReader(Path("docs/benchmark/kuhn.csv").read_text().splitlines()))
    finals = [[point for point in points if point["seed"] == seed][-1] for seed in "01"]
    mean = float(cells[1].strip("*").split(" ± ")[0])
    assert sum(float(point["antes"]) for point in finals) / 2 == pytest.approx(mean, rel=0.1)
    assert all(int(point["decisions"]) >= 8_000 for point in finals)

    capfd.readouterr()
    small_games.main()
    assert "finished" in capfd.readouterr().out
    assert Path("docs/benchmark.md").read_text() == page

    # A row that is asked for otherwise is trained again, and runs as they were asked for before
    # do not count, though there are more of them.
    monkeypatch.setattr("sys.argv", ["small_games.py", "kuhn/mccfr", "seeds=1"])
    monkeypatch.setitem(
        small_games.EXPERIMENTS, ("kuhn", "mccfr"), "game=kuhn algo=mccfr budget=4e3"
    )
    small_games.main()
    again = Path("docs/benchmark.md").read_text()
    (row,) = [line for line in again.splitlines() if line.startswith("| mccfr |")]
    assert "budget=4e3 seed=0`" in row

    # What another machine has trained is not lost, and its rows come first where they are better.
    rows, points = Path("docs/benchmark/rows.csv"), Path("docs/benchmark/kuhn.csv")
    ours = rows.read_text(), points.read_text()
    about = next(csv.DictReader(ours[0].splitlines()))
    theirs = about | {"learner": "cfr", "command": "elsewhere", "machines": "another machine"}
    with rows.open("a") as file:
        csv.DictWriter(file, list(theirs), lineterminator="\n").writerow(theirs)
    with points.open("a") as file:
        file.write("cfr,average,0,0,0.0,0.4\ncfr,average,0,9000,2.0,1e-6\n")
    monkeypatch.setattr("sys.argv", ["small_games.py", "page=true"])
    small_games.main()
    page = Path("docs/benchmark.md").read_text()
    assert page.index("| cfr | **1e-06** |") < page.index("| mccfr |")
    assert "`elsewhere` |" in page
    assert f"Machine: {about['machines']}; another machine." in page
    assert set(ours[0].splitlines()) < set(rows.read_text().splitlines())
    assert set(ours[1].splitlines()) < set(points.read_text().splitlines())


def test_of_three_players_the_figure_is_nash_conv(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "game=kuhn_3p algo=mccfr budget=100"
    monkeypatch.setitem(small_games.EXPERIMENTS, ("kuhn_3p", "mccfr"), words)
    monkeypatch.setattr("sys.argv", ["small_games.py", "kuhn_3p/mccfr", "seeds=1"])
    Path("docs/images").mkdir(parents=True)
    small_games.main()
    (folder,) = Path("outputs/small_games/kuhn_3p/mccfr/kuhn_3p/mccfr").iterdir()
    row = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    gains = [row[f"eval/average/gain/seat_{seat}"] for seat in range(3)]
    points = list(csv.DictReader(Path("docs/benchmark/kuhn_3p.csv").read_text().splitlines()))
    assert float(points[-1]["antes"]) == pytest.approx(sum(gains), rel=1e-4)


def test_a_game_that_ran_elsewhere_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["small_games.py", "page=true"])
    Path("docs/benchmark").mkdir(parents=True)
    Path("docs/benchmark/rows.csv").write_text(
        "game,learner,player,decisions,seconds,MiB,command,machines,commits\n"
        "leduc,cfr,average,900,2.25,380,of another machine,theirs,abcdef0\n"
    )
    Path("docs/benchmark/leduc.csv").write_text(
        "learner,player,seed,decisions,seconds,antes\n"
        "cfr,average,0,0,0.0,2.3\ncfr,average,0,900,2.2,0.125\n"
    )
    Path("docs/benchmark.md").write_text("# An old head\n")
    small_games.main()
    page = Path("docs/benchmark.md").read_text()
    assert "| cfr | **0.12** | 900 | 2.2 | `of another machine` |\n\n" in page
    assert "Machine: theirs. Measurements:" in page
    assert "An old head" not in page
    assert page.count("## ") == 2


def test_a_row_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["small_games.py", "chess"])
    with pytest.raises(SystemExit, match="chess: no row is called so"):
        small_games.main()
