"""The op-by-op schedule of a structure, decoded once its kernels are known.

The ops' kernels in order, and for each the places of its operands and results in one table of
values: leaves, run-time scalars, constants, results. A run then is a call and a store for each op.
All of it is one string of bytes, since the cycle collector goes through whatever else is kept.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from typing import Any, Final, final

import numpy as np

from ...backends.data import host_memory, scalar_of
from ...dtypes import DType
from ...extension import in_c
from ...program.plan import Plan
from ...program.stream import INDEX_BITS, INDEX_MASK

#: integers that the steps of all structures together may have, four bytes each
MOST: Final = 16_000_000
#: structures whose schedules were never used again that may have to make room for others
UNUSED: Final = 4096
#: bytes from which a result is let go of right after its last use; others when their place is taken
RELEASE_FROM_BYTES: Final = 1 << 15


@final
class _Kept:
    __slots__ = ("count", "kernels", "numbers", "integers", "unused")

    def __init__(self) -> None:
        #: integers that there are
        self.count: int = 0
        #: every kernel that schedules name by its number here
        self.kernels: list[Any] = []
        self.numbers: dict[Any, int] = {}
        #: the newest schedules by their ids, some of which ran once; not those that were let go of
        self.unused: Any = OrderedDict()

    def has_room(self, count: int) -> bool:
        """Whether so many integers more may be kept; others that ran once are given up for it."""
        while self.count + count > MOST:
            schedule = self.oldest()
            if schedule is None:
                break
            if schedule.runs < 2:
                schedule.give_up()
        return self.count + count <= MOST

    def oldest(self) -> Schedule | None:
        """Take the oldest of those that may have run once; None if there is none."""
        try:
            # one call, as another thread may do the same
            found: Schedule = self.unused.popitem(False)[1]
        except KeyError:
            return None
        return found

    def number(self, kernel: Any) -> int:
        found = self.numbers.get(kernel)
        if found is None:
            found = self.numbers[kernel] = len(self.kernels)
            self.kernels.append(kernel)
        return found


_kept: Final = _Kept()


@final
class Schedule:
    """The steps of a structure for what was wanted of it.

    Attributes:
        code: as int32, for each op the number of its kernel, that of its operands, their places,
            and the place of its result; if it has several, minus their number and their places.
            For a value that is let go of -1 and its place.
        table: the values before a run: constants in their places, None elsewhere.
        scalars: of each dtype the places of its run-time scalars, in order.
        results: as int32, of each wanted result its place and whether its memory is shared.
        types: of each wanted result the dtype and the shape, one after the other.
        size: bytes of the wanted results.
        last: the numbers of the last run that had others than the one before it, and (place, value)
            of each; one object, as threads may run it at once.
        runs: how often they ran.
    """

    __slots__ = ("code", "table", "scalars", "wanted", "results", "types", "size", "runs", "last",
                 "_count", "_kept")

    def __init__(
        self, code: list[int], table: list[Any], scalars: dict[DType, tuple[int, ...]],
        wanted: list[tuple[int, int]], results: list[int], types: tuple[Any, ...], size: int,
    ) -> None:  # fmt: skip
        #: nothing once they were given up
        self.code: bytes = array("i", code).tobytes()
        self._count: int = len(code)
        self.runs: int = 0
        self.table: Final[list[Any]] = table
        self.scalars: Final[dict[DType, tuple[int, ...]]] = scalars
        self.wanted: Final[list[tuple[int, int]]] = wanted
        self.results: Final[bytes] = array("i", results).tobytes()
        self.types: Final[tuple[Any, ...]] = types
        self.size: Final[int] = size
        self.last: tuple[Any, list[tuple[int, Any]]] | None = None
        # at the end of the process the module's names may be gone before this is
        self._kept: Final[_Kept] = _kept
        _kept.count += len(code)
        _kept.unused[id(self)] = self
        if len(_kept.unused) > UNUSED:
            _kept.oldest()

    def let_go(self) -> None:
        """Say that no entry has them any more: who runs them now is the last."""
        self._kept.unused.pop(id(self), None)

    def give_up(self) -> None:
        self._kept.count -= self._count
        self._count = 0
        self.code = b""
        self.table.clear()

    def __del__(self) -> None:
        self._kept.count -= self._count


def schedule_of(
    plan: Plan, kernels: list[Any], shared: list[tuple[bool, ...]], constant: Any
) -> Schedule | None:
    """The steps of a plan that runs by these kernels, one an op; None if there is no room.

    ``constant`` gives the value of a constant of the structure.
    """
    if not _kept.has_room(6 * len(kernels)):
        return None
    nodes = plan.nodes
    stream = plan.stream()
    #: the inputs: leaves and scalars, which each run brings, and constants
    table: list[Any] = [None] * len(plan.leaves)
    scalars: dict[DType, list[int]] = {}
    for place, item in enumerate(stream.others, len(table)):
        if isinstance(item, DType):
            scalars.setdefault(item, []).append(place)
            table.append(None)
        else:
            table.append(None if item is None else constant(item))
    #: of each op the number of its first result; of each result its last use, and its bytes
    first: list[int] = []
    last: list[int] = []
    sizes: list[int] = []
    codes = stream.operands
    #: places, or for results -1 less their number among all results
    operands: list[int] = []
    for number, n in enumerate(nodes):
        end = stream.ends[number]
        for position in range(len(operands), end):
            operand = codes[position]
            if operand < 0:
                result = first[(-1 - operand) >> INDEX_BITS] + ((-1 - operand) & INDEX_MASK)
                last[result] = number
                operand = -1 - result
            operands.append(operand)
        first.append(len(last))
        for t in n.types:
            # what nothing uses ends with what makes it
            last.append(number)
            sizes.append(t.nbytes)
    for slot, index in plan.wanted:
        last[first[slot] + index] = len(nodes)
    code: list[int] = []
    places: list[int] = [0] * len(last)
    free: list[int] = []
    end = 0
    for number, n in enumerate(nodes):
        start = end
        end = stream.ends[number]
        code.append(_kept.number(kernels[number]))
        code.append(end - start)
        large: list[int] = []
        for position in range(start, end):
            operand = operands[position]
            if operand < 0:
                result = -1 - operand
                operand = places[result]
                if last[result] == number:
                    # once, though it may be several operands
                    last[result] = -1
                    free.append(operand)
                    if sizes[result] >= RELEASE_FROM_BYTES:
                        large.append(operand)
            code.append(operand)
        count = len(n.types)
        if count > 1:
            code.append(-count)
        ended: list[int] = []
        going_on: list[int] = []
        for result in range(first[number], first[number] + count):
            if free:
                where = free.pop()
            else:
                where = len(table)
                table.append(None)
            places[result] = where
            code.append(where)
            if last[result] == number:
                ended.append(where)
                if sizes[result] >= RELEASE_FROM_BYTES:
                    large.append(where)
            else:
                going_on.append(where)
        free += ended
        for where in large:
            # its place has not been taken by a result
            if where not in going_on:
                code.append(-1)
                code.append(where)
    results: list[int] = []
    types: list[Any] = []
    size = 0
    for slot, index in plan.wanted:
        t = nodes[slot].types[index]
        results.append(places[first[slot] + index])
        results.append(int(shared[slot][index]))
        types += (t.dtype.numpy, t.shape)
        size += t.nbytes
    places_of = {dtype: tuple(of_dtype) for dtype, of_dtype in scalars.items()}
    return Schedule(code, table, places_of, list(plan.wanted), results, tuple(types), size)


def fit(schedule: Schedule, arrays: list[Any]) -> bool:
    """Whether arrays have the types of a schedule's results."""
    found: bool = _of_types(arrays, schedule.types)
    return found


def of_types(arrays: list[Any], types: tuple[Any, ...]) -> bool:
    """Whether the arrays have these dtypes and shapes, which are given one after the other."""
    return all(isinstance(x, np.ndarray) and x.dtype == dtype and x.shape == shape
               for x, dtype, shape in zip(arrays, types[::2], types[1::2], strict=True))


def run_schedule(schedule: Schedule, plan: Plan) -> list[Any]:
    """Run a schedule; the wanted results, each in memory of its own."""
    schedule.runs += 1
    table = list(schedule.table)
    leaves = plan.leaves
    for k, leaf in enumerate(leaves):
        table[k] = host_memory(leaf)
    last = schedule.last
    if last is not None and last[0] is plan.scalars:
        for place, value in last[1]:
            table[place] = value
    elif schedule.scalars:
        converted: list[tuple[int, Any]] = []
        for dtype, places in schedule.scalars.items():
            numbers = plan.scalars[dtype]
            # zip takes longer in compiled code
            for k, place in enumerate(places):
                value = table[place] = scalar_of(numbers[k], dtype)
                converted.append((place, value))
        schedule.last = (plan.scalars, converted)
    found: list[Any] = _run_calls(
        schedule.code, _kept.kernels, table, len(leaves), schedule.results)
    return found


def run_calls(
    code: bytes, kernels: list[Any], table: list[Any], leaves: int, results: bytes
) -> list[Any]:
    """Make the calls that code says, as :class:`Schedule` has it, over a table; the wanted results.

    The first values of the table, the ``leaves``, are arrays; one without dimensions is passed on
    as NumPy's scalar, with which NumPy computes in a tenth of the time.
    """
    for k in range(leaves):
        if table[k].ndim == 0:
            table[k] = table[k][()]
    numbers: Any = memoryview(code).cast("i")
    at = 0
    while at < len(numbers):
        number, many = numbers[at], numbers[at + 1]
        at += 2
        if number < 0:
            table[many] = None
            continue
        result: Any = kernels[number](*[table[place] for place in numbers[at : at + many]])
        at += many
        place = numbers[at]
        at += 1
        if place >= 0:
            table[place] = result
        else:
            for each in result:
                table[numbers[at]] = each
                at += 1
    wanted: list[int] = memoryview(results).cast("i").tolist()
    return [owned(table[wanted[k]], bool(wanted[k + 1])) for k in range(0, len(wanted), 2)]


#: the same in C, where that was compiled: 0.1 us a call less
_run_calls: Final = in_c("run_calls", run_calls)
_of_types: Final = in_c("of_types", of_types)


def owned(value: Any, shared: bool) -> Any:
    """A result as an array in memory of its own, the elements in row-major order."""
    if not isinstance(value, np.ndarray):
        return np.asarray(value)
    if shared:
        return value.copy()
    return value if value.flags.c_contiguous else np.ascontiguousarray(value)
