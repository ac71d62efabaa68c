"""Tracebacks show the lines of compiled modules."""

from __future__ import annotations

import sys
import traceback
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType

import pytest

import lazyloom
from lazyloom import compiled, sources

SOURCE = "def element(k):\n    return [1][k]\n"


def raised_in(module: ModuleType) -> str:
    with pytest.raises(IndexError) as caught:
        module.element(3)
    return "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("installed", [True, False])
def test_a_module_with_its_source_in_the_package(
    tmp_path: Path, installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, hidden = f"shown{installed}", f"hidden{installed}"
    package = ModuleType("package")
    package.__file__ = str(tmp_path / "__init__.py")
    monkeypatch.setitem(sys.modules, "package", package)
    found = {}
    for name in (shown, hidden):
        module = ModuleType(f"package.{name}")
        module.__loader__ = ExtensionFileLoader(module.__name__, f"/package/package/{name}.abi3.so")
        if installed:
            (tmp_path / f"{name}.py").write_text(SOURCE)
        if name == shown:
            sources.show_of(module)
        # as compiled code names its file: one that is nowhere
        exec(compile(SOURCE, f"package/{name}.py", "exec"), module.__dict__)
        found[name] = "return [1][k]" in raised_in(module)
    assert found == {shown: installed, hidden: False}


@pytest.mark.skipif(not compiled.COMPILED, reason="the core is interpreted")
def test_the_compiled_core_has_its_sources() -> None:
    from lazyloom.trace import graph

    source = graph.__loader__.get_source(graph.__name__)  # type: ignore[union-attr]
    assert source is not None and "class Node" in source
    with pytest.raises(lazyloom.LoomError) as caught:
        lazyloom.record("add", 3)
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert len(lines) > 1 and all(lines)
