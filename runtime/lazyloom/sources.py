"""The sources of compiled modules, for tracebacks.

A compiled module's loader has no source, so that a notebook's traceback says of each frame that it
has none, and the module ``traceback`` leaves the line out. The ``.py`` file lies in the package.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ExtensionFileLoader
from types import ModuleType
from typing import Any


class _LoaderWithSource(ExtensionFileLoader):
    """The loader of a compiled module that was made of a file in the package."""

    def get_source(self, fullname: str) -> str | None:  # type: ignore[override]
        """The file's text; None where it was not installed."""
        top, *inside = fullname.split(".")
        # not beside the loader's path: of modules in one library mypyc makes that up
        package = getattr(sys.modules.get(top), "__file__", None)
        if package is None:
            return None
        file = f"{os.path.join(os.path.dirname(package), *inside)}.py"
        try:
            with open(file, encoding="utf-8") as source:
                return source.read()
        except OSError:
            return None


def show(package: str) -> None:
    """Have the lines of a package's compiled modules shown that were imported so far."""
    for name, module in list(sys.modules.items()):
        if name.startswith(package + "."):
            show_of(module)


def show_of(module: ModuleType) -> None:
    """Likewise, of one module."""
    loader: Any = getattr(module, "__loader__", None)
    if type(loader) is ExtensionFileLoader:
        module.__loader__ = _LoaderWithSource(loader.name, loader.path)
