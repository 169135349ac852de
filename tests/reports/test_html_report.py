"""`poker-rl report`: a page without scripts that needs no other file."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from commands import TRAIN, list_runs, run_command
from run_folders import make_row, write_run_folder

from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.storage.run_files import read_config_and_manifest

BUILD_FIGURES = PlayerEvaluator.build_figures  # the fixture `working_folder` replaces this method

pytestmark = pytest.mark.usefixtures("working_folder")


class PageParser(HTMLParser):
    """Parser of the elements of a page; fails if they are not nested correctly."""

    def __init__(self, page):
        super().__init__()
        self.opened, self.names, self.attributes, self.words = [], [], [], []
        self.feed(page)
        assert self.opened == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in ("meta", "img"):
            self.opened.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_page_of_a_run_is_complete_and_escaped(capsys, monkeypatch):
    monkeypatch.setattr(PlayerEvaluator, "build_figures", BUILD_FIGURES)
    unsafe_path = "outputs/<script>alert(1)</script>&"
    assert run_command(*TRAIN, "figures=false", "seed=3") == 0
    (folder,) = list_runs()
    moved = Path(unsafe_path)
    moved.parent.mkdir()
    folder.rename(moved)
    assert run_command("evaluate", f"run={moved}", "against=[call]", "deals=30") == 0
    capsys.readouterr()
    assert run_command("report", str(moved), "hands=2") == 0
    assert capsys.readouterr().out == f"written: {moved}/report.html\n"
    page = (moved / "report.html").read_text()
    parts = PageParser(page)
    assert not {"script", "link", "iframe", "object"} & set(parts.names)
    links = [value for name, value in parts.attributes if name in ("href", "src", "xlink:href")]
    assert all(value.startswith(("#", "data:image/")) for value in links)
    assert not [name for name, _ in parts.attributes if name.startswith("on")]
    # One curve; for each of the players average and current, a legend and a panel per seat.
    assert parts.names.count("img") == 1 + 2 * 3
    assert unsafe_path in parts.text
    for expected in (
        "average (headline) measure value unit kind exploitability",  # a table of results
        "against/call",  # from the saved evaluation
        "Hands of average with itself",
        "budget 10 1000",  # setting, value, default
        "numba",  # from the list of versions
    ):
        assert expected in parts.text
    marked = re.findall(r'<tr class="marked"><td>([\w.]+)</td><td>', page)
    assert {"seed", "budget", "evaluation.deals"} <= set(marked)
    assert "threads" not in marked


def test_page_of_several_runs_begins_with_a_comparison(get_refusal):
    for seed in (0, 1):
        assert run_command(*TRAIN, f"seed={seed}") == 0
    assert get_refusal("report", "outputs").startswith("out: missing; of 2 runs, name the page")
    assert run_command("report", "outputs", "hands=0", "out=a.html") == 0
    parts = PageParser(Path("a.html").read_text())
    assert "Side by side" in parts.text
    assert parts.names.count("section") == 2
    assert "with itself" not in parts.text
    anchors = {value for name, value in parts.attributes if name == "id"}
    assert {"run-1", "run-2"} <= anchors


def test_run_without_metrics_has_a_page(finished_run):
    config, manifest = read_config_and_manifest(finished_run)
    empty = write_run_folder("r/a", [], manifest={**manifest, "status": "running"}, **config)
    assert run_command("report", str(empty)) == 0
    assert "running or killed" in (empty / "report.html").read_text()


def test_mistakes_are_explained_in_one_line(finished_run, get_refusal):
    write_run_folder("r/a", [make_row(0, 1)])
    for arguments, expected in (
        (["r/a", "out=a.txt"], "out: a.txt is no page; give FILE.html"),
        (["r/a", "hands=101"], "hands: 101 is not in "),
        (["r/a"], "r/a: game: "),
        (["nowhere"], "nowhere: no run folder matches this or is below it"),
    ):
        assert get_refusal("report", *arguments).startswith(expected)
    (finished_run / "evaluations").mkdir()
    (finished_run / "evaluations" / "x.json").write_text(json.dumps({"results": [{}]}))
    message = get_refusal("report", str(finished_run), "hands=0")
    assert "x.json is no evaluation that can be read" in message
    assert not list(Path().rglob("*.html"))
