"""Functions that run on placeholders, and the nodes that stand for values not there yet.

:mod:`lazyloom.batching.vmap` maps functions over an axis, :mod:`lazyloom.control_flow` records
bodies of loops and branches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from ..dtypes import int64
from ..errors import LoomError, ReadForbiddenError
from ..types import TensorType, scalar_type
from .graph import MAPPED, Node, Value, hold, trace
from .source import Site


class MappedCall:
    """One call of a mapped function.

    Attributes:
        name: the public function that maps.
        site: where it was called.
        start: the number from which on the mapped function made nodes and tensors.
        active: that function is running.
    """

    __slots__ = ("name", "site", "start", "active")

    def __init__(self, name: str, site: Site) -> None:
        self.name: Final = name
        self.site: Final = site
        self.start = 0
        self.active = False

    def __enter__(self) -> None:
        with trace.lock:
            trace.started = True
            trace.sequence += 1
            trace.mapping += 1
            self.start = trace.sequence
        self.active = True
        _stack().append(self)

    def __exit__(self, *exc: object) -> None:
        _stack().remove(self)
        self.active = False
        with trace.lock:
            trace.mapping -= 1

    def why_unreadable(self) -> str:
        """The end of the message about a value that is read, after its type and place."""
        called = f"{self.name}, called at {self.site},"
        if self.active:
            return (
                f"but it depends on the axis that {called} maps over, so it has one value for "
                "each element; choose between results with where, keep shapes independent of it, "
                "or read what does not depend on that axis")
        return (
            f"but it was kept from inside the function that {called} mapped, where it stood for "
            "one element of an axis; return it from that function to get its value for each of "
            "them")

    def why_unwritable(self) -> str:
        """The end of the message about a tensor from outside that is written, after its type."""
        return (
            f"from outside the function that {self.name} (called at {self.site}) maps is written "
            "in it; the function runs once for all elements, so return the value instead, or "
            "write to a copy")

    def why_without_effects(self) -> str:
        """The message about an op with effects that has a placeholder among its operands."""
        return (
            f"an operand depends on an axis that {self.name} maps over, but the op has effects, "
            "which cannot be mapped; call it outside the mapped function")


class BodyCall(MappedCall):
    """One call of a function that is recorded as the body of a loop or a branch.

    Attributes:
        of: what messages call the function: its name and where it is defined.
        loops: it runs again and again.
        step: the number of the step, int64, if it was requested.
    """

    __slots__ = ("of", "loops", "step")

    def __init__(self, name: str, site: Site, of: str, loops: bool) -> None:
        super().__init__(name, site)
        self.of: Final = of
        self.loops: Final = loops
        self.step: Value | None = None

    def step_number(self) -> Value:
        """The number of the step that the function runs, as a value of its body."""
        if self.step is None:
            self.step = placeholder(scalar_type(int64), self, False)
        return self.step

    def why_unreadable(self) -> str:
        if self.active:
            runs = "runs again and again" if self.loops else "may run"
            return (
                f"but inside the {self.of}, which {self.name}, called at {self.site}, records "
                f"once and {runs} later, there is no data yet; choose between results with where "
                "or lazyloom.cond, loop with lazyloom.while_loop or lazyloom.scan, and keep "
                "shapes independent of data")
        return (
            f"but it was kept from inside the {self.of}, which {self.name}, called at "
            f"{self.site}, recorded; return it from that function to get it")

    def why_unwritable(self) -> str:
        return (
            f"from outside the {self.of} is written in it; {self.name} (called at {self.site}) "
            "records that function once, so return the value instead (in a loop, as a part of "
            "the carry), or write to a copy")

    def why_without_effects(self) -> str:
        return (
            f"the op has effects, which cannot be in the {self.of} that {self.name} records; call "
            "it outside")


class ExportCall(BodyCall):
    """One call of a function that is recorded to be exported.

    Attributes:
        draws: the generators of the host that were drawn from, each with the key of the draw, and
            a function that skips a number of draws.
    """

    __slots__ = ("draws",)

    def __init__(self, name: str, site: Site, of: str) -> None:
        super().__init__(name, site, of, False)
        self.draws: Final[list[tuple[Any, Value, Callable[[int], Any]]]] = []

    def why_unwritable(self) -> str:
        return (
            f"from outside the {self.of} is written in it; a program that {self.name} (called at "
            f"{self.site}) writes has no state but that of random generators, so return the value "
            "instead, or write to a copy (a module that updates buffers in training: eval())")

    def why_without_effects(self) -> str:
        return (
            "the op has effects (it calls back into the host, or is run by several processes "
            f"together), which a program that {self.name} writes cannot have; call it outside the "
            f"{self.of}")


def placeholder(type: TensorType, mapping: MappedCall, requires_grad: bool) -> Value:
    """A value that stands for one element of a mapped axis."""
    with trace.lock:
        trace.sequence += 1
        node = Node(None, (), None, (type,), trace.sequence, None, 0)
        node.state = MAPPED
        node.mapping = mapping
        # it has no operands; a gradient continues at the value it stands for
        node.grad_mask = 1 if requires_grad else 0
        return hold(node, 0, requires_grad)


def loop_steps() -> list[Value]:
    """The step numbers of all loops whose bodies this thread records, the outermost first.

    Draws from a generator on the host fold them in, so that each step draws anew.
    """
    return [c.step_number() for c in _stack() if isinstance(c, BodyCall) and c.loops]


def note_draw(generator: Any, key: Value, advance: Callable[[int], Any]) -> None:
    """Tell exports that this thread records of a draw from a generator on the host.

    ``key`` is the generator's key with the number of the draw folded in, as recorded: an exported
    program takes both as inputs, so that each of its calls draws anew. ``advance`` skips a number
    of draws, which may be negative.
    """
    for call in _stack():
        if isinstance(call, ExportCall):
            call.draws.append((generator, key, advance))


_local: Final = threading.local()


def _stack() -> list[MappedCall]:
    stack: list[MappedCall] | None = getattr(_local, "stack", None)
    if stack is None:
        stack = _local.stack = []
    return stack


def innermost() -> MappedCall | None:
    """The innermost mapping whose function this thread runs, if any."""
    stack = _stack()
    return stack[-1] if stack else None


def unreadable(value: Value, site: Site) -> LoomError:
    """The error of reading a value that stands for one that is not there yet."""
    mapping: MappedCall = value.node.mapping
    return ReadForbiddenError(
        f"a value of type {value.type.text} is needed at {site}, {mapping.why_unreadable()}",
        site=str(site))
