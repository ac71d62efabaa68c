"""A region as oneDNN primitives, one after the other, with reorders where layouts differ."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final

from ..generator import Layout, NativeCode
from . import library
from .library import Library, Object

#: dtypes that oneDNN computes with here
DTYPES: Final = {"float32": library.F32, "bfloat16": library.BF16}
#: the alignment of arrays between primitives
_ALIGNED: Final = 4096
#: the buffer that lasts as long as the plan, and that of a memory that has its own data
_KEPT: Final = -2
_GIVEN: Final = -3


def strides_of(shape: Sequence[int], layout: Layout) -> list[int]:
    """Return the strides, in elements and in logical order, of an array in a layout."""
    strides = [0] * len(shape)
    step = 1
    for d in reversed(layout):
        strides[d] = step
        step *= shape[d]
    return strides


class PlanArray:
    """An array of a plan: its number among the plan's memories, and its description."""

    __slots__ = ("number", "desc")

    def __init__(self, number: int, desc: Object) -> None:
        self.number: Final = number
        self.desc: Final = desc


#: primitives, each with its arguments: (argument, number of the memory); or moves of windows
_Steps = list[tuple[Any, ...]]


class OneDnnPlan:
    """A plan under construction: stages of lanes of steps.

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
        """Begin a stage, and its first lane, in which primitives have ``threads`` threads."""
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
        """Do :meth:`Library.primitive_desc` with this stage's number of threads."""
        with self.lib.with_threads(self.threads):
            return self.lib.primitive_desc(kind, *arguments, attributes=attributes)

    def value(self, desc: Object, buffer: int = -1, offset: int = 0) -> PlanArray:
        """Return an operand or result of the region, or by default an array between primitives.

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
        """Return a NumPy array that every run reads."""
        memory = self.lib.memory(desc, array)
        self.owners.append(memory)
        self.memories.append((memory.pointer, _GIVEN, 0))
        return PlanArray(len(self.memories) - 1, desc)

    def once(self, source: PlanArray, wanted: Object) -> PlanArray:
        """Return an array of the region in the order that a primitive wants, as :meth:`given`.

        Where the plan is for certain values of it, the first run reorders it, and it is kept.
        """
        if not self.bound or self.lib.equal(source.desc, wanted):
            return self.given(source, wanted)
        memory = self.lib.memory(wanted)
        self.owners.append(memory)
        self.memories.append((memory.pointer, _KEPT, self.kept))
        self.kept += -(-self.lib.size(wanted) // _ALIGNED) * _ALIGNED
        reordered = PlanArray(len(self.memories) - 1, wanted)
        self.move(source, reordered)
        steps = self.stages[-1][1][-1]
        steps[-1] = (*steps[-1], True)
        return reordered

    def part(self, value: PlanArray, desc: Object, offset: int = 0) -> PlanArray:
        """Return a part of an array, which begins at an offset in bytes."""
        _, buffer, begin = self.memories[value.number]
        memory = self.lib.memory(desc)
        self.owners.append(memory)
        self.memories.append((memory.pointer, buffer, begin + offset))
        return PlanArray(len(self.memories) - 1, desc)

    def windows(
        self, kind: str, images: PlanArray, array: PlanArray, numbers: Sequence[int]
    ) -> None:
        """Add an "unfold" of images into an array of rows, or a "fold" of one into images.

        These take float32, and "unfold_halves" takes elements of two bytes.
        """
        self.stages[-1][1][-1].append((kind, images.number, array.number, tuple(numbers)))

    def loop(self, arrays: Sequence[PlanArray | None], numbers: Sequence[int]) -> None:
        """Add steps of a recurrent layer, or those that pack its weights: see ``native/onednn``."""
        self.stages[-1][1][-1].append(
            ("loop", tuple(-1 if a is None else a.number for a in arrays), tuple(numbers)))

    def after(
        self, kind: str, arrays: Sequence[PlanArray | None], count: int, dtype: int,
        eps: float = 0.0,
    ) -> None:  # fmt: skip
        """Add a step that follows a convolution: see ``native/onednn/after.h``.

        "relu" or "relu6" limits an array, "scale_shift" makes two vectors of statistics, and
        "scales" fails where one is not finite, very large, or of a modulus below ``eps``. ``count``
        is how many elements or channels, of a dtype as oneDNN numbers it, and ``eps`` else what is
        added to variances.
        """
        self.stages[-1][1][-1].append((
            kind, tuple(-1 if a is None else a.number for a in arrays),
            (count, int(dtype == library.BF16), eps)))

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
        """Return an array in the order that a primitive wants: itself, or reordered."""
        if self.lib.equal(value.desc, wanted):
            return value
        reordered = self.value(wanted)
        self.move(value, reordered)
        return reordered

    def made(self, value: PlanArray, chosen: Object) -> PlanArray:
        """Return ``value``, or an array for a primitive's result that :meth:`move` brings to it."""
        return value if self.lib.equal(value.desc, chosen) else self.value(chosen)

    def move(self, source: PlanArray, target: PlanArray) -> None:
        """Reorder an array, unless it is the target."""
        if source is not target:
            with self.lib.with_threads(self.threads):
                desc = self.lib.reorder_desc(source.desc, target.desc)
            self.run(desc, {library.SRC: source, library.DST: target})

    def total(self, parts: Sequence[PlanArray], target: PlanArray) -> None:
        """Add a sum of arrays of one description."""
        with self.lib.with_threads(self.threads):
            desc = self.lib.sum_desc(target.desc, [p.desc for p in parts])
        self.run(desc, {library.DST: target, **{
            library.MULTIPLE_SRC + n: p for n, p in enumerate(parts)}})

    def code(self) -> NativeCode:
        """Return the code that runs the plan."""
        native: Any = importlib.import_module("lazyloom._onednn")
        streams: list[Object] = []
        stages = []
        for threads, lanes in self.stages:
            native_lanes = []
            for number, steps in enumerate(s for s in lanes if s):
                if number == len(streams):
                    streams.append(self.lib.stream())
                native_lanes.append((streams[number].pointer, tuple(steps)))
            if native_lanes:
                stages.append((threads, tuple(native_lanes)))
        native_plan = native.Plan(
            self.lib.functions, tuple(self.memories), tuple(stages), self.room, self.kept,
            (self.lib, *streams, *self.owners))
        return NativeCode(native_plan.function, native_plan.state, native_plan)


def parts_of(size: int, count: int) -> list[tuple[int, int]]:
    """Divide an axis into at most ``count`` parts of nearly equal size: the start and size of each.
    """
    count = max(1, min(size, count))
    ends = [size * k // count for k in range(count + 1)]
    return [(a, b - a) for a, b in zip(ends, ends[1:], strict=False)]
