"""The interface of a code generator: what a vendor writes to run parts of recorded programs.

A generator says of each op whether it does it, or why not (:meth:`Generator.supports`), names
groups of ops that it does as one (:meth:`Generator.patterns`), says which regions are worth a call
(:meth:`Generator.worthwhile`), and builds what runs one (:meth:`Generator.build`). Partitioning
(:mod:`.partition`), calling what was built from inside the compiled program, keeping it, and doing
without it where it fails, are the runtime's. See ``docs/codegen.md``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..program.program import Instruction, Program
from ..types import TensorType
from .patterns import Pattern

#: of each axis of an array in memory, slowest first, the axis of the tensor that lies there
Layout = tuple[int, ...]


class No:
    """Why something is not done. False where a truth value is asked for.

    Attributes:
        reason: why, for people.
        deliberate: the generator could do it and leaves it to XLA, which is better at it; nobody is
            warned of it.
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
    """That something is done."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "YES"


YES: Final = Yes()
#: of a predicate: :data:`YES`, or :class:`No` with the reason
Answer = Yes | No


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
        """The instruction as predicates see it."""
        return cls(i.spec.op.name, i.spec.attrs, i.operand_types, i.types)


class Region(NamedTuple):
    """A part of a program, as a program of its own.

    Attributes:
        program: its instructions, the types of its operands (the leaves) and its results (the
            outputs); no leaf is donated. Run-time scalars of the whole program are leaves of
            shape ().
        composites: for each group that a pattern found, its name and its instructions, in order.
        layouts: the order in memory of each operand and then of each result, logical order unless
            :meth:`Generator.layouts` asked for another.
    """

    program: Program
    composites: tuple[tuple[str, tuple[int, ...]], ...]
    layouts: tuple[Layout, ...]

    @property
    def calls(self) -> list[Call]:
        """The ops, in order."""
        return [Call.of(i) for i in self.program.structure.instructions]

    @property
    def operands(self) -> tuple[TensorType, ...]:
        """The logical types of the operands."""
        return self.program.structure.leaf_types

    @property
    def results(self) -> tuple[TensorType, ...]:
        """The logical types of the results."""
        instructions = self.program.structure.instructions
        return tuple(instructions[n].types[r] for n, r in self.program.outputs)

    def in_memory(self) -> tuple[tuple[TensorType, tuple[int, ...]], ...]:
        """The logical type and the shape in memory of each operand, then of each result."""
        types = (*self.operands, *self.results)
        return tuple((t, tuple(t.shape[d] for d in layout))
                     for t, layout in zip(types, self.layouts, strict=True))


class PythonCode(NamedTuple):
    """A region as a function of Python.

    ``function(*operands)`` takes read-only NumPy arrays of the shapes in memory, which it may not
    keep, and returns an array, or a tuple of them, of exactly the results' dtypes and shapes in
    memory. With ``fills``, ``function(*operands, *results)`` writes into arrays for the results
    instead, and returns nothing. It runs on threads of XLA's and must not call Lazyloom or JAX.
    """

    function: Callable[..., Any]
    fills: bool = False


class NativeCode(NamedTuple):
    """A region as a function of C.

    Attributes:
        function: the address of ``const char *function(void *state, void *const *buffers)``, where
            buffers are the operands and then the results, and it returns NULL or what went wrong.
            It may be called by several threads at once.
        state: an address that it is given.
        owner: an object that is kept as long as it may be called.
    """

    function: int
    state: int
    owner: Any


class CSource(NamedTuple):
    """A region as text in C, compiled by the system's C compiler.

    Attributes:
        text: defines ``const char *region(void *const *buffers)``, with buffers as for
            :class:`NativeCode`.
        flags: what the compiler is told beside ``-O3``.
    """

    text: str
    flags: tuple[str, ...] = ()


#: what :meth:`Generator.build` gives
Code = PythonCode | NativeCode | CSource


class Generator(ABC):
    """A code generator. One object serves the process; any thread may call it.

    Attributes:
        name: what :func:`lazyloom.codegen.use` and reports call it; "xla" is taken.
        version: part of the key of compiled programs; changes whenever what it generates does.
        priority: of two that do an op, the one of higher priority gets it.
        merges: whether regions that touch become one.
        by_default: whether it is in use, where it is installed, before anybody names it.
        tolerance: its contract on precision: by how many units in the last place of float32 (of
            float64 for results of float64 and complex128) a result may differ from XLA's, relative
            to the result's largest magnitude. :func:`lazyloom.codegen.verify` holds it to that.
    """

    name: str
    version: str
    priority: int = 0
    merges: bool = True
    by_default: bool = True
    tolerance: float = 64.0

    @abstractmethod
    def supports(self, call: Call) -> Answer:
        """Whether it does this op by itself, or why not. Depends on nothing but the call."""

    def patterns(self) -> Sequence[Pattern]:
        """Groups of ops that it does as one; those named first are looked for first."""
        return ()

    def runs_alone(self, call: Call) -> Answer:
        """Whether it does this op well while a program still runs op by op, not compiled.

        Asked of large operands only, which lie in logical order then.
        """
        return No("in compiled programs only")

    def worthwhile(self, region: Region) -> Answer:
        """Whether a region is worth a call, or why not; then XLA keeps its ops."""
        return YES

    def seconds(self, region: Region) -> float | None:
        """What a run of the region is estimated to take, for reports; None if not known."""
        return None

    def seconds_of_xla(self, region: Region) -> float | None:
        """What XLA is estimated to take for the region's ops, for reports; None if not known.

        Where both are known, reports say what is gained.
        """
        return None

    def layouts(self, region: Region) -> Sequence[Layout] | None:
        """The order in memory that it wants each operand and then each result in.

        None, and orders that say the same, for logical (row-major) order.
        """
        return None

    def constants(self, region: Region) -> Sequence[int]:
        """The operands that stay as they are for many runs, such as weights, by their numbers.

        Where such operands are inputs of the program, and two runs were given the very same arrays
        for them, :meth:`bound` is asked for what runs the region with these.
        """
        return ()

    def bound(self, region: Region, values: Mapping[int, Any]) -> Code:
        """What runs a region whose operands of those numbers have those values.

        ``values`` are read-only NumPy arrays with axes as they lie in memory; whoever keeps one
        keeps its memory from being freed. What is returned is called as what :meth:`build` gave is,
        with all operands, and only in runs that have those values. Whatever this raises leaves all
        runs to what :meth:`build` gave.
        """
        raise NotImplementedError(f"{self.name} binds no constants")

    @abstractmethod
    def build(self, region: Region) -> Code:
        """What runs a region; it must not call Lazyloom, whose program waits for it.

        Whatever it raises leaves the region to XLA, with a warning.
        """
