"""Something to do once a module is imported, by whom- and whenever."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def when_imported(name: str, function: Callable[[Any], None]) -> None:
    """Call a function with a module: now, if it is there, or when it has been imported.

    A finder of modules waits for the name, and goes away when it has been imported.
    """
    known = sys.modules.get(name)
    if known is not None:
        function(known)
    else:
        sys.meta_path.insert(0, _Waiting(name, function))


class _Waiting:
    """A finder that answers for one module, as those after it do, and sees it run."""

    def __init__(self, name: str, function: Callable[[Any], None]) -> None:
        self.name = name
        self.function = function
        self.asking = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.name or self.asking:
            return None
        self.asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.asking = False
        loader: Any = None if spec is None else spec.loader
        if loader is None:  # not installed, or not yet
            return None
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            # who asks for the spec may not import it, and who imports it may fail
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.function(module)

        loader.exec_module = exec_module
        return spec
