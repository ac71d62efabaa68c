"""Arrays of ours in einops, which knows arrays by their type.

What einops can work on are the classes derived from its ``AbstractBackend``. The one for our arrays
is made when einops is imported.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as onp

from .._array.ndarray import ndarray
from .when_imported import when_imported


def _define(backends: Any) -> None:
    """The backend of our arrays, which is NumPy's on them."""
    inner: Any = getattr(backends, "NumpyBackend", None)
    if inner is None:
        return

    class LazyloomBackend(inner):  # type: ignore[misc]
        framework_name = "lazyloom_numpy"

        def __init__(self) -> None:
            self.np = sys.modules["lazyloom_numpy"]

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, ndarray)

        def from_numpy(self, x: Any) -> Any:
            return self.np.asarray(x)

        def to_numpy(self, x: Any) -> Any:
            return onp.asarray(x)

    # einops finds it among the classes derived from its own, while something keeps it
    backends.LazyloomBackend = LazyloomBackend


def install() -> None:
    """Let einops, imported before or after, take arrays of ours."""
    when_imported("einops._backends", _define)
