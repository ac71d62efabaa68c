"""The notebooks run from top to bottom, and are stored without what they printed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.pages import ROOT

#: as for users, who do not wait for a compiler
pytestmark = pytest.mark.op_by_op

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
#: what runs a notebook as Jupyter does: the extra ``notebooks``
RUNNERS = ("nbclient", "nbformat", "ipykernel")


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    return [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == kind]


def test_there_are_notebooks() -> None:
    assert [p.stem for p in NOTEBOOKS] == ["digits", "first_steps"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    assert not [c["id"] for c in cells(path, "code") if c["outputs"] or c["execution_count"]]
    assert cells(path, "markdown")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_the_cells_run_as_a_script(path: Path) -> None:
    """Each cell in the namespace of those before; its last expression is shown, hence read."""
    sources = ["".join(c["source"]) for c in cells(path, "code")]
    assert len(sources) >= 5
    done = subprocess.run(
        [sys.executable, "-c", _SHELL], input=json.dumps(sources), cwd=path.parent,
        env={**os.environ}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= len(sources)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_the_notebook_runs_in_a_kernel(path: Path) -> None:
    missing = [name for name in RUNNERS if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"a kernel needs {', '.join(missing)}: pip install 'lazyloom[notebooks]'")
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    assert all(c.execution_count for c in notebook.cells if c.cell_type == "code")


_SHELL = """
import ast, json, sys
space = {"__name__": "__main__"}
for number, source in enumerate(json.load(sys.stdin)):
    *body, last = ast.parse(source, f"cell {number}").body
    if not isinstance(last, ast.Expr):
        body.append(last)
        last = None
    exec(compile(ast.Module(body, []), f"cell {number}", "exec"), space)
    if last is not None:
        shown = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), space)
        if shown is not None:
            print(repr(shown))
"""
