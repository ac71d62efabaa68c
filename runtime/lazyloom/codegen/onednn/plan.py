"""A region as primitives of oneDNN, one after the other, with reorders where layouts differ."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final

from ..generator import Layout, NativeCode
from . import library
from .library import Library, Object

#: dtypes that oneDNN computes with here
DTYPES: Final = {"float32": library.F32, "bfloat16": library.BF16}
#: where what lies between primitives begins
_ALIGNED: Final = 4096


def strides_of(shape: Sequence[int], layout: Layout) -> list[int]:
    """The strides, in elements and in logical order, of an array in a layout."""
    found = [0] * len(shape)
    step = 1
    for d in reversed(layout):
        found[d] = step
        step *= shape[d]
    return found


class Value:
    """An array of a plan: its number among the plan's memories, and its description."""

    __slots__ = ("number", "desc")

    def __init__(self, number: int, desc: Object) -> None:
        self.number: Final = number
        self.desc: Final = desc


class Plan:
    """A plan that is being made."""

    def __init__(self, lib: Library) -> None:
        self.lib: Final = lib
        self.memories: Final[list[tuple[int, int, int]]] = []
        self.steps: Final[list[tuple[int, tuple[tuple[int, int], ...]]]] = []
        self.room = 0
        self.owners: Final[list[Object]] = []

    def value(self, desc: Object, buffer: int = -1) -> Value:
        """An operand or result of the region, or by default an array between primitives."""
        memory = self.lib.memory(desc)
        self.owners.append(memory)
        offset = 0
        if buffer < 0:
            offset = self.room
            self.room += -(-self.lib.size(desc) // _ALIGNED) * _ALIGNED
        self.memories.append((memory.pointer, buffer, offset))
        return Value(len(self.memories) - 1, desc)

    def run(self, desc: Object, arguments: dict[int, Value]) -> None:
        """Add a primitive."""
        primitive = self.lib.primitive(desc)
        self.owners.append(primitive)
        scratchpad = self.lib.scratchpad(desc)
        if scratchpad is not None:
            arguments = {**arguments, library.SCRATCHPAD: self.value(scratchpad)}
        self.steps.append((primitive.pointer, tuple(
            (argument, value.number) for argument, value in arguments.items())))

    def given(self, value: Value, wanted: Object) -> Value:
        """The array as a primitive wants it: itself, or reordered."""
        if self.lib.equal(value.desc, wanted):
            return value
        found = self.value(wanted)
        self.move(value, found)
        return found

    def made(self, value: Value, chosen: Object) -> Value:
        """What a primitive writes so that :meth:`move` to ``value`` follows, or it itself."""
        return value if self.lib.equal(value.desc, chosen) else self.value(chosen)

    def move(self, source: Value, target: Value) -> None:
        """Reorder an array, unless it is the target."""
        if source is not target:
            self.run(self.lib.reorder_desc(source.desc, target.desc),
                     {library.SRC: source, library.DST: target})

    def code(self) -> NativeCode:
        """What runs it."""
        native: Any = importlib.import_module("lazyloom._onednn")
        made = native.Plan(
            self.lib.address("dnnl_primitive_execute"),
            self.lib.address("dnnl_memory_set_data_handle"), self.lib.stream.pointer,
            tuple(self.memories), tuple(self.steps), self.room, (self.lib, *self.owners))
        return NativeCode(made.function, made.state, made)
