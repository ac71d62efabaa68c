"""``torch._dynamo.mark_dynamic`` and its kind: what they take, and what they say of a tensor."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import lazyloom
import lazyloom_torch as torch

mark = torch._dynamo


def marks(t: Any) -> dict[int, tuple[bool, int | None, int | None]]:
    """Of each marked dimension whether it is dynamic, and its bounds."""
    (buffer,) = t.value.node.buffers
    return {axis: tuple(m) for axis, m in (buffer.marks or {}).items()}


def test_one_dimension_or_several_with_bounds() -> None:
    t = torch.ones(3, 4, 5)
    mark.mark_dynamic(t, 1, min=2, max=9)
    mark.mark_dynamic(t, [0, -1])
    assert marks(t) == {1: (True, 2, 9), 0: (True, None, None), 2: (True, None, None)}
    mark.maybe_mark_dynamic(t, (1,))
    assert marks(t)[1] == (True, None, None)


def test_what_is_pending_is_computed_first() -> None:
    t = torch.ones(3, 4) + 1
    mark.mark_dynamic(t, 0)
    assert not t.value.is_pending and marks(t) == {0: (True, None, None)}


def test_static_dimensions() -> None:
    t = torch.ones(3, 4)
    mark.mark_dynamic(t, 0)
    mark.mark_static(t, [0])
    assert marks(t) == {0: (False, None, None)}
    mark.mark_static(t)
    assert marks(t) == {0: (False, None, None), 1: (False, None, None)}
    mark.mark_static(torch.nn.Linear)


@pytest.mark.parametrize(("index", "bounds", "text"), [
    (2, {}, "axis 2 of float32[3,4], expected an integer from -2 to 1"),
    ([0, -3], {}, "axis -3"),
    (0, {"min": 4}, "has 3 elements, expected at least min=4"),
    (0, {"max": 2}, "has 3 elements, expected at most max=2"),
    (0, {"max": 0}, "max is 0"),
])  # fmt: skip
def test_errors_are_pytorchs_class(index: Any, bounds: dict[str, int], text: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        mark.mark_dynamic(torch.ones(3, 4), index, **bounds)
    assert text in str(caught.value) and isinstance(caught.value, lazyloom.LoomError)


def test_no_such_static_dimension() -> None:
    with pytest.raises(RuntimeError, match="mark_static: axis 2"):
        mark.mark_static(torch.ones(3, 4), 2)


@pytest.mark.parametrize("name", ["mark_dynamic", "maybe_mark_dynamic", "mark_static"])
def test_signatures_are_pytorchs(name: str) -> None:
    theirs = pytest.importorskip("torch._dynamo")
    ours = inspect.signature(getattr(mark, name)).parameters
    for parameter in inspect.signature(getattr(theirs, name)).parameters.values():
        own = ours[parameter.name]
        assert (own.kind, own.default) == (parameter.kind, parameter.default)
