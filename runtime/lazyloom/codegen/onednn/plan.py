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
#: the buffer that lasts as long as the plan, and of a memory that has its data
_KEPT: Final = -2
_GIVEN: Final = -3


def strides_of(shape: Sequence[int], layout: Layout) -> list[int]:
    """The strides, in elements and in logical order, of an array in a layout."""
    found = [0] * len(shape)
    step = 1
    for d in reversed(layout):
        found[d] = step
        step *= shape[d]
    return found


class PlanArray:
    """An array of a plan: its number among the plan's memories, and its description."""

    __slots__ = ("number", "desc")

    def __init__(self, number: int, desc: Object) -> None:
        self.number: Final = number
        self.desc: Final = desc


#: primitives, each with its arguments: (argument, number of the memory); or what moves windows
_Steps = list[tuple[Any, ...]]


class OneDnnPlan:
    """A plan that is being made: stages of lanes of steps.

    The steps of a lane run one after the other, the lanes of a stage in any order or at once. At
    first there is one lane in one stage.

    Attributes:
        bound: whether the region's constants have the same values in all runs.
    """

    def __init__(self, lib: Library, bound: bool = False) -> None:
        self.lib: Final = lib
        self.bound: Final = bound
        self.memories: Final[list[tuple[int, int, int]]] = []
        self.stages: Final[list[tuple[int, list[_Steps]]]] = []
        self.room = 0
        self.kept = 0
        self.owners: Final[list[Object]] = []
        self.stage(lib.threads)

    def stage(self, threads: int = 1) -> None:
        """Begin a stage, and its first lane, in which primitives have that many threads."""
        self.stages.append((threads, [[]]))

    def lane(self) -> None:
        """Begin another lane of the stage, unless the last one is still empty."""
        if self.stages[-1][1][-1]:
            self.stages[-1][1].append([])

    @property
    def threads(self) -> int:
        """The threads of primitives in this stage."""
        return self.stages[-1][0]

    def primitive_desc(
        self, kind: str, *arguments: Any, attributes: Object | None = None
    ) -> Object:
        """As :meth:`Library.primitive_desc`, for this stage's number of threads."""
        with self.lib.with_threads(self.threads):
            return self.lib.primitive_desc(kind, *arguments, attributes=attributes)

    def value(self, desc: Object, buffer: int = -1, offset: int = 0) -> PlanArray:
        """An operand or result of the region, or by default an array between primitives.

        ``offset`` is where in the buffer it begins, in bytes.
        """
        memory = self.lib.memory(desc)
        self.owners.append(memory)
        if buffer < 0:
            offset = self.room
            self.room += -(-self.lib.size(desc) // _ALIGNED) * _ALIGNED
        self.memories.append((memory.pointer, buffer, offset))
        return PlanArray(len(self.memories) - 1, desc)

    def constant(self, array: Any, desc: Object) -> PlanArray:
        """A NumPy array that every run reads."""
        memory = self.lib.memory(desc, array)
        self.owners.append(memory)
        self.memories.append((memory.pointer, _GIVEN, 0))
        return PlanArray(len(self.memories) - 1, desc)

    def once(self, source: PlanArray, wanted: Object) -> PlanArray:
        """An array of the region as a primitive wants it, as :meth:`given`.

        Where the plan is for certain values of it, it is reordered in the first run, and kept.
        """
        if not self.bound or self.lib.equal(source.desc, wanted):
            return self.given(source, wanted)
        memory = self.lib.memory(wanted)
        self.owners.append(memory)
        self.memories.append((memory.pointer, _KEPT, self.kept))
        self.kept += -(-self.lib.size(wanted) // _ALIGNED) * _ALIGNED
        found = PlanArray(len(self.memories) - 1, wanted)
        self.move(source, found)
        steps = self.stages[-1][1][-1]
        steps[-1] = (*steps[-1], True)
        return found

    def part(self, value: PlanArray, desc: Object, offset: int = 0) -> PlanArray:
        """A part of an array, which begins at an offset in bytes."""
        _, buffer, begin = self.memories[value.number]
        memory = self.lib.memory(desc)
        self.owners.append(memory)
        self.memories.append((memory.pointer, buffer, begin + offset))
        return PlanArray(len(self.memories) - 1, desc)

    def windows(
        self, kind: str, images: PlanArray, array: PlanArray, numbers: Sequence[int]
    ) -> None:
        """Add an "unfold" of images into an array of rows, or a "fold" of one into images.

        These are of float32, and "unfold_halves" of elements of two bytes.
        """
        self.stages[-1][1][-1].append((kind, images.number, array.number, tuple(numbers)))

    def loop(self, arrays: Sequence[PlanArray | None], numbers: Sequence[int]) -> None:
        """Add steps of a recurrent layer, or of what packs its weights: see ``native/onednn``."""
        self.stages[-1][1][-1].append(
            ("loop", tuple(-1 if a is None else a.number for a in arrays), tuple(numbers)))

    def run(self, desc: Object, arguments: dict[int, PlanArray]) -> None:
        """Add a primitive to the lane."""
        with self.lib.with_threads(self.threads):
            primitive = self.lib.primitive(desc)
        self.owners.append(primitive)
        scratchpad = self.lib.scratchpad(desc)
        if scratchpad is not None:
            arguments = {**arguments, library.SCRATCHPAD: self.value(scratchpad)}
        self.stages[-1][1][-1].append((primitive.pointer, tuple(
            (argument, value.number) for argument, value in arguments.items())))

    def given(self, value: PlanArray, wanted: Object) -> PlanArray:
        """The array as a primitive wants it: itself, or reordered."""
        if self.lib.equal(value.desc, wanted):
            return value
        found = self.value(wanted)
        self.move(value, found)
        return found

    def made(self, value: PlanArray, chosen: Object) -> PlanArray:
        """What a primitive writes so that :meth:`move` to ``value`` follows, or it itself."""
        return value if self.lib.equal(value.desc, chosen) else self.value(chosen)

    def move(self, source: PlanArray, target: PlanArray) -> None:
        """Reorder an array, unless it is the target."""
        if source is not target:
            with self.lib.with_threads(self.threads):
                desc = self.lib.reorder_desc(source.desc, target.desc)
            self.run(desc, {library.SRC: source, library.DST: target})

    def total(self, parts: Sequence[PlanArray], target: PlanArray) -> None:
        """Add arrays of one description up."""
        with self.lib.with_threads(self.threads):
            desc = self.lib.sum_desc(target.desc, [p.desc for p in parts])
        self.run(desc, {library.DST: target, **{
            library.MULTIPLE_SRC + n: p for n, p in enumerate(parts)}})

    def code(self) -> NativeCode:
        """What runs it."""
        native: Any = importlib.import_module("lazyloom._onednn")
        streams: list[Object] = []
        stages = []
        for threads, lanes in self.stages:
            given = []
            for number, steps in enumerate(s for s in lanes if s):
                if number == len(streams):
                    streams.append(self.lib.stream())
                given.append((streams[number].pointer, tuple(steps)))
            if given:
                stages.append((threads, tuple(given)))
        made = native.Plan(
            self.lib.functions, tuple(self.memories), tuple(stages), self.room, self.kept,
            (self.lib, *streams, *self.owners))
        return NativeCode(made.function, made.state, made)


def parts_of(size: int, count: int) -> list[tuple[int, int]]:
    """An axis in at most ``count`` parts of nearly equal size: where each begins, and its size."""
    count = max(1, min(size, count))
    ends = [size * k // count for k in range(count + 1)]
    return [(a, b - a) for a, b in zip(ends, ends[1:], strict=False)]
