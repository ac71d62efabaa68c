"""Facts about ops stand in the op table: nothing outside compares or takes apart an op's name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    p for folder in ("runtime", "capi", "frontends") for p in (ROOT / folder).rglob("*.py"))
#: what makes a derived op from its name, as programs are stored by these, and what finds the
#: patterns of other packages, which are written with names
PARSES = {ROOT / "runtime/lazyloom/ops/derived/__init__.py",
          ROOT / "runtime/lazyloom/codegen/patterns.py"}
TAKES_APART = {"startswith", "endswith", "partition", "rpartition", "removesuffix", "removeprefix",
               "split", "rsplit", "count", "find", "replace"}  # fmt: skip


def is_name(node: ast.expr) -> bool:
    """``op.name``, ``spec.op.name``, or ``str`` of it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
        return bool(node.args) and is_name(node.args[0])
    if not (isinstance(node, ast.Attribute) and node.attr == "name"):
        return False
    owner = node.value
    return (isinstance(owner, ast.Attribute) and owner.attr in ("op", "base", "root")) or (
        isinstance(owner, ast.Name) and owner.id in ("op", "base", "root", "entry"))


def decisions(tree: ast.AST) -> Iterator[int]:
    """The lines that decide something by the name of an op."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            sides += [e for side in sides if isinstance(side, ast.Tuple) for e in side.elts]
            if any(map(is_name, sides)):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            on = node.func.value
            if (node.func.attr in TAKES_APART and is_name(on)) or (
                node.func.attr == "get" and bool(node.args) and is_name(node.args[0])
            ):
                yield node.lineno
        elif isinstance(node, ast.Subscript) and is_name(node.slice):
            yield node.lineno


def test_nothing_decides_by_the_name_of_an_op() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}" for path in SOURCES if path not in PARSES
        for line in decisions(ast.parse(path.read_text()))]
    assert not found


@pytest.mark.parametrize("code", [
    "spec.op.name == 'checked'", "n.spec.op.name in MOVING", "op.name.endswith('.vjp')",
    "str(node.spec.op.name).partition('.')", "LISTED[op.name]", "STATE.get(op.name, ())",
    "(spec.op.name, index) in POSITIONS",
])  # fmt: skip
def test_such_a_decision_is_found(code: str) -> None:
    assert list(decisions(ast.parse(code))) == [1]


@pytest.mark.parametrize("code", [
    "f'{op.name}: wrong'", "self.dtype.name == 'int8'", "place(error, spec.op.name)",
])
def test_what_only_names_an_op_is_not(code: str) -> None:
    assert not list(decisions(ast.parse(code)))
