"""Documentation: links, the site, and the examples in pages, scripts and notebooks."""

import ast
import os
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numba
import pytest
import torch
from build_docs import find_pages

from poker_rl.algos import create_algorithm
from poker_rl.config import ConfigError, threads_and_numba_cache
from poker_rl.config.compose import compose_plain_config
from poker_rl.games import load_game
from poker_rl.players import load_player

ROOT = Path(__file__).parents[1]


def list_anchors(page):
    """Return the anchors of a page's headings: lower case, with dashes, as on GitHub."""
    counts, names = {}, set()
    for heading in re.findall(r"^#+ (.*)$", remove_code(page), re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = counts.get(anchor, 0)
        counts[anchor] = count + 1
        names.add(f"{anchor}-{count}" if count else anchor)
    return names


def remove_code(page):
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


def test_links_between_pages_are_valid():
    for page in (ROOT / name for name in find_pages()):
        for target in re.findall(r"\]\(([^)\s]+)\)", remove_code(page)):
            if "://" not in target:
                path, _, anchor = target.partition("#")
                linked = (page.parent / path).resolve() if path else page
                assert linked.exists(), (page, target)
                assert not anchor or anchor in list_anchors(linked), (page, target)


def test_navigation_of_the_site_has_every_page_once():
    entries = re.findall(r"[-:] (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(entries) == sorted(map(str, find_pages()))


@pytest.mark.skipif(find_spec("zensical") is None, reason="the extra docs is not installed")
def test_site_builds_without_warnings():
    subprocess.run([sys.executable, "scripts/build_docs.py"], cwd=ROOT, check=True)


EXAMPLES = {
    "cfr_plus.py": ["--iterations=30"],
    "nfsp_leduc.py": ["--steps=200"],
    "ppo_leduc.py": ["--updates=40"],
}
FOLDER = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_scripts_lower_exploitability(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--game=kuhn", *EXAMPLES[name]])
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    values = re.findall(r"exploitability ([\d.]+) chips a hand", capsys.readouterr().out)
    assert len(values) == 11
    assert float(values[-1]) < 0.9 * float(values[0])


def test_example_scripts_are_short_and_import_public_packages():
    assert sorted(path.name for path in FOLDER.glob("*.py")) == sorted(EXAMPLES)
    for name in EXAMPLES:
        text = (FOLDER / name).read_text()
        assert len(text.splitlines()) <= 200
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("poker_rl"):
                assert str(node.module).count(".") == 1, node.module


NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path):
    pytest.importorskip("ipykernel")
    nbclient, nbformat = map(pytest.importorskip, ("nbclient", "nbformat"))
    notebook = nbformat.read(path, as_version=4)
    code_cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code_cells)  # none is stored
    nbclient.NotebookClient(notebook, startup_timeout=600, kernel_name="python3").execute()
    assert any(cell.outputs for cell in code_cells)


DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "library.md").read_text(encoding="utf-8")
PARTS = re.findall(r"^## (.+?)\n.*?^```python\n(.*?)^```\n\n^```text\n(.*?)^```", PAGE, re.M | re.S)


@pytest.mark.parametrize(("code", "output"), [part[1:] for part in PARTS], ids=lambda _: "")
def test_examples_of_the_library_page_print_their_output(code, output, capsys):
    assert len(code.splitlines()) <= 14  # with the imports
    exec(compile(code, "library.md", "exec"), {"__name__": "notebook"})
    assert capsys.readouterr().out == output


def test_every_example_of_the_library_page_is_run():
    assert len(PARTS) == PAGE.count("```python") == PAGE.count("\n## ") == 5


def test_overrides_without_effect_are_errors():
    with pytest.raises(ConfigError, match="game: has no effect here; allowed: settings of algo, "):
        create_algorithm("ppo", load_game("kuhn"), "game=leduc")
    with pytest.raises(ConfigError, match="seed: has no effect here"):
        create_algorithm("ppo", load_game("kuhn"), "seed=7")
    with pytest.raises(ConfigError, match="ante: has no effect here; allowed: settings of game"):
        load_game("kuhn", "ante=2")
    with pytest.raises(ConfigError, match='game: "kuhn" is a name; give a game, such as load_game'):
        create_algorithm("ppo", "kuhn")


@pytest.fixture
def all_cores(monkeypatch):
    """Set torch to three threads, as if the program had not yet chosen a number of threads."""
    before = torch.get_num_threads(), numba.get_num_threads()
    monkeypatch.setattr(threads_and_numba_cache, "_threads_were_set", False)
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before[0])
    numba.set_num_threads(before[1])


@pytest.mark.usefixtures("all_cores")
def test_library_uses_as_many_threads_as_the_command_line():
    load_player("uniform", load_game("kuhn"))
    default = compose_plain_config([])["threads"]
    assert (torch.get_num_threads(), numba.get_num_threads()) == (default, default)
    torch.set_num_threads(2)  # a later choice is kept
    create_algorithm("ppo", load_game("kuhn"))
    assert torch.get_num_threads() == 2


def test_one_thread_can_be_set_in_a_new_process():
    """Starting numba's thread pool in that process would change OpenMP's number of threads."""
    program = "import torch; from poker_rl.config import set_threads; torch.get_num_threads();"
    program += "set_threads(1); assert torch.get_num_threads() == 1"
    environment = {name: os.environ[name] for name in os.environ if name != "OMP_NUM_THREADS"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
