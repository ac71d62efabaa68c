"""Whether the core runs compiled, and what its classes say to the compiler.

The modules on the path of every recorded op are typed Python that mypyc compiles when the
package is installed (``setup.py`` lists them); from a checkout they run as they are.
"""

from __future__ import annotations

from typing import Any

try:
    from mypy_extensions import mypyc_attr as mypyc_attr
except ImportError:  # nothing but the compiler looks at it

    def mypyc_attr(*attrs: str, **kwattrs: object) -> Any:  # type: ignore[misc]
        return lambda cls: cls


def core() -> str:
    """``"compiled"`` or ``"interpreted"``."""
    from . import graph

    return "interpreted" if str(graph.__file__).endswith(".py") else "compiled"
