"""The docstrings of functions, ufuncs and the methods of arrays, from ``docstrings.txt``.

``docs/numpy_docstrings.py`` writes that file out of the source, of signatures and of tables; what
it says of a name begins with what the source says.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

_FILE: Final = f"{__file__.rpartition('_docstrings')[0]}docstrings.txt"


def attach(names: Mapping[str, Any]) -> None:
    """Give the names of the package, and of what is in it, their docstrings.

    Nothing is done where Python was asked to leave docstrings out (``-OO``).
    """
    if sys.flags.optimize > 1:
        return
    with open(_FILE, encoding="utf-8") as file:
        text = file.read()
    scopes = {"": names, **{n: vars(names[n]) for n in ("fft", "linalg", "ndarray")}}
    for part in text[2:-1].split("\n# "):
        name, _, docstring = part.partition("\n")
        scope, _, last = name.rpartition(".")
        scopes[scope][last].__doc__ = docstring
