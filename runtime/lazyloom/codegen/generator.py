"""The interface of a code generator: what a vendor writes to run parts of recorded programs.

A generator says whether it supports each op, or why not (:meth:`Generator.supports`), names groups
of ops that it does as one (:meth:`Generator.patterns`), says which regions are worth a call
(:meth:`Generator.worthwhile`), and builds the code of a region (:meth:`Generator.build`). The
runtime does the partitioning (:mod:`.partition`), calls the code from inside the compiled program
and keeps it. A call whose code raises is computed by host kernels, and later programs leave the
region to XLA. See ``docs/codegen_vendor.md``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import ArgumentError
from ..program.program import Program
from ..program.stream import Leaf, Result
from ..types import TensorType
from .answers import YES, Answer, Call, No, Only, Wiring
from .extents import Extents, shape_at
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
        extents: what varies from run to run, in a region that is for many extents; else None. Its
            types and attributes are then those at the largest.
    """

    program: Program
    composites: tuple[tuple[str, tuple[int, ...]], ...]
    layouts: tuple[Layout, ...]
    extents: Extents | None = None

    @property
    def calls(self) -> list[Call]:
        """The ops, in order, wired as they are in the region."""
        instructions = self.program.structure.instructions
        arrays: list[Leaf | Result] = [Leaf(k) for k in range(len(self.operands))]
        arrays += [Result(n, r) for n, r in self.program.outputs]
        wiring = Wiring(instructions, self.program.outputs,
                        dict(zip(arrays, self.layouts, strict=True)), self.extents)
        return [wiring.call(n) for n in range(len(instructions))]

    @property
    def operands(self) -> tuple[TensorType, ...]:
        """The logical types of the operands."""
        return self.program.structure.leaf_types

    @property
    def results(self) -> tuple[TensorType, ...]:
        """The logical types of the results."""
        instructions = self.program.structure.instructions
        return tuple(instructions[n].types[r] for n, r in self.program.outputs)

    def shapes(self, extents: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the logical shape of each operand and then each result, at the extents of a run.

        Raises ArgumentError for a region that is not for many extents.
        """
        found = self.extents
        if found is None:
            raise ArgumentError("shapes: this region has the same extents in each run; its types "
                                "have them")
        sizes = [*found.leaves, *(found.results[n][r] for n, r in self.program.outputs)]
        return [shape_at(each or (), extents) for each in sizes]

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


class Pass(NamedTuple):
    """A pass of a generator over the function of a region, before its code is generated.

    Attributes:
        name: for errors.
        function: takes a :class:`~lazyloom.codegen.RegionRewriter` of the region, and returns a
            region of the same operands and results, or None where it has nothing to do.
    """

    name: str
    function: Callable[[Any], Region | None]


class Generator(ABC):
    """A code generator. One object serves the process; any thread may call it.

    Attributes:
        name: its name for :func:`lazyloom.codegen.use` and in reports; "xla" is taken.
        version: part of the key of compiled programs; changes whenever its generated code does.
        priority: the order of generators that nobody has named: highest first.
        merges: whether adjacent regions become one.
        by_default: whether an installed generator is in use without being named.
        tolerance: its contract on precision: by how many units in the last place of float32 (of
            float64 for results of float64 and complex128) a result may differ from XLA's, relative
            to the result's largest magnitude. :func:`lazyloom.codegen.verify` checks it.
        symbolic: whether it does ops whose extents vary from run to run (:attr:`Region.extents`).
            Arrays have the largest extents; the code of a region takes the extents of the run as a
            further operand after the others, int64 with one for each symbol. It may not use what
            lies beyond them in operands, and may write anything there in results.
        portable_engines: whether the bytes of its engines are right on every processor; if not,
            they are used on the same kind of processor, with the same versions of everything.
    """

    name: str
    version: str
    priority: int = 0
    merges: bool = True
    by_default: bool = True
    symbolic: bool = False
    tolerance: float = 64.0
    portable_engines: bool = False

    @abstractmethod
    def supports(self, call: Call) -> Answer:
        """Return YES if it does this op by itself, or why not. Depends only on the call."""

    def patterns(self) -> Sequence[Pattern]:
        """Return groups of ops that it does as one; the first ones are looked for first."""
        return ()

    def numbers(self, call: Call) -> Sequence[int]:
        """Return the operands of an op whose numbers it wants to know (:attr:`Call.values`).

        A Python number in a program is an operand that may change from run to run. One that is
        asked for is a constant of the program instead, and each other value is another program,
        up to eight; then they are operands again. What patterns name by :func:`number` is known
        without this. Asked for ops that have such operands; depends only on the call.
        """
        return ()

    def runs_alone(self, call: Call) -> Answer:
        """Return YES if it does this op well while a program still runs op by op, not compiled.

        Asked only for large operands, which are then in logical order.
        """
        return No("in compiled programs only")

    def worthwhile(self, region: Region) -> Answer | Only:
        """Return YES if a region is worth a call, or why not.

        :class:`Only` has the ops that it wants, which become regions that it is asked about in
        turn. What it does not want is offered to the next generator, or is XLA's.
        """
        return YES

    def seconds(self, region: Region) -> float | None:
        """Estimate the seconds of a run of the region; None if unknown."""
        return None

    def seconds_of_xla(self, region: Region) -> float | None:
        """Estimate XLA's seconds for the region's ops; None if unknown.

        Where both are known and the region takes longer, it is not made; else reports say what is
        gained.
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

    def aliases(self, region: Region) -> Mapping[int, int]:
        """Return the operands over which results may be written: {result: operand}.

        Such a result has the operand's memory, so that what is updated in place takes no copy.
        Types and layouts of both are the same, and no operand is named twice. Where the program
        uses the operand's value later, the region is given a copy of it. Code that fails does so
        before it writes.
        """
        return {}

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

    def passes(self) -> Sequence[Pass]:
        """Return what is done with the function of a region before :meth:`build`, in order.

        A pass folds, fuses or quantises: it gives a region that does the same. :meth:`build` and
        :meth:`bound` are given what the last one gave; in :meth:`bound` they know the values of
        constants, and may add others, which are operands after the region's own, with a value each.
        An error, and a region of other operands or results, is a failed build that names the pass.
        """
        return ()

    @abstractmethod
    def build(self, region: Region) -> Code:
        """Return code for a region; it must not call Lazyloom, whose program waits for it.

        If this raises anything, XLA runs the region, with a warning. If the code raises when it is
        called, host kernels compute the call, with a warning, and later programs leave the region
        to XLA.
        """

    def serialize(self, region: Region, code: Code) -> bytes | None:
        """Return an engine that :meth:`build` gave as bytes; None if it has no such form.

        They are kept in the disk cache, in files of :func:`lazyloom.cache.save` and in exported
        programs, so that other processes build nothing. A :class:`CSource` needs none: that of an
        installed generator is kept with the library compiled from it.
        """
        return None

    def deserialize(self, region: Region, data: bytes) -> Code:
        """Return the code of an equal region from the bytes of :meth:`serialize`.

        They come from this version of the generator, with the same :meth:`requirements`. If this
        raises anything, the engine is built, with a warning.
        """
        raise NotImplementedError(f"{self.name} restores no engines")

    def requirements(self) -> Mapping[str, str]:
        """Return what the bytes of engines depend on besides :attr:`version`, as values by name.

        Such as ``{"driver": "12.4"}``. An engine that was stored with other values is not used.
        """
        return {}
