"""Modules of NumPy's under this package's name: ``from lazyloom_numpy.ma import masked_array``."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

_HERE: Final = "lazyloom_numpy"
#: the modules, all of which are NumPy's own, with what is below them
_MODULES: Final = tuple([f"{_HERE}.{name}" for name in (
    "char", "core", "ctypeslib", "dtypes", "exceptions", "f2py", "lib.array_utils", "lib.format",
    "lib.introspect", "lib.mixins", "lib.npyio", "lib.recfunctions", "lib.user_array", "ma",
    "matlib", "polynomial", "rec", "strings", "version")])  # fmt: skip


class _Finder:
    """Finds NumPy's module of the same name, which then has both names."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(_MODULES) or not any(
            name == known or name.startswith(f"{known}.") for known in _MODULES
        ):
            return None
        return ModuleSpec(name, _Finder)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        found = importlib.import_module("numpy" + spec.name.removeprefix(_HERE))
        spec.loader_state = found.__spec__
        return found

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Nothing has to run; the module is told again where it is from."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def install() -> None:
    """Let these modules be imported."""
    if _Finder not in sys.meta_path:
        # before those that look in folders: a module of NumPy's has one, and would be made anew
        sys.meta_path.insert(0, _Finder)
