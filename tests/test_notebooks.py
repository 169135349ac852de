"""Notebooks of examples/ run to their end."""

from __future__ import annotations

from pathlib import Path

import pytest

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
