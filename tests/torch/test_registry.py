"""The registry of the torch-like frontend: each name is declared once, where a search finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

import lazyloom_torch as torch
from lazyloom_torch import _registry

SOURCES = "\n".join(p.read_text() for p in Path(torch.__file__).parent.rglob("*.py"))
#: names that are made for a family: copies of views, ops of lists of tensors, types
FAMILIES = ("_copy", "unsafe_", "_foreach_", "Tensor", "dropout_")


@pytest.mark.parametrize("place", ["functions", "methods", "inplace"])
def test_a_search_finds_each_name(place: str) -> None:
    names = [n for n in vars(_registry)[place] if not any(part in n for part in FAMILIES)]
    words = {*SOURCES.replace('"', " ").replace(",", " ").replace("(", " ").split()}
    assert len(names) > 100 and [n for n in names if n not in words] == []


def test_what_is_declared_is_there() -> None:
    for name in _registry.functions:
        assert hasattr(torch, name), name
    for name, (_, marks) in _registry.inplace.items():
        assert hasattr(torch.Tensor, f"{name}_"), name
        assert hasattr(torch, f"{name}_") is ("inplace-function" in marks) or (
            f"{name}_" in _registry.functions), name
    assert all(hasattr(torch.Tensor, name) for name in _registry.methods)


def test_a_name_is_declared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("functions", "methods"):
        monkeypatch.setitem(_registry._PLACES, place[:-1], dict(vars(_registry)[place]))
    with pytest.raises(ValueError, match=r"\['amax'\]: declared twice"):
        _registry.declare({"method": [("amax", None)]})
    with pytest.raises(ValueError, match="'methods': expected words of"):
        _registry.declare({"methods": [("no_such", None)]})
    assert _registry.declare({"function as-is": [("no_such", 1)]}) == {"no_such": 1}
