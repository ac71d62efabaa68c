"""``lazyloom.mark_dynamic`` and ``mark_static`` take arrays, as the runtime's functions do."""

from __future__ import annotations

from typing import Any

import pytest

import lazyloom
import lazyloom_numpy as np


def marks(x: Any) -> dict[int, bool]:
    """Of each marked axis whether it is dynamic."""
    (buffer,) = x.value.node.buffers
    return {axis: m.dynamic for axis, m in (buffer.marks or {}).items()}


def test_arrays_and_views_are_marked() -> None:
    x = np.ones((3, 4)) + 1
    lazyloom.mark_dynamic(x, -1, min=2, max=9)
    assert marks(x) == {1: True}
    rows = x[1:]
    lazyloom.mark_dynamic(rows, 0)
    lazyloom.mark_static(rows, 1)
    assert marks(rows) == {0: True, 1: False} and marks(x) == {1: True}


def test_no_such_axis() -> None:
    with pytest.raises(ValueError, match="axis 2 of float64"):
        lazyloom.mark_dynamic(np.ones((3, 4)), 2)
