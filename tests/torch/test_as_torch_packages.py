"""Packages that import torch themselves, under lazyloom_torch; beside PyTorch where it is there."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.torch.programs_packages import HEADER, PROGRAMS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "ecosystem.md"


#: runs programs one after the other; what fails leaves a text instead of its report
_ALL = """
import sys, traceback
for name in sys.argv[1:]:
    program = f"program_{name}.py"  # the name alone is that of a package
    sys.argv = [program, f"{name}.npz"]
    try:
        exec(compile(open(program).read(), program, "exec"), {"__name__": "__main__"})
    except Exception:
        open(f"{name}.txt", "w").write(traceback.format_exc())
"""


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[Any, str]]:
    """What a program reports, or None, and why; by its name and the library that is torch.

    All programs of a package run in one process, which imports it once.
    """
    folders: dict[tuple[str, str], tuple[Path, str]] = {}

    def run(package: str, library: str) -> tuple[Path, str]:
        folder = tmp_path_factory.mktemp(f"{package}-{library}")
        names = [name for name, (of, _) in PROGRAMS.items() if of == package]
        for name in names:
            (folder / f"program_{name}.py").write_text(HEADER + PROGRAMS[name][1])
        (folder / "all.py").write_text(_ALL)
        as_torch = [] if library == "torch" else ["-m", library]
        done = subprocess.run(
            [sys.executable, *as_torch, "all.py", *names], cwd=folder, capture_output=True,
            text=True, timeout=600,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
        return folder, f"exit {done.returncode}\n{done.stderr}"

    def found(name: str, library: str) -> tuple[Any, str]:
        key = PROGRAMS[name][0], library
        if key not in folders:
            folders[key] = run(*key)
        folder, said = folders[key]
        if (folder / f"{name}.txt").exists():
            return None, (folder / f"{name}.txt").read_text()
        if not (folder / f"{name}.npz").exists():
            return None, said
        with np.load(folder / f"{name}.npz") as arrays:
            return dict(arrays), ""

    return found


def _far(ours: Any, theirs: Any, whole: float) -> bool:
    """Whether two results differ by more than rounding does; small ones beside the largest."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return True
    if theirs.dtype.kind != "f":
        # an image of bytes may be rounded the other way
        return bool(np.abs(ours.astype(np.int64) - theirs.astype(np.int64)).max(initial=0)
                    > (theirs.dtype == np.uint8))
    scale = max(float(np.abs(theirs).max(initial=0)), 1e-3 * whole)
    return bool(np.abs(ours - theirs).max(initial=0) > 1e-4 * scale + 1e-7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_packages(name: str, reported: Callable[[str, str], tuple[Any, str]]) -> None:
    package = PROGRAMS[name][0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    ours, said = reported(name, "lazyloom_torch")
    assert ours is not None, said
    assert all(np.isfinite(v).all() for v in ours.values() if v.dtype.kind == "f")
    if importlib.util.find_spec("torch") is None:
        return  # PyTorch is the reference
    theirs, said = reported(name, "torch")
    if theirs is None:
        pytest.skip(f"the installed PyTorch does not run {package}: {said.splitlines()[-1]}")
    assert ours.keys() == theirs.keys()
    whole = max(float(np.abs(v).max(initial=0)) for k, v in theirs.items() if v.dtype.kind == "f"
                and k not in ("out", "logits")) if theirs else 0.0
    assert [k for k in theirs if _far(ours[k], theirs[k], whole)] == []


def test_each_line_of_the_page_names_a_test() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("|")][2:]
    named = [re.findall(r"`(test_\w+)(?:\[([\w-]+)\])?`", row) for row in rows]
    assert rows and all(named), [row for row, names in zip(rows, named) if not names]
    texts = "".join(p.read_text() for p in Path(__file__).parent.glob("test_as_torch*.py"))
    for function, parameter in sum(named, []):
        assert f"def {function}(" in texts, function
        assert not parameter or parameter in PROGRAMS, parameter
    assert {p for _, p in sum(named, []) if p} == set(PROGRAMS)
