"""Compilation of the core by mypyc: whether it is compiled, and hints to the compiler.

The modules on the path of every recorded op are typed Python that mypyc compiles when the
package is installed (``setup.py`` lists them); from a checkout they run as they are.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any, Final

try:
    from mypy_extensions import mypyc_attr as mypyc_attr
except ImportError:  # only the compiler uses it

    def mypyc_attr(*attrs: str, **kwattrs: object) -> Any:  # type: ignore[misc]
        return lambda cls: cls


def _is_compiled() -> bool:
    spec = find_spec("lazyloom.trace.graph")
    return spec is not None and not str(spec.origin).endswith(".py")


#: True if the core is machine code. No signal interrupts that between two calls, so it needs no
#: guards against Ctrl-C where interpreted code needs them.
COMPILED: Final[bool] = _is_compiled()


#: True if, in addition, no other thread runs while the core creates no object that the cycle
#: collector tracks and calls no interpreted code.
ALONE: Final[bool] = COMPILED and getattr(sys, "_is_gil_enabled", lambda: True)()


def core() -> str:
    """``"compiled"`` or ``"interpreted"``."""
    return "compiled" if COMPILED else "interpreted"
