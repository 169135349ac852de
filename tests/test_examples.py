"""Examples learn, are short, and use the public parts of the packages alone; notebooks run."""

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = {
    "cfr_plus.py": ["--iterations=30"],
    "nfsp_leduc.py": ["--steps=200"],
    "ppo_leduc.py": ["--updates=40"],
}
FOLDER = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", EXAMPLES)
def test_exploitability_falls(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--game=kuhn", *EXAMPLES[name]])
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    values = re.findall(r"exploitability ([\d.]+) chips a hand", capsys.readouterr().out)
    assert len(values) == 11
    assert float(values[-1]) < 0.9 * float(values[0])


def test_they_are_short_and_use_public_parts():
    assert sorted(path.name for path in FOLDER.glob("*.py")) == sorted(EXAMPLES)
    for name in EXAMPLES:
        text = (FOLDER / name).read_text()
        assert len(text.splitlines()) <= 200
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("poker_rl"):
                assert str(node.module).count(".") == 1, node.module


pytest.importorskip("ipykernel")
nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path):
    notebook = nbformat.read(path, as_version=4)
    code_cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code_cells)  # stored without
    nbclient.NotebookClient(notebook, startup_timeout=600, kernel_name="python3").execute()
    assert any(cell.outputs for cell in code_cells)
