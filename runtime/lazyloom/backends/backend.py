"""The interface of a backend, which compiles programs and holds the data that they work on.

The runtime above calls nothing else of it. A program comes as a
:class:`~lazyloom.program.program.Structure`, whose instructions are ops of the table with their
operand types. An array is whatever the backend uses as one: it has ``shape``, a tuple, and
``dtype``, a NumPy dtype or an object equal to one, and nothing above looks further inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..dtypes import DType
from ..host.kernel import HostKernel
from ..ops.spec import OpDef
from ..placements import Placement
from ..program.collectives import Partitioned
from ..program.program import Instruction, Program, Structure
from ..program.regions import NO_REGIONS, PartRun, ProgramRegions
from ..program.stream import Leaf, Operand, Result, ScalarSlot
from ..trace.scalars import Baked
from ..trace.specs import Spec
from ..types import TensorType
from .analysis import ProgramAnalysis

__all__ = [
    "Backend", "Baked", "Executable", "Instruction", "Leaf", "NotLoaded",
    "NotLowered", "NotPadded", "Operand", "PortableModule", "Request", "Result", "ScalarSlot",
]  # fmt: skip


class Request(NamedTuple):
    """A program to compile.

    Attributes:
        structure: the instructions, in order, and the types of the leaves.
        outputs: the results to return, as (instruction, result), in order.
        aliases: leaves that the run may overwrite: number of the leaf -> position in ``outputs``
            of the result, of equal type, that may take its memory.
        generators: the names of the code generators that may take parts of it
            (:mod:`lazyloom.codegen`), in order of preference.
        verify: compare their results with the backend's, at each run.
        segmented: run their parts, and what lies between, one by one.
        verdicts: the :class:`~lazyloom.codegen.verdicts.Verdicts` by which they get their parts;
            None for their estimates alone.
    """

    structure: Structure
    outputs: tuple[tuple[int, int], ...]
    aliases: Mapping[int, int]
    generators: tuple[str, ...] = ()
    verify: bool = False
    segmented: bool = False
    verdicts: Any = None


class PortableModule(NamedTuple):
    """A program as a StableHLO portable artifact.

    Attributes:
        data: the artifact, which ``stablehlo_deserialize`` reads.
        version: the StableHLO version that it is compatible with, such as "1.13.7".
        calls: the targets of its custom calls, which other platforms need not have.
    """

    data: bytes
    version: str
    calls: tuple[str, ...]


class NotLowered(Exception):
    """The op of instruction ``number`` could not be lowered; the cause says why.

    Everything that does not depend on the instruction runs without it.
    """

    def __init__(self, number: int, cause: Exception) -> None:
        super().__init__(number)
        self.number: int = number
        # a raise in compiled code does not set it
        self.__cause__ = cause


class NotLoaded(Exception):
    """A stored program is intact, but something that it needs does not work here."""


class NotPadded(Exception):
    """The program of a structure with padding cannot be built; the text says why."""


class Executable(ABC):
    """A compiled program.

    Attributes:
        run: ``run(*arguments)`` takes one array per leaf, then one vector of run-time scalars for
            each dtype of ``structure.scalar_counts``, in that order, then for a structure with
            padding the vector of the current extents, an int64 per symbol. It returns the list of
            results, and need not wait for them; an error before or after it returns is raised by
            it, or by whatever waits for a result. The results of the first run of a program are
            compared with the number and the types of its outputs.
        direct: ``run`` is one call into foreign code, which runs no Python code (so no signal
            handler) before it has returned the results.
        needs: how many free bytes to look for before each run, 0 where few or unknown.
        timings: seconds by phase (``lower``, ``compile``), for the evaluation's record.
        regions: the parts of it that other code generators run. Where one of them failed at a
            part, the program is not stored: another process may do better.
        finished: of a program with collectives, an array that is computed when its newest run has
            ended, and that nothing else uses; else None.
        placements: of a program on a mesh, how each of its outputs is divided.
        collectives: of such a program, what its devices do together.
        further: None, or ``further(arguments, private)``, called before each run with all other
            arguments and whether each leaf's memory belongs to the runtime (None where that is
            unknown). It returns a list of further arguments that ``run`` takes after them.
        segmented: its parts run one by one, and :meth:`parts` says how long each took.
    """

    __slots__ = ("run", "direct", "needs", "timings", "finished")

    regions: ProgramRegions = NO_REGIONS
    placements: tuple[Placement, ...] = ()
    collectives: tuple[Partitioned, ...] = ()
    further: Callable[[list[Any], list[bool] | None], list[Any]] | None = None
    segmented: bool = False
    run: Callable[..., list[Any]]
    direct: bool
    needs: int
    timings: Mapping[str, float]
    finished: Any

    @abstractmethod
    def serialize(self) -> bytes:
        """Return the program as :meth:`Backend.load` takes it. Raises where it cannot be stored."""

    def parts(self) -> tuple[PartRun, ...]:
        """Return the parts of this thread's newest run, where the program is segmented."""
        return ()

    def analysis(self) -> ProgramAnalysis | None:
        """Return what the compiler says of the program's memory and work; None if nothing.

        It is asked for by reports, never by a run, and may take milliseconds.
        """
        return None


class Backend(ABC):
    """A compiler with a device. One object serves the process; all threads call it.

    Attributes:
        name: part of the disk cache's keys, so that no backend finds another's programs.

    Example:

        >>> class Unfinished(lazyloom.Backend):
        ...     name = "unfinished"
        >>> try:
        ...     Unfinished()
        ... except TypeError:
        ...     print(sorted(Unfinished.__abstractmethods__)[:3])  # what it has to have
        ['compile', 'copy', 'describe']
    """

    name: str

    @abstractmethod
    def compile(self, request: Request) -> Executable:
        """Compile a program.

        Raises NotLowered for an op that it cannot lower, MemoryError, and NotPadded for a structure
        with padding that it does not support.
        """

    @abstractmethod
    def load(self, data: bytes, request: Request) -> Executable:
        """Return the executable of a request from the bytes of :meth:`Executable.serialize`.

        They were stored under the same fingerprint. If this raises anything, the program is
        compiled; errors other than NotLoaded count as errors of the disk.
        """

    @abstractmethod
    def upload(self, array: Any) -> Any:
        """Return an array of a NumPy array's data, of exactly its dtype, in row-major order.

        The NumPy array belongs to the backend from then on.
        """

    @abstractmethod
    def download(self, array: Any) -> Any:
        """Return the data as a new NumPy array; waits, and raises the run's error if it failed."""

    @abstractmethod
    def copy(self, array: Any) -> Any:
        """Return an array of the same data in memory of its own."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return everything outside a program that changes its machine code, as text.

        Versions, flags, the device. The runtime's own source is added to it. A program that was
        stored under another fingerprint is not found.
        """

    @abstractmethod
    def describe(self) -> Mapping[str, str]:
        """Return information for users, by name: ``device`` ("cpu: cpu"), versions.

        Must have ``platform``: "cpu", "gpu", "tpu" or a vendor's own word.
        """

    def devices(self) -> Sequence[str]:
        """Return the names of this process's devices, such as "cpu:0", the default one first."""
        return ("default:0",)

    def upload_to(self, array: Any, placement: Placement) -> Any:
        """Return an array of a NumPy array's data on the devices of a placement, divided so.

        The NumPy array belongs to the backend from then on.
        """
        raise NotImplementedError(f"the backend {self.name} has one device")

    def move(self, array: Any, placement: Placement) -> Any:
        """Return an array of the same data on the devices of a placement; the same if it is there.

        It need not wait for the data.
        """
        raise NotImplementedError(f"the backend {self.name} has one device")

    def device_counts(self) -> Sequence[int]:
        """Return how many devices each of the processes has that run programs together, by rank."""
        return (len(self.devices()),)

    def from_parts(self, array: Any, placement: Placement, shape: tuple[int, ...]) -> Any:
        """Return an array of that shape on a mesh of several processes, of each one's part of it.

        ``array`` is what this process's devices have, side by side, as a NumPy array.
        """
        raise NotImplementedError(f"the backend {self.name} has one device")

    def parts_shape(self, shape: tuple[int, ...], placement: Placement) -> tuple[int, ...]:
        """Return the shape of what this process has of a value on such a mesh.

        Raises PlacementError where its parts do not lie side by side.
        """
        raise NotImplementedError(f"the backend {self.name} has one device")

    def parts(self, array: Any, placement: Placement) -> Any:
        """Return what this process has of an array on such a mesh as a NumPy array; waits."""
        raise NotImplementedError(f"the backend {self.name} has one device")

    def wait(self, array: Any) -> None:
        """Wait until the array is computed; raises the run's error if it failed."""
        self.download(array)

    def wait_for_all(self) -> None:
        """Wait until all arrays that somebody has are computed; raises nothing.

        A backend whose runs return before their results are there overrides it.
        """
        return None

    def is_ready(self, array: Any) -> bool:
        """Return True if the array is computed, or failed; does not wait."""
        return True

    def host_view(self, array: Any) -> Any:
        """Return the data as a NumPy array that the caller only reads, and soon; waits for it.

        It may be the array's own memory, where the host can access that.
        """
        return self.download(array)

    def given_up(self, array: Any) -> Any:
        """Return the data of a computed array that nothing uses again, as a writable NumPy array.

        It may be the array's own memory, where the host can write to that.
        """
        return self.download(array)

    def number(self, array: Any, dtype: str) -> Any:
        """Return the only element of an array of a dtype as a Python number, like NumPy's ``item``.

        Waits, and raises the run's error if it failed. None where :meth:`download` is as fast.
        """
        return None

    def region_kernel(
        self, spec: Spec, types: tuple[TensorType | None, ...]
    ) -> HostKernel | None:
        """Return a kernel of an op at operand types by an active code generator; None if none
        takes it.

        Called for ops that take long, before the host kernel that all backends share is tried.
        """
        return None

    def timed(
        self, generator: Any, region: Any, ends: Callable[[], bool] | None = None
    ) -> list[tuple[float, float]]:
        """Return seconds of runs of a region by its generator, and of its ops by the backend, in
        alternation.

        Raises whatever prevents the measurement, and TimeoutError, between two runs, once
        ``ends()``.
        """
        raise NotImplementedError(f"the backend {self.name} measures no regions")

    def engines_of(
        self, structure: Structure, outputs: Sequence[tuple[int, int]],
        generators: tuple[str, ...],
    ) -> tuple[list[tuple[str, bytes]], int]:  # fmt: skip
        """Build the engines of the parts of a program that code generators of some names take.

        Returns the entries of the disk cache that hold them, as (kind, whole description), for
        ``lazyloom.export``, and the number of parts.
        """
        return [], 0

    def portable(
        self, structure: Structure, outputs: Sequence[tuple[int, int]],
        scalars: Mapping[DType, Sequence[Any]], version: str | None,
    ) -> PortableModule:  # fmt: skip
        """Return a program as a StableHLO portable artifact, for ``lazyloom.export``.

        Its function ``main`` takes the leaves and returns the outputs; the run-time scalars, given
        as numbers by dtype, are constants in it. ``version`` is the StableHLO version to be
        compatible with, None for that of twelve weeks ago.

        Raises NotLowered for an op that it cannot lower, or whose code is part of this process, and
        ArgumentError for a version that cannot be written.
        """
        raise NotImplementedError(f"the backend {self.name} writes no StableHLO")

    def module_text(self, data: bytes) -> str:
        """Return the StableHLO text of a portable artifact, which need not be trusted.

        Raises ArgumentError for bytes that are none, or one of a version that it does not read.
        """
        raise NotImplementedError(f"the backend {self.name} reads no StableHLO")

    def loops(self, program: Program) -> Sequence[tuple[int, int]]:
        """Return the loops in a program as compiled, as (times, ops of the body), for records."""
        return ()

    def is_host(self) -> bool:
        """Return True if its device is the host, so that ops may run one by one as host kernels.

        Programs of such a backend need not be compiled before their first run: they run op by op
        (:mod:`lazyloom.host`), and are compiled in parallel.
        """
        return False

    def compiles_elsewhere(self) -> bool:
        """Return True if another process with the same environment compiles for this device."""
        return False

    def from_dlpack(self, source: Any, copy: bool | None) -> Any:
        """Return an array of the data of an object of the DLPack protocol.

        For ``copy=None`` it shares memory where it can, for False always, for True never. The array
        has ``shape`` and ``dtype``, and itself the methods of the protocol. Raises ValueError where
        it cannot take over the data.
        """
        raise ValueError(f"the backend {self.name} takes no data over by DLPack")

    def lowered_types(
        self, op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        """Return the types of an op's results, for ops without a type rule of their own.

        Those are ops added at run time, which are defined only by a JAX function.
        """
        raise TypeError(
            f"{op.name} has no shape rule, and the backend {self.name} does not know its result "
            "types; register the op with a rule")
