"""Which names are public; public functions are pickled by the name they are found under.

Many are made in loops or wrapped where a namespace is filled, so that the name they are born with
leads to another function, or to none. Modules keep functions (``activation=F.relu``), and so do
what ``copy.deepcopy``, ``torch.save`` and worker processes are given.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any, Final


def _leads_to(function: FunctionType) -> bool:
    """Whether module and name of a function lead to it."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is function


def publish(namespace: Mapping[str, Any], module: str, owner: str = "") -> None:
    """Name the functions of a complete public namespace, where they have no name that leads there.

    Args:
        module: what the namespace is imported as.
        owner: the class in that module to which it belongs, "" for the module itself.
    """
    package = __package__ or ""
    own = {n: f for n, f in namespace.items() if type(f) is FunctionType and (
        f.__module__.startswith(package) and not n.startswith("__"))}
    # of several names of one function, its own comes first
    for name, function in sorted(own.items(), key=lambda item: item[0] != item[1].__name__):
        if not _leads_to(function):
            function.__module__ = module
            function.__name__ = name
            function.__qualname__ = f"{owner}.{name}" if owner else name


#: names of the package that its own modules use, which are not PyTorch's
_INTERNAL: Final = frozenset(
    ("Any", "TAKES_OUT", "annotations", "combine", "naming", "taking_out"))


def public(names: Mapping[str, Any]) -> list[str]:
    """The names of the package that are for users: not its helpers, nor modules of folders."""
    package = names["__name__"]
    return sorted(
        name for name, found in names.items()
        if not name.startswith("_") and name not in _INTERNAL and not (
            isinstance(found, ModuleType) and found.__name__ not in (f"{package}.{name}", package)))
