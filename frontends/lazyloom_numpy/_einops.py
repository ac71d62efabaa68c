"""Arrays of ours in einops, which knows arrays by their type.

What einops can work on are the classes derived from its ``AbstractBackend``. The one for our arrays
is made when einops is imported: a finder of modules waits for that and then goes away.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

import numpy as onp

from ._array import ndarray

_MODULE: Final = "einops._backends"


def _define(backends: Any) -> None:
    """The backend of our arrays, which is NumPy's on them."""
    inner: Any = getattr(backends, "NumpyBackend", None)
    if inner is None:
        return

    class LazyloomBackend(inner):  # type: ignore[misc]
        framework_name = __package__

        def __init__(self) -> None:
            self.np = sys.modules[__package__ or ""]

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, ndarray)

        def from_numpy(self, x: Any) -> Any:
            return self.np.asarray(x)

        def to_numpy(self, x: Any) -> Any:
            return onp.asarray(x)

    # einops finds it among the classes derived from its own, while something keeps it
    backends.LazyloomBackend = LazyloomBackend


class _Finder:
    """Waits for the module of einops that knows arrays."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != _MODULE:
            return None
        sys.meta_path.remove(_Finder)
        spec = importlib.util.find_spec(name)
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            run = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                _define(module)

            loader.exec_module = exec_module
        return spec


def install() -> None:
    """Let einops, imported before or after, take arrays of ours."""
    if _MODULE in sys.modules:
        _define(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, _Finder)
