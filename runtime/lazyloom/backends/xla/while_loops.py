"""Loops of a program (:mod:`lazyloom.program.loops`) as ``stablehlo.while``."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from ...dtypes import DType, int32
from ...program.loops import Carried, Fixed, Local, Loop, Loops, Row, Rows, Taken
from ...program.program import Instruction
from ...program.stream import Operand, Result, ScalarSlot
from ...settings import LOWERINGS_KEPT
from ...types import TensorType, scalar_type, tensor_type
from .lowered import Lowered
from .statements import call, constant

_INDEX: Final = scalar_type(int32).mlir
_ARGUMENT: Final = re.compile(r"%arg(\d+)")


@functools.lru_cache(maxsize=LOWERINGS_KEPT)
def _handed_on(lowered: Lowered) -> tuple[tuple[int, int], ...]:
    """Return results of an op that are unchanged operands: (result, number of the present operand).
    """
    first = lowered.text.index(f"@{lowered.name}(")
    line = re.search(r"^    return ([^:\n]*)", lowered.text[first:], re.MULTILINE)
    assert line is not None
    pairs = []
    for r, name in enumerate(line[1].split(",")):
        argument = _ARGUMENT.fullmatch(name.strip())
        if argument is not None:
            pairs.append((r, int(argument[1])))
    return tuple(pairs)


def handed_on(
    instructions: Sequence[Instruction], lowered: Sequence[Lowered]
) -> dict[Result, Operand]:
    """Return the results that are an unchanged operand of their instruction, with that operand."""
    same: dict[Result, Operand] = {}
    for n, (i, text) in enumerate(zip(instructions, lowered, strict=True)):
        operands = [item for item, t in zip(i.operands, i.operand_types, strict=True)
                 if t is not None]
        for r, number in _handed_on(text):
            same[Result(n, r)] = operands[number]
    return same


class _Source(NamedTuple):
    """Where an iteration finds its row: at index ``first + step * iteration`` of an array."""

    array: str
    type: TensorType
    first: int
    step: int


class LoopWriter:
    """Writes a program's loops, and knows the names of their results."""

    def __init__(
        self, program: Loops, lowered: Sequence[Lowered], stopped: Callable[[str, str, str], str],
        ends: set[int], handed_on: Callable[[int, int, str, str], str],
        name_of: Callable[[Operand, TensorType], str], add: Callable[[str], None],
    ) -> None:  # fmt: skip
        """``stopped`` returns a line that ends a fusion, ``add`` takes a line of the program.

        ``handed_on`` adds the barrier of a result, if it has one, and returns the result's name
        behind it.
        """
        self.program: Final = program
        self.lowered: Final = lowered
        self.stopped: Final = stopped
        self.ends: Final = ends
        self.handed_on: Final = handed_on
        self.name_of: Final = name_of
        self.add: Final = add
        #: names of results outside of their loop
        self.names: Final[dict[Result, str]] = {}
        #: arrays of rows that were concatenated
        self.joined: Final[dict[tuple[Operand, ...], str]] = {}

    def result(self, item: Result) -> str:
        """Return the name of a loop's result, outside of it."""
        name = self.names.get(item)
        if name is None:
            loop = self.program.owner(item)
            assert loop is not None
            iteration, place = loop.place(item)
            if place in loop.last:
                name = _given(loop, 1 + loop.last[place])
            else:
                t = self.program.type_of(loop, place)
                name = f"%of{item.instruction}_{item.number}"
                stack = _stack_of(t, loop.times)
                self.add(_slice(name, self.stack(loop, place), stack, iteration))
            self.names[item] = name
        return name

    def stack(self, loop: Loop, place: Local) -> str:
        """Return the name of the array of a result of all iterations."""
        return _given(loop, 1 + len(loop.carries) + loop.stacked.index(place))

    def source(self, rows: Rows, scalars: Mapping[DType, int]) -> _Source:
        """Return where the rows of a loop are; concatenates them if no array holds them."""
        items = rows.items
        first, second = items[0], items[1]
        if isinstance(first, ScalarSlot) and isinstance(second, ScalarSlot):
            step = second.ordinal - first.ordinal
            if all(item == ScalarSlot(first.dtype, first.ordinal + k * step)
                   for k, item in enumerate(items)):
                return _Source(f"%scalars_{first.dtype.name}",
                               tensor_type((scalars[first.dtype],), first.dtype),
                               first.ordinal, step)  # fmt: skip
        loop = self.program.owner(first)
        if loop is not None and isinstance(first, Result) and isinstance(second, Result):
            begin, place = loop.place(first)
            step, rest = divmod(second.instruction - first.instruction, loop.period)
            if not rest and place in loop.stacked and all(
                item == Result(first.instruction + k * step * loop.period, place.number)
                for k, item in enumerate(items)
            ):
                return _Source(self.stack(loop, place), _stack_of(rows.type, loop.times),
                               begin, step)  # fmt: skip
        t = _stack_of(rows.type, len(items))
        if items[::-1] in self.joined:
            return _Source(self.joined[items[::-1]], t, len(items) - 1, -1)
        if items not in self.joined:
            self.joined[items] = self.put_together(rows)
        return _Source(self.joined[items], t, 0, 1)

    def put_together(self, rows: Rows) -> str:
        name = f"%rows{len(self.joined)}"
        row = _stack_of(rows.type, 1).mlir
        parts = []
        for k, item in enumerate(rows.items):
            parts.append(f"{name}_{k}")
            self.add(f"    {parts[-1]} = stablehlo.reshape {self.name_of(item, rows.type)} : "
                     f"({rows.type.mlir}) -> {row}")
        self.add(f"    {name} = stablehlo.concatenate {', '.join(parts)}, dim = 0 : "
                 f"({', '.join([row] * len(parts))}) -> {_stack_of(rows.type, len(parts)).mlir}")
        return name

    def write(self, loop: Loop, scalars: Mapping[DType, int]) -> None:
        """Add the lines of a loop."""
        at = loop.start
        sources = [self.source(rows, scalars) for rows in loop.rows]
        arrays = {source.array: source.type for source in sources}
        # loop variables: the iteration, carried values, stacks of results; then what stays constant
        types = [_INDEX, *[carry.type.mlir for carry in loop.carries]]
        first = [self.constant(f"%loop{at}_first", 0)]
        for slot, carry in enumerate(loop.carries):
            first.append(self.zeros(f"%loop{at}_c{slot}", carry.type) if carry.first is None
                         else self.name_of(carry.first, carry.type))
        for k, place in enumerate(loop.stacked):
            t = _stack_of(self.program.type_of(loop, place), loop.times)
            types.append(t.mlir)
            first.append(self.zeros(f"%loop{at}_s{k}", t))
        changing = len(types)
        for item, t in loop.fixed:
            types.append(t.mlir)
            first.append(self.name_of(item, t))
        for array, t in arrays.items():
            types.append(t.mlir)
            first.append(array)
        inside = [f"%in{at}_{k}" for k in range(len(types))]
        row_arrays = dict(zip(arrays, inside[changing + len(loop.fixed) :], strict=True))
        pairs = ", ".join(f"{a} = {b}" for a, b in zip(inside, first, strict=True))
        self.add(f"    %loop{at}:{len(types)} = stablehlo.while({pairs}) : {', '.join(types)}")
        self.add("     cond {")
        self.constant(f"%limit{at}", loop.times)
        self.add(f"    %more{at} = stablehlo.compare LT, {inside[0]}, %limit{at} : "
                 f"({_INDEX}, {_INDEX}) -> tensor<i1>")
        self.add(f"    stablehlo.return %more{at} : tensor<i1>")
        self.add("    } do {")
        rows = [self.row(f"%row{at}_{k}", row_arrays[source.array], source, inside[0])
                for k, source in enumerate(sources)]
        results: list[list[str]] = []

        def named(taken: Taken) -> str:
            if isinstance(taken, Local):
                return results[taken.instruction][taken.number]
            if isinstance(taken, Carried):
                return inside[1 + taken.slot]
            if isinstance(taken, Row):
                return rows[taken.slot]
            assert isinstance(taken, Fixed)
            return inside[changing + taken.slot]

        for number, operands in enumerate(loop.body):
            i = self.program.instructions[at + number]
            line, names = call(
                self.lowered[at + number], f"%body{at + number}",
                [named(taken) for taken in operands if taken is not None],
                [t.mlir for t in i.operand_types if t is not None],
                f"{at + number}:{i.spec.op.name}", inside=True,
                opaque=i.spec.op.execution.opaque)
            self.add(line)
            # as in the second iteration, which follows another
            results.append([
                self.handed_on(at + loop.period + number, r, name, type_) for r, (name, type_)
                in enumerate(zip(names, self.lowered[at + number].results, strict=True))])
            if at + loop.period + number in self.ends:
                for r, type_ in enumerate(self.lowered[at + number].results):
                    stop = f"%bodystop{at + number}_{r}"
                    self.add(self.stopped(stop, results[-1][r], type_))
                    results[-1][r] = stop
        one_name = self.constant(f"%one{at}", 1)
        self.add(f"    %next{at} = stablehlo.add {inside[0]}, {one_name} : {_INDEX}")
        after = [f"%next{at}", *[named(carry.next) for carry in loop.carries]]
        for k, place in enumerate(loop.stacked):
            after.append(self.stored(
                f"%stack{at}_{k}", inside[1 + len(loop.carries) + k], named(place),
                self.program.type_of(loop, place), loop.times, inside[0]))
        after += inside[changing:]
        self.add(f"    stablehlo.return {', '.join(after)} : {', '.join(types)}")
        self.add("    }")

    def constant(self, name: str, number: int, dtype: DType = int32) -> str:
        self.add(constant(name, number, dtype))
        return name

    def zeros(self, name: str, t: TensorType) -> str:
        zero = self.constant(f"{name}z", 0, t.dtype)
        self.add(f"    {name} = stablehlo.broadcast_in_dim {zero}, dims = [] : "
                 f"({scalar_type(t.dtype).mlir}) -> {t.mlir}")
        return name

    def row(self, name: str, array: str, source: _Source, iteration: str) -> str:
        """Add the lines that read an iteration's row."""
        index = iteration
        if source.step != 1:
            self.constant(f"{name}s", source.step)
            self.add(f"    {name}m = stablehlo.multiply {iteration}, {name}s : {_INDEX}")
            index = f"{name}m"
        if source.first:
            self.constant(f"{name}f", source.first)
            self.add(f"    {name}i = stablehlo.add {index}, {name}f : {_INDEX}")
            index = f"{name}i"
        shape = source.type.shape[1:]
        row_type = tensor_type((1, *shape), source.type.dtype).mlir
        starts = self.starts(name, index, len(shape))
        self.add(f"    {name}d = stablehlo.dynamic_slice {array}, {starts}, sizes = "
                 f"[{', '.join(map(str, (1, *shape)))}] : ({source.type.mlir}, "
                 f"{', '.join([_INDEX] * (1 + len(shape)))}) -> {row_type}")
        self.add(f"    {name} = stablehlo.reshape {name}d : ({row_type}) -> "
                 f"{tensor_type(shape, source.type.dtype).mlir}")
        return name

    def stored(
        self, name: str, stack: str, value: str, t: TensorType, count: int, iteration: str
    ) -> str:
        """Add the lines that store an iteration's result in its stack."""
        row_type, whole = _stack_of(t, 1).mlir, _stack_of(t, count).mlir
        self.add(f"    {name}r = stablehlo.reshape {value} : ({t.mlir}) -> {row_type}")
        starts = self.starts(name, iteration, t.ndim)
        self.add(f"    {name} = stablehlo.dynamic_update_slice {stack}, {name}r, {starts} : "
                 f"({whole}, {row_type}, {', '.join([_INDEX] * (1 + t.ndim))}) -> {whole}")
        return name

    def starts(self, name: str, index: str, ndim: int) -> str:
        if not ndim:
            return index
        zero = self.constant(f"{name}z", 0)
        return ", ".join([index, *[zero] * ndim])


def _given(loop: Loop, number: int) -> str:
    return f"%loop{loop.start}#{number}"


def _stack_of(t: TensorType, count: int) -> TensorType:
    return tensor_type((count, *t.shape), t.dtype)


def _slice(name: str, array: str, t: TensorType, at: int) -> str:
    """Return the lines that take one element of a stack."""
    ranges = ", ".join([f"{at}:{at + 1}", *[f"0:{n}" for n in t.shape[1:]]])
    row_type = tensor_type((1, *t.shape[1:]), t.dtype).mlir
    return (f"    {name}s = stablehlo.slice {array} [{ranges}] : ({t.mlir}) -> {row_type}\n"
            f"    {name} = stablehlo.reshape {name}s : ({row_type}) -> "
            f"{tensor_type(t.shape[1:], t.dtype).mlir}")
