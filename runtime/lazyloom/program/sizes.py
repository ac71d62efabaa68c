"""Sizes that vary from run to run, as texts: ``"16"``, ``"e0"``, ``"4*e0"``, ``"e0 - 1"``.

The symbols e0, e1, ... are the extents of a padded program (:mod:`.padding`).
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_POWER: Final = re.compile(r"\^")

#: functions in the texts of sizes and conditions
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "floordiv": operator.floordiv, "mod": operator.mod, "max": max, "min": min,
}  # fmt: skip


def is_static(text: str) -> bool:
    """Return True if a size is a number."""
    return text.isdigit()


def python(text: str) -> str:
    """Return a size as JAX prints it, in Python syntax."""
    return _POWER.sub("**", text)


@functools.lru_cache(maxsize=4096)
def compiled(text: str) -> Any:
    return compile(python(text), "<size>", "eval")


def size_at(text: str, values: Mapping[str, int]) -> int:
    """Return the value of a size at these extents."""
    if is_static(text):
        return int(text)
    return int(eval(compiled(text), {**FUNCTIONS, **values}))


def named(extents: Sequence[int]) -> dict[str, int]:
    """Return extents by the names of their symbols."""
    return {f"e{k}": int(n) for k, n in enumerate(extents)}
