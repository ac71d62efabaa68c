"""The interface of a code generator: what a vendor writes to run parts of recorded programs.

A generator says whether it supports each op, or why not (:meth:`Generator.supports`), names groups
of ops that it does as one (:meth:`Generator.patterns`), says which regions are worth a call
(:meth:`Generator.worthwhile`), and builds the code of a region (:meth:`Generator.build`). The
runtime does the partitioning (:mod:`.partition`), calls the code from inside the compiled program
and keeps it. A call whose code raises is computed by host kernels, and later programs leave the
region to XLA. See ``docs/codegen.md``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..program.program import Program
from ..types import TensorType
from .answers import YES, Answer, Call, No
from .patterns import Pattern

#: for each axis of an array in memory, slowest first, the tensor's axis that is there
Layout = tuple[int, ...]


class Region(NamedTuple):
    """A part of a program, as a program of its own.

    Attributes:
        program: its instructions, the types of its operands (the leaves) and its results (the
            outputs); no leaf is donated. Run-time scalars of the whole program are leaves of
            shape ().
        composites: for each group that a pattern matched, its name and its instructions, in order.
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
    """A region as a Python function.

    ``function(*operands)`` takes read-only NumPy arrays of the shapes in memory, which it may not
    keep, and returns an array, or a tuple of them, of exactly the results' dtypes and shapes in
    memory. With ``fills``, ``function(*operands, *results)`` writes into arrays for the results
    instead, and returns nothing. It runs on XLA's threads and must not call Lazyloom or JAX.
    """

    function: Callable[..., Any]
    fills: bool = False


class NativeCode(NamedTuple):
    """A region as a C function.

    Attributes:
        function: the address of ``const char *function(void *state, void *const *buffers)``, where
            buffers are the operands and then the results; it returns NULL or an error message.
            Several threads may call it at once.
        state: the address passed as its state.
        owner: an object that is kept alive as long as the function may be called.
    """

    function: int
    state: int
    owner: Any


class CSource(NamedTuple):
    """A region as C source, compiled by the system's C compiler.

    Attributes:
        text: defines ``const char *region(void *const *buffers)``, with buffers as for
            :class:`NativeCode`.
        flags: compiler flags besides ``-O3``.
    """

    text: str
    flags: tuple[str, ...] = ()


#: what :meth:`Generator.build` returns
Code = PythonCode | NativeCode | CSource


class Generator(ABC):
    """A code generator. One object serves the process; any thread may call it.

    Attributes:
        name: its name for :func:`lazyloom.codegen.use` and in reports; "xla" is taken.
        version: part of the key of compiled programs; changes whenever its generated code does.
        priority: of two generators that do an op, the one of higher priority gets it.
        merges: whether adjacent regions become one.
        by_default: whether an installed generator is in use without being named.
        tolerance: its contract on precision: by how many units in the last place of float32 (of
            float64 for results of float64 and complex128) a result may differ from XLA's, relative
            to the result's largest magnitude. :func:`lazyloom.codegen.verify` checks it.
    """

    name: str
    version: str
    priority: int = 0
    merges: bool = True
    by_default: bool = True
    tolerance: float = 64.0

    @abstractmethod
    def supports(self, call: Call) -> Answer:
        """Return YES if it does this op by itself, or why not. Depends only on the call."""

    def patterns(self) -> Sequence[Pattern]:
        """Return groups of ops that it does as one; the first ones are looked for first."""
        return ()

    def runs_alone(self, call: Call) -> Answer:
        """Return YES if it does this op well while a program still runs op by op, not compiled.

        Asked only for large operands, which are then in logical order.
        """
        return No("in compiled programs only")

    def worthwhile(self, region: Region) -> Answer:
        """Return YES if a region is worth a call, or why not; then XLA keeps its ops."""
        return YES

    def seconds(self, region: Region) -> float | None:
        """Estimate the seconds of a run of the region, for reports; None if unknown."""
        return None

    def seconds_of_xla(self, region: Region) -> float | None:
        """Estimate XLA's seconds for the region's ops, for reports; None if unknown.

        Where both are known, reports say what is gained.
        """
        return None

    def size_class(self, call: Call) -> str | None:
        """Return the name of a class of ops that gain alike, in words; None if an op has none.

        What is measured of a region of one such op holds for all regions of one op of the class.
        It depends on the call alone.
        """
        return None

    def layouts(self, region: Region) -> Sequence[Layout] | None:
        """Return the order in memory that it wants for each operand and then each result.

        None, or equivalent orders, mean logical (row-major) order.
        """
        return None

    def constants(self, region: Region) -> Sequence[int]:
        """Return the numbers of operands that are the same for many runs, such as weights.

        Where such operands are inputs of the program, and two runs get the same array objects for
        them, :meth:`bound` is called for code that runs the region with these.
        """
        return ()

    def bound(self, region: Region, values: Mapping[int, Any]) -> Code:
        """Return code for a region whose operands of some numbers have known values.

        ``values`` are read-only NumPy arrays with axes in memory order; keeping one keeps its
        memory from being freed. The code is called like that of :meth:`build`, with all operands,
        and only in runs that have those values. If this raises anything, all runs use the code of
        :meth:`build`.
        """
        raise NotImplementedError(f"{self.name} binds no constants")

    @abstractmethod
    def build(self, region: Region) -> Code:
        """Return code for a region; it must not call Lazyloom, whose program waits for it.

        If this raises anything, XLA runs the region, with a warning. If the code raises when it is
        called, host kernels compute the call, with a warning, and later programs leave the region
        to XLA.
        """
