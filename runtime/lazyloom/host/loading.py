"""Host kernels of their texts, by which they are on disk: what writes them need not be there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .routines import NAMESPACE

#: the first line of a kernel that is the same for large arrays, which have nothing to compute in
#: blocks
ANY_SIZE: Final = "# of any size"


def load(text: str) -> tuple[Callable[..., Any], tuple[bool, ...]]:
    """The function of :func:`~.kernels.kernel_text`, and ``shared``."""
    return _load(text, "kernel")


def load_family(text: str) -> tuple[Callable[..., Any], tuple[bool, ...]]:
    """The function of symbols of :func:`~.kernels.kernel_text`, and ``shared``."""
    return _load(text, "of")


def load_types(text: str) -> Callable[..., tuple[tuple[tuple[int, ...], str], ...]]:
    """The function of symbols that gives the types of the results, of a text that has one."""
    return _load(text, "types")[0]


def _load(text: str, name: str) -> tuple[Callable[..., Any], tuple[bool, ...]]:
    # its constants are cells of a function of their own: a namespace each would be most of what a
    # kernel takes
    lines = "\n    ".join(text.rstrip().split("\n"))
    space: dict[str, Any] = {}
    exec(compile(f"def made():\n    {lines}\n    return {name}, shared\n", "<host kernel>", "exec"),
         NAMESPACE, space)
    found: tuple[Callable[..., Any], tuple[bool, ...]] = space["made"]()
    return found
