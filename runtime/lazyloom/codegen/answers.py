"""What a code generator is asked, and what it answers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..errors import ArgumentError
from ..program.program import Instruction
from ..program.stream import Leaf, Operand, Result
from ..trace.scalars import Baked
from ..types import TensorType
from .extents import Extents, Sizes


class No:
    """Why something is not supported. It is false as a truth value.

    Attributes:
        reason: why, for people.
        deliberate: the generator could do it but leaves it to XLA, which is better at it; no
            warning is given.
    """

    __slots__ = ("reason", "deliberate")

    def __init__(self, reason: str, *, deliberate: bool = False) -> None:
        self.reason: Final = reason
        self.deliberate: Final = deliberate

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"No({self.reason!r}{', deliberate=True' if self.deliberate else ''})"


class Yes:
    """Says that something is supported."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "YES"


YES: Final = Yes()
#: the answer of a predicate: :data:`YES`, or :class:`No` with the reason
Answer = Yes | No


class Only:
    """Says that of a region only some ops are wanted: what
    :meth:`~lazyloom.codegen.Generator.worthwhile` returns to trim one.

    Attributes:
        ops: the numbers of the region's instructions that are wanted; a group is only wanted if all
            of its ops are.
        rest: why not the others, which are offered to other generators.
    """

    __slots__ = ("ops", "rest")

    def __init__(self, ops: Iterable[int], reason: str, *, deliberate: bool = False) -> None:
        self.ops: Final = frozenset(ops)
        self.rest: Final = No(reason, deliberate=deliberate)

    def __repr__(self) -> str:
        return f"Only({sorted(self.ops)}, {self.rest.reason!r})"

    def wants(self, members: Sequence[int], unit: Sequence[int]) -> bool:
        """Return True if all ops of a unit are wanted, given the program's numbers of the region's
        ops."""
        return all(bisect_left(members, n) in self.ops for n in unit)


#: a number of the program, as Python has it
Number = bool | int | float


class Call:
    """An op of a program, as predicates see it.

    Two calls are equal where all but their layouts and wiring is. A predicate is asked once for
    equal calls unless it looks at the wiring: ``number``, ``wired``, ``producer``, ``readers``,
    ``returned``.

    Attributes:
        op: its name, as in the reference of ops.
        attributes: by name; all of them, defaults filled in.
        operands: their types, one for each operand of the op; None for one that is absent.
        results: their types.
        values: for each operand, its number where that is a constant of the program, else None.
        sizes: for each operand and then each result the sizes of its axes as texts, ``("e0",
            "64")``, in a program for many extents, whose types are those at the largest; None for
            an operand that is absent. Empty in other programs.
        bounds: the smallest and the largest value of each symbol in ``sizes``.
        layouts: for each operand and then each result its axes in memory, slowest first; None
            where XLA decides. Known in a :class:`~lazyloom.codegen.Region` only.
    """

    __slots__ = ("op", "attributes", "operands", "results", "values", "layouts", "looked",
                 "sizes", "bounds", "_wiring", "_number")

    def __init__(
        self, op: str, attributes: Mapping[str, Any], operands: Sequence[TensorType | None],
        results: Sequence[TensorType], values: Sequence[Number | None] | None = None,
        layouts: Sequence[tuple[int, ...] | None] | None = None,
        wiring: Wiring | None = None, number: int = -1, sizes: Sequence[Sizes | None] = (),
        bounds: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:  # fmt: skip
        self.op: Final = op
        self.attributes: Final = attributes
        self.operands: Final = tuple(operands)
        self.results: Final = tuple(results)
        self.values: Final = (None,) * len(operands) if values is None else tuple(values)
        self.layouts: Final = (None,) * (len(operands) + len(results)) if layouts is None else (
            tuple(layouts))
        self.sizes: Final = tuple(sizes)
        self.bounds: Final = dict(bounds or {})
        #: whether a predicate has looked at the wiring, on which its answer then depends
        self.looked = False
        self._wiring: Final = wiring
        self._number: Final = number

    @classmethod
    def of(cls, i: Instruction) -> Call:
        """Return an instruction by itself as predicates see it, without its wiring."""
        return _call(i, None, -1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and self._compared() == other._compared()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = "" if all(v is None for v in self.values) else f", values={self.values}"
        return (f"Call({self.op!r}, {dict(self.attributes)}, "
                f"({', '.join('None' if t is None else t.text for t in self.operands)}), "
                f"({', '.join(t.text for t in self.results)}){values})")

    def _compared(self) -> tuple[Any, ...]:
        return (self.op, dict(self.attributes), self.operands, self.results, self.values,
                self.sizes, self.bounds)

    @property
    def number(self) -> int:
        """Its place in the program; -1 for an op that is asked about by itself."""
        self.looked = True
        return self._number

    @property
    def wired(self) -> tuple[Operand, ...]:
        """What each operand is: ``Leaf``, ``Result``, ``Baked``, a run-time number, or None.

        Equal ones are the same value. Empty for an op that is asked about by itself.
        """
        self.looked = True
        if self._wiring is None:
            return ()
        items = self._wiring.instructions[self._number].operands
        return (*items, *(None,) * (len(self.operands) - len(items)))

    def producer(self, operand: int) -> Call | None:
        """Return the op that produces an operand; None for inputs, numbers and absent ones.

        Raises ArgumentError for an operand that the op does not have.
        """
        self._check("producer", operand, len(self.operands), "operand")
        item = self.wired[operand] if self._wiring is not None else None
        if self._wiring is None or not isinstance(item, Result):
            return None
        return self._wiring.call(item.instruction)

    def readers(self, result: int = 0) -> list[tuple[Call, int]]:
        """Return the ops of the program that read a result, each with the operand that it is.

        Raises ArgumentError for a result that the op does not have.
        """
        self._check("readers", result, len(self.results), "result")
        self.looked = True
        if self._wiring is None:
            return []
        return [(self._wiring.call(n), k)
                for n, k in self._wiring.readers.get((self._number, result), ())]

    def returned(self, result: int = 0) -> bool:
        """Return True if something outside of the program (or region) reads a result, too.

        That is a Python variable that holds it, a gradient, or another program. True where the op
        is asked about by itself. Raises ArgumentError for a result that the op does not have.
        """
        self._check("returned", result, len(self.results), "result")
        self.looked = True
        return self._wiring is None or (self._number, result) in self._wiring.outputs

    def _check(self, function: str, number: int, count: int, what: str) -> None:
        if not 0 <= number < count:
            raise ArgumentError(
                f"{function}: {what} {number} of {self.op} was asked for, expected 0 to "
                f"{count - 1}")


class Wiring:
    """A program as its calls see it: who produces what, and who reads it."""

    __slots__ = ("instructions", "outputs", "layouts", "extents", "_readers")

    def __init__(
        self, instructions: Sequence[Instruction], outputs: Iterable[tuple[int, int]],
        layouts: Mapping[Leaf | Result, tuple[int, ...]] | None = None,
        extents: Extents | None = None,
    ) -> None:  # fmt: skip
        self.instructions: Final = instructions
        self.outputs: Final = frozenset((n, r) for n, r in outputs)
        self.layouts: Final = layouts or {}
        self.extents: Final = extents
        self._readers: dict[tuple[int, int], list[tuple[int, int]]] | None = None

    @property
    def readers(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """For each result that is read, who reads it: (instruction, operand)."""
        if self._readers is None:
            self._readers = {}
            for n, i in enumerate(self.instructions):
                for k, item in enumerate(i.operands):
                    if isinstance(item, Result):
                        self._readers.setdefault(
                            (item.instruction, item.number), []).append((n, k))
        return self._readers

    def call(self, number: int) -> Call:
        """Return an instruction as predicates see it."""
        return _call(self.instructions[number], self, number)


def _call(i: Instruction, wiring: Wiring | None, number: int) -> Call:
    op = i.spec.op
    # trailing operands may be left out; predicates see each operand that the op has
    absent = (None,) * (0 if op.max_operands < 0 else op.max_operands - len(i.operands))
    layouts: list[tuple[int, ...] | None] | None = None
    if wiring is not None and wiring.layouts:
        known = wiring.layouts
        layouts = [known.get(item) if isinstance(item, (Leaf, Result)) else None
                   for item in i.operands]
        layouts += [None] * len(absent)
        layouts += [known.get(Result(number, r)) for r in range(len(i.types))]
    extents = None if wiring is None else wiring.extents
    sizes: list[Sizes | None] = []
    if extents is not None:
        sizes = [*(sizes_of(extents, item) for item in i.operands), *absent,
                 *extents.results[number]]
    return Call(op.name, i.spec.attrs, (*i.operand_types, *absent), i.types,
                (*map(value_of, i.operands), *absent), layouts, wiring, number, sizes,
                None if extents is None else extents.bounds)


def sizes_of(extents: Extents, item: Operand) -> Sizes | None:
    """Return the sizes of an operand; None where they are not known, or it is absent."""
    if isinstance(item, Leaf):
        return extents.leaves[item.number]
    if isinstance(item, Result):
        return extents.results[item.instruction][item.number]
    return None if item is None else ()


def value_of(item: Operand) -> Number | None:
    """Return the number that an operand is, None where it is no constant."""
    if not isinstance(item, Baked):
        return None
    number: Number = item.number
    return bool(number) if item.dtype.kind == "b" else number
