"""What a code generator is asked, and what it answers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..program.program import Instruction
from ..types import TensorType


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


class Call(NamedTuple):
    """An op of a program, as predicates see it.

    Attributes:
        op: its name, as in the reference of ops.
        attributes: by name; all of them, defaults filled in.
        operands: their types; None for one that is absent.
        results: their types.
    """

    op: str
    attributes: Mapping[str, Any]
    operands: tuple[TensorType | None, ...]
    results: tuple[TensorType, ...]

    @classmethod
    def of(cls, i: Instruction) -> Call:
        """Return an instruction as predicates see it."""
        return cls(i.spec.op.name, i.spec.attrs, i.operand_types, i.types)
