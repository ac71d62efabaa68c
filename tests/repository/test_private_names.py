"""No frontend, nor the C ABI, touches what is private to the runtime, by import or by attribute.

Python has no types to tell whose an attribute is, so names decide. A name with an underscore that a
class of the runtime defines may be used in a frontend only if a class there defines it, too; for
tensors and storages, which frontends subclass and hold, not even then: it would be another
attribute, or replace the runtime's.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime" / "lazyloom"
USERS = {
    "lazyloom_numpy": ROOT / "frontends" / "lazyloom_numpy",
    "lazyloom_torch": ROOT / "frontends" / "lazyloom_torch",
    "lazyloom_capi": ROOT / "capi" / "lazyloom_capi",
    "named_arrays": ROOT / "examples" / "frontend" / "named_arrays",
}
#: the modules of the runtime that may be imported beside the package itself
PUBLIC = {"backends", "cache", "capture", "codegen", "distributed", "dtypes", "errors", "frontend",
          "launcher", "ops", "quantization", "testing"}
#: the classes none of whose private names may be defined again
SHARED = {"Contents", "Storage", "Tensor"}


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def defined(cls: ast.ClassDef) -> set[str]:
    """The private names that a class defines: in its body, its slots, or on ``self``."""
    found = set()
    for node in cls.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        targets = node.targets if isinstance(node, ast.Assign) else (
            [node.target] if isinstance(node, ast.AnnAssign) else [])
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            found |= {n.id for n in names if isinstance(n, ast.Name)}
            if isinstance(target, ast.Name) and target.id == "__slots__" and node.value:
                found |= {c.value for c in ast.walk(node.value)
                          if isinstance(c, ast.Constant) and isinstance(c.value, str)}
    for node in ast.walk(cls):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and (
            isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        ):
            found.add(node.attr)
    return {n for n in found if private(n)}


def trees(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path, ast.parse(path.read_text())


def classes(folder: Path) -> Iterator[ast.ClassDef]:
    for _, tree in trees(folder):
        yield from (n for n in ast.walk(tree) if isinstance(n, ast.ClassDef))


def uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The private names that a module takes from objects, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and (
            node.func.id in ("getattr", "setattr", "hasattr", "delattr") and len(node.args) > 1
        ):
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield node.lineno, name.value


def violations(folder: Path) -> list[str]:
    theirs = {name for cls in classes(RUNTIME) for name in defined(cls)}
    shared = {name for cls in classes(RUNTIME / "tensor") if cls.name in SHARED
              for name in defined(cls)}
    own = {name for cls in classes(folder) for name in defined(cls)} - shared
    found = []
    for path, tree in trees(folder):
        where = path.relative_to(ROOT)
        for line, name in uses(tree):
            if name in theirs and name not in own:
                found.append(f"{where}:{line}: .{name} is private to the runtime")
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found += [f"{where}:{node.lineno}: {node.name}.{name} is a private name of the "
                          "runtime's tensors or storages; choose another"
                          for name in sorted(defined(node) & shared)]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                parts = (node.module or "").split(".")
                names = [n.name for n in node.names]
                if parts[0] == "lazyloom" and any(private(p) for p in (*parts, *names)):
                    found.append(f"{where}:{node.lineno}: a private name is imported")
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and (
                isinstance(node.value.value, ast.Name) and node.value.value.id == "lazyloom"
            ):
                # lazyloom.ops.spec, say, which needs no import of its own
                if node.value.attr in PUBLIC and (RUNTIME / node.value.attr / f"{node.attr}.py"
                                                  ).exists() or private(node.attr):
                    found.append(f"{where}:{node.lineno}: lazyloom.{node.value.attr}.{node.attr} "
                                 "is no public module")
    return found


@pytest.mark.parametrize("folder", USERS.values(), ids=USERS)
def test_no_private_name_of_the_runtime_is_used(folder: Path) -> None:
    found = violations(folder)
    assert not found, "use lazyloom.frontend instead:\n" + "\n".join(found)


def test_uses_of_private_names_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "user.py").write_text(
        "import lazyloom\n"
        "from lazyloom.ops import _helpers\n"
        "class Array(lazyloom.Tensor):\n"
        "    __slots__ = ('_writes', '_mine')\n"
        "    def f(self):\n"
        "        self._mine = self.value\n"
        "        self._write(self.value)\n"
        "        return getattr(self, '_overwritten'), self._mine, lazyloom.ops.spec\n")
    found = "\n".join(violations(tmp_path))
    for line, word in ((2, "imported"), (3, "Array._writes"), (7, "_write"), (8, "_overwritten"),
                       (8, "lazyloom.ops.spec")):
        assert any(f":{line}:" in entry and word in entry for entry in found.splitlines()), found
    assert "_mine" not in found


def test_every_module_of_the_runtime_is_public_or_protected() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    protected = next(c for c in contracts["contracts"] if c["name"].startswith("frontends and the "
                     "C ABI use only"))["protected_modules"]  # fmt: skip
    here = [p for p in RUNTIME.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
    modules = {p.stem for p in here} - {"__init__", "__main__"}
    assert modules == PUBLIC | {m.split(".")[1] for m in protected}
