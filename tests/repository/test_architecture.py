"""What the architecture promises of the code: names, sizes of the core's objects, its layers."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from jax.extend.core import primitives

from lazyloom.cache.memory import Entry
from lazyloom.host.primitives.table import PRIMITIVES

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "runtime" / "lazyloom"
MODULES = sorted(RUNTIME.rglob("*.py"))


def classes(path: Path) -> list[ast.ClassDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]


def test_no_two_public_classes_share_a_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for each in classes(path):
            if not each.name.startswith("_"):
                found[each.name].append(path.relative_to(RUNTIME).as_posix())
    assert len(found) > 200
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def test_the_picture_numbers_the_steps_of_the_page() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    steps = re.findall(r"^(\d+)\. \*\*", page, flags=re.M)
    picture = (ROOT / "docs" / "architecture.svg").read_text()
    numbers = re.findall(r'class="number"[^>]*>(\d+)<', picture)
    assert len(steps) > 8 and sorted(numbers, key=int) == steps


def slots(module: str, name: str) -> list[str]:
    """The names in ``__slots__`` of a class, which a compiled one does not keep."""
    (found,) = [c for c in classes(RUNTIME / f"{module}.py") if c.name == name]
    for statement in found.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__slots__":
            names = ast.literal_eval(statement.value)
            assert isinstance(names, tuple)
            return list(names)
    raise AssertionError(f"{name} has no __slots__")


@pytest.mark.parametrize(("module", "name", "most"), [
    ("cache/memory", "Entry", 16),
    ("trace/graph", "Node", 28),
    ("trace/graph", "Component", 12),
])
def test_objects_of_the_core_stay_small(module: str, name: str, most: int) -> None:
    assert 4 < len(slots(module, name)) <= most


def reads_of_streams(path: Path) -> list[int]:
    """The lines that read an attribute ``stream``, but for its length, and call no method of it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    other = {
        id(use) for n in ast.walk(tree) if isinstance(n, ast.Call)
        for use in ([n.func] if ast.unparse(n.func) != "len" else n.args)}
    return [n.lineno for n in ast.walk(tree)
            if isinstance(n, ast.Attribute) and n.attr == "stream" and id(n) not in other]


def test_one_module_decodes_the_stream_of_a_structure() -> None:
    readers = {path.relative_to(RUNTIME).as_posix() for path in MODULES if reads_of_streams(path)}
    # a structure hands its stream to the decoder; the difference of two compares streams whole
    assert readers == {"program/program.py", "program/difference.py"}
    callers = {
        path.relative_to(RUNTIME).as_posix() for path in MODULES
        if "Decoded(" in path.read_text(encoding="utf-8")}
    assert callers == {"program/program.py"}


def test_an_entry_says_nothing_of_how_its_program_runs() -> None:
    assert Entry.__init__ is not None
    measured = {"runs", "spent", "queued", "run_estimate", "compile_estimate", "schedule", "member"}
    assert measured <= set(slots("execute/history", "History"))
    assert not measured & set(slots("cache/memory", "Entry"))


@pytest.mark.parametrize(("package", "unknown"), [
    ("host", "backends"), ("jaxprs", "backends"), ("backends", "execute"), ("cache", "execute"),
    ("trace", "evaluate"), ("program", "execute"),
])
def test_lower_packages_do_not_import_higher_ones_even_when_called(
    package: str, unknown: str
) -> None:
    for path in sorted((RUNTIME / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(a.name for a in node.names if not node.module)]
                assert not any(n.split(".")[0] == unknown for n in names if node.level), path


def literals(path: Path) -> list[tuple[bool, set[str]]]:
    """The texts in dicts (as keys), lists and sets of a module, and the words of its texts.

    With each, whether it is a dict.
    """
    found: list[tuple[bool, set[str]]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append((False, set(node.value.split())))
        elements = node.keys if isinstance(node, ast.Dict) else (
            node.elts if isinstance(node, (ast.List, ast.Set)) else [])
        found.append((isinstance(node, ast.Dict), {
            e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str)}))
    return found


def test_one_table_says_how_kernels_write_each_primitive() -> None:
    names = {p.name for key, p in vars(primitives).items() if key.endswith("_p")}
    assert {"add", "dot_general", "scatter-add", "while"} <= names
    stated: Counter[str] = Counter()
    for path in sorted((RUNTIME / "host").rglob("*.py")):
        for keys, texts in literals(path):
            known = len(names & texts)
            if path.parent.name == "primitives":
                stated.update(texts if keys and known > 3 else ())
            else:
                # a list of NumPy's functions shares some of the names
                assert known < 5 or not keys and known < len(texts) / 2, (path, texts)
    assert stated == Counter(list(PRIMITIVES))
    for name, primitive in PRIMITIVES.items():
        # or a word on why there is no code in C
        assert callable(primitive.numpy) and (callable(primitive.c) or primitive.c), name


#: prints the modules of the runtime that a read passes of what was recorded and run before
READ = """
import os, sys
import numpy, lazyloom
package = os.path.dirname(lazyloom.__file__)
x = lazyloom.from_host(numpy.arange(6.0))
passed = []

def entered(frame, event, argument):
    name = frame.f_code.co_filename
    if event == "call" and name.startswith(package):
        passed.append(os.path.relpath(name, package))

for _ in range(6):
    y = x
    for _ in range(3):
        y = lazyloom.record("sin", [lazyloom.record("add", [y, y])])
    passed.clear()
    sys.setprofile(entered)
    try:
        y.read()
    finally:
        sys.setprofile(None)
print(*dict.fromkeys(passed))
"""


def test_a_read_takes_the_road_that_the_page_draws(tmp_path: Path) -> None:
    # compiled functions are not seen
    paths = os.pathsep.join(str(ROOT / folder) for folder in ("runtime", "frontends", "capi"))
    done = subprocess.run(
        [sys.executable, "-c", READ], text=True, capture_output=True, cwd=tmp_path, timeout=300,
        env={**os.environ, "PYTHONPATH": paths, "LAZYLOOM_REPRODUCIBLE": "1",
             "LAZYLOOM_CACHE_DIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    passed = [name for name in done.stdout.split() if "/" in name]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    drawn = re.search(r"## The road of a read\n.*?```text\n(.*?)```", page, re.S)
    assert drawn is not None
    assert passed == [line.split()[0] for line in drawn[1].splitlines()]
    assert len(passed) <= 16
