"""The disk cache's fingerprint: it covers the source of all that defines what ops lower to."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import lazyloom
from lazyloom.backends import fingerprint, selection
from lazyloom.backends.xla import assemble, backend, lowering
from lazyloom.host import find, kernels, storage
from lazyloom.ops import derived, table
from lazyloom.ops.spec import OpDef

PACKAGE = Path(str(lazyloom.__file__)).parent
#: reached, and of no effect on what is compiled: where bytes are kept, what calls a function in C
#: or a region
KEPT_AS_THEY_ARE = {"lazyloom.cache.archive", "lazyloom.cache.disk", "lazyloom.cache.private",
                    "lazyloom.cache.room", "lazyloom.cache.used",
                    "lazyloom.cache.memory", "lazyloom._native", "lazyloom._regions",
                    "lazyloom.installed"}  # fmt: skip


def _names(code: types.CodeType) -> set[str]:
    """The names that a function, and functions inside it, look up."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _of_function(f: types.FunctionType) -> list[Any]:
    found: list[Any] = [f.__defaults__, f.__kwdefaults__, getattr(f, "__wrapped__", None)]
    names = _names(f.__code__)
    for name in names:
        used = f.__globals__.get(name)
        found.append(used)
        if isinstance(used, types.ModuleType) and used.__name__.startswith("lazyloom"):
            found += [getattr(used, n, None) for n in names]
    for cell in f.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # a name that is bound later
            pass
    return found


def reached(start: Iterable[Any]) -> set[str]:
    """The package's modules in which anything is defined that these functions can reach."""
    modules: set[str] = set()
    # the backend gives the ops the types of their residuals, which its own fingerprint covers
    seen: dict[int, Any] = {id(selection._lowered_types): selection._lowered_types}
    stack = list(start)
    while stack:
        x = stack.pop()
        if x is None or id(x) in seen:
            continue
        seen[id(x)] = x  # kept, so that its id stays its own
        if isinstance(x, (list, tuple, set, frozenset)):
            stack += x
        elif isinstance(x, dict):
            stack += [*x.keys(), *x.values()]
        elif isinstance(x, property):
            stack += [x.fget, x.fset]
        elif isinstance(x, (staticmethod, classmethod, types.MethodType)):
            stack.append(x.__func__)
        elif not isinstance(x, types.ModuleType):
            callable_ = isinstance(x, type) or inspect.isroutine(x)
            module = str(getattr(x if callable_ else type(x), "__module__", ""))
            if module.split(".")[0] != "lazyloom":
                continue
            modules.add(module)
            if isinstance(x, type):
                stack += [*vars(x).values(), *x.__mro__]
            elif isinstance(x, types.FunctionType):
                stack += _of_function(x)
            elif isinstance(x, OpDef):
                stack += [x.fn, x.rule]
            elif not callable_:
                stack.append(type(x))
    return modules


def covered() -> set[str]:
    """The modules whose source is in the fingerprint."""
    return {"lazyloom." + name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
            for name in storage.sources(fingerprint.LAYERS)}


def test_all_that_definitions_of_ops_reach_is_in_the_fingerprint() -> None:
    found = reached(table().values())
    assert {"lazyloom.ops.elementwise", "lazyloom.ops.complex_edges", "lazyloom.ops.rules.shared",
            "lazyloom.dtypes"} <= found  # fmt: skip
    assert found <= covered()


@pytest.mark.parametrize("suffix", [".vjp", ".jvp", ".vmap", ".fwd", ".bwd", ".vmap.vjp.jvp"])
def test_all_that_derived_ops_reach_is_in_the_fingerprint(suffix: str) -> None:
    found = reached(derived.op_named(name + suffix) for name in table())
    kind = {".fwd": "residuals", ".bwd": "residuals"}.get(suffix, suffix.rpartition(".")[2])
    assert {f"lazyloom.ops.derived.{kind}", "lazyloom.ops.elementwise"} <= found
    assert found <= covered()


def test_all_that_assembles_and_compiles_is_in_the_fingerprint() -> None:
    found = reached([assemble.module_text, lowering.lower, lowering.lower_placed, backend.Xla])
    assert {"lazyloom.backends.xla.fusion_barriers", "lazyloom.backends.xla.products",
            "lazyloom.trace.scalars"} <= found  # fmt: skip
    assert found - KEPT_AS_THEY_ARE <= covered()


def test_all_that_makes_host_kernels_is_in_their_fingerprint() -> None:
    found = reached([find.kernel_of, find.text_of, kernels.kernel_text])
    assert {"lazyloom.host.primitives.shapes", "lazyloom.host.primitives.elementwise",
            "lazyloom.host.writer", "lazyloom.jaxprs.tracing"} <= found  # fmt: skip
    modules = {"lazyloom." + name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
               for name in storage.sources()}
    assert found - KEPT_AS_THEY_ARE <= modules


def test_whole_packages_are_in_the_fingerprint() -> None:
    for layer in fingerprint.LAYERS:
        files = {p.relative_to(PACKAGE).as_posix() for p in (PACKAGE / layer).rglob("*.py")}
        assert files and files <= set(storage.sources(fingerprint.LAYERS))


def test_a_module_outside_is_noticed() -> None:
    def definition() -> Any:
        return lazyloom.Tensor

    definition.__module__ = "lazyloom.ops.of_the_test"
    assert "lazyloom.tensor.tensor" in reached([definition]) - covered()


def test_the_fingerprint_follows_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change anywhere in a file gives another fingerprint, so stored code is not found."""
    names = dict(storage.sources(fingerprint.LAYERS))
    before = fingerprint.fingerprint()
    changed = tmp_path / "jvp.py"
    changed.write_text(Path(names["ops/derived/jvp.py"]).read_text() + "# changed\n")
    names["ops/derived/jvp.py"] = str(changed)
    monkeypatch.setattr(storage, "sources", lambda layers: names)
    assert fingerprint.fingerprint.__wrapped__() != before
