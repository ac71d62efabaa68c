"""The functions that threads are mapping over an axis, and the nodes that stand for one element.

:mod:`lazyloom.batching.vmap` maps them.
"""

from __future__ import annotations

import threading
from typing import Final

from ..errors import LoomError, ReadForbiddenError
from . import graph
from .graph import Value
from .source import Site


class MappedCall:
    """One call of a mapped function.

    Attributes:
        name: the public function that maps.
        site: where it was called.
        start: number from which nodes and tensors were made by the function that is mapped.
        active: that function runs.
    """

    __slots__ = ("name", "site", "start", "active")

    def __init__(self, name: str, site: Site) -> None:
        self.name: Final = name
        self.site: Final = site
        self.start = 0
        self.active = False

    def __enter__(self) -> None:
        self.start = graph.begin_mapping()
        self.active = True
        _stack().append(self)

    def __exit__(self, *exc: object) -> None:
        _stack().remove(self)
        self.active = False
        graph.end_mapping()


_local: Final = threading.local()


def _stack() -> list[MappedCall]:
    found: list[MappedCall] | None = getattr(_local, "stack", None)
    if found is None:
        found = _local.stack = []
    return found


def innermost() -> MappedCall | None:
    """The mapping whose function this thread runs, if any."""
    stack = _stack()
    return stack[-1] if stack else None


def unreadable(value: Value, site: Site) -> LoomError:
    """The error of reading a value that stands for one element of an axis."""
    mapping: MappedCall = value.node.mapping
    called = f"{mapping.name}, called at {mapping.site},"
    if mapping.active:
        text = (
            f"a value of type {value.type.text} is needed at {site}, but it depends on the axis "
            f"that {called} maps over, so it has one value for each element; choose between "
            "results with where, keep shapes independent of it, or read what does not depend on "
            "that axis")
    else:
        text = (
            f"a value of type {value.type.text} is needed at {site}, but it was kept from inside "
            f"the function that {called} mapped, where it stood for one element of an axis; return "
            "it from that function to get its value for each of them")
    return ReadForbiddenError(text, site=str(site))
