"""The places where traces began, and the past traces that may begin there again."""

from __future__ import annotations

from typing import Any, Final, final

from ..graph import Node
from ..source import Site
from .past_traces import PastTrace, TraceStart

#: how many places where a trace begins are remembered
STARTS: Final = 1024
#: how many past traces, and structures, are remembered per place
PAST_TRACES: Final = 4
STRUCTURES: Final = 8


@final
class Starts:
    """The places.

    Attributes:
        by_first_op: the places by the instruction's offset and the spec of the first op.
        count: how many places there are.
    """

    __slots__ = ("by_first_op", "count")

    def __init__(self) -> None:
        self.by_first_op: Final[dict[int, list[TraceStart]]] = {}
        self.count: int = 0


starts: Final = Starts()


def forget_all() -> None:
    """Forget all places: nothing is expected any more."""
    for at_op in starts.by_first_op.values():
        for start in at_op:
            for past in start.traces:
                past.common.clear()
    starts.by_first_op.clear()
    starts.count = 0


def start_of(node: Node, make: bool) -> TraceStart | None:
    """The place of a trace's first node; if not remembered, None, or a new one if ``make``."""
    spec = node.spec
    if spec is None:
        return None
    key = node.offset * 65536 + spec.id
    at_op = starts.by_first_op.get(key)
    place = node.place
    if at_op is not None:
        for start in at_op:
            if _same_place(start.place, place):
                return start
    if not make:
        return None
    if starts.count >= STARTS:
        forget_all()
        at_op = None
    if at_op is None:
        at_op = starts.by_first_op[key] = []
    new_start = TraceStart(place, node.offset)
    at_op.append(new_start)
    starts.count += 1
    return new_start


def _same_place(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, Site) and isinstance(b, Site):
        if a.code is not None or b.code is not None:
            return a.code is b.code and a.offset == b.offset
        return a.line == b.line and a.file == b.file
    return False


def forget(start: TraceStart, past: PastTrace) -> None:
    """Stop expecting a trace; it has to come back more often before it is expected again."""
    if past in start.traces:
        start.traces.remove(past)
        # other traces keep it among those they were compared with
        for other in start.traces:
            other.common.pop(past, None)
        past.common.clear()
