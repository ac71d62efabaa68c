"""What setup.py corrects of mypyc's C: whether it still needs it.

Deallocators of acyclic classes, and docstrings.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("mypyc.build")
setuptools = pytest.importorskip("setuptools")

NODE = '''
from __future__ import annotations
from mypy_extensions import mypyc_attr

@mypyc_attr(acyclic=True)
class Node:
    """A node."""

    def __init__(self, operand: Node | None) -> None:
        self.operand = operand

class Tracked:
    def __init__(self, operand: Tracked | None) -> None:
        self.operand = operand

def walk(node: Node) -> None:
    """Walk along the nodes."""
'''
TRANSLATE = """
from mypyc.build import mypycify
mypycify(["--config-file=", "--no-site-packages", "node.py"], target_dir="out")
"""


@pytest.fixture(scope="module")
def translated(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The C that mypyc writes of two classes."""
    folder = tmp_path_factory.mktemp("mypyc")
    (folder / "node.py").write_text(NODE)
    subprocess.run([sys.executable, "-c", TRANSLATE], cwd=folder, check=True, timeout=120)
    return (folder / "out" / "__native.c").read_text()


def test_mypyc_still_puts_acyclic_objects_into_the_trashcan(translated: str) -> None:
    begin = translated.index("\nNode_dealloc(")
    text = translated[begin : translated.index("\n}", begin)]
    assert "PyObject_GC_UnTrack" not in text
    assert "CPy_TRASHCAN_BEGIN(self, Node_dealloc)" in text, (
        "mypyc needs deallocators_mended() of setup.py no more: remove it where the oldest mypy "
        "that pyproject.toml allows is this one, with its row in docs/compiler_defects.md")


def test_what_is_corrected_is_what_needs_it(
    translated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setuptools, "setup", lambda **given: None)
    monkeypatch.setattr(sys, "argv", ["setup.py", "egg_info"])
    monkeypatch.chdir(ROOT)
    mended = runpy.run_path(str(ROOT / "setup.py"))["deallocators_mended"](translated)
    assert mended == translated.replace(
        "CPy_TRASHCAN_BEGIN(self, Node_dealloc)", "CPy_TRASHCAN_BEGIN(self, NULL)")
    assert "CPy_TRASHCAN_BEGIN(self, Tracked_dealloc)" in mended


def test_mypyc_still_writes_no_docstrings(translated: str) -> None:
    for signature in ("Node(operand)", "walk(node)"):
        assert f'PyDoc_STR("{signature}\\n--\\n\\n")' in translated, (
            "mypyc writes docstrings, or signatures otherwise: remove Docstrings of setup.py where "
            "the oldest mypy that pyproject.toml allows writes them, with its row in "
            "docs/compiler_defects.md")


def test_docstrings_are_written_into_what_mypyc_wrote(
    translated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setuptools, "setup", lambda **given: None)
    monkeypatch.setattr(sys, "argv", ["setup.py", "egg_info"])
    monkeypatch.chdir(ROOT)
    written = runpy.run_path(str(ROOT / "setup.py"))["Docstrings"](NODE).written(translated)
    assert '.tp_doc = PyDoc_STR("Node(operand)\\n--\\n\\n"\n"A node.")' in written
    assert 'PyDoc_STR("walk(node)\\n--\\n\\n"\n"Walk along the nodes.")' in written
