"""Loads a program of this folder for PyTorch or for Lazyloom: only its import line differs.

The programs say ``import lazyloom_torch as torch``; :func:`load` runs the same text with another
library's name in that line, also in the files of the same folder that the program imports.
"""

from __future__ import annotations

import builtins
import sys
import types
from pathlib import Path
from typing import Any

LINE = "import lazyloom_torch as torch\n"
LIBRARIES = ("lazyloom_torch", "torch")

_loaded: dict[tuple[Path, str], types.ModuleType] = {}


def load(path: Path, library: str) -> types.ModuleType:
    """The module made of a file, with ``torch`` being that library."""
    path = path.resolve()
    if (path, library) in _loaded:
        return _loaded[path, library]
    text = path.read_text()
    if text.count(LINE) > 1:
        raise ValueError(f"{path.name}: expected the line {LINE.strip()!r} once at most")
    name = f"{library}__{path.parent.name}__{path.stem}"
    module = types.ModuleType(name)

    def importing(wanted: str, *args: Any, **kwargs: Any) -> Any:
        beside = path.parent / f"{wanted}.py"
        if beside.exists():
            return load(beside, library)
        return builtins.__import__(wanted, *args, **kwargs)

    module.__dict__.update(
        __file__=str(path), __builtins__={**vars(builtins), "__import__": importing})
    # classes find their module by name
    sys.modules[name] = module
    changed = text.replace(LINE, f"import {library} as torch\n")
    code = compile(changed, str(path) if library == LIBRARIES[0] else f"{path} with {library}",
                   "exec")  # fmt: skip
    exec(code, module.__dict__)
    _loaded[path, library] = module
    return module
