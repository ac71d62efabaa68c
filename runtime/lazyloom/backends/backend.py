"""The interface of a backend: what compiles programs and holds the data that they work on.

The runtime above calls nothing else of it. Programs come as a
:class:`~lazyloom.program.program.Structure`, whose instructions are ops of the table with their
operand types. An array is whatever the backend makes one: it has ``shape``, a tuple, and ``dtype``,
a NumPy dtype or what is equal to one, and nothing above looks further inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..host.kernel import HostKernel
from ..ops.spec import OpDef
from ..program.program import Instruction, Program, Structure
from ..program.regions import NO_REGIONS, PartRun, ProgramRegions
from ..program.stream import Leaf, Operand, Result, ScalarSlot
from ..trace.scalars import Baked
from ..trace.specs import Spec
from ..types import TensorType

__all__ = [
    "Backend", "Baked", "Executable", "Instruction", "Leaf", "NotLoaded",
    "NotLowered", "NotPadded", "Operand", "Request", "Result", "ScalarSlot",
]  # fmt: skip


class Request(NamedTuple):
    """A program to compile.

    Attributes:
        structure: the instructions, in order, and the types of the leaves.
        outputs: the results to return, as (instruction, result), in order.
        aliases: leaves that the run may overwrite: number of the leaf -> position in ``outputs``
            of the result, of equal type, that may take its memory.
        generators: the names of the code generators that may take parts of it
            (:mod:`lazyloom.codegen`), those that win first.
        verify: compare what they give with what the backend gives, at each run.
        segmented: run their parts, and what lies between, one by one.
    """

    structure: Structure
    outputs: tuple[tuple[int, int], ...]
    aliases: Mapping[int, int]
    generators: tuple[str, ...] = ()
    verify: bool = False
    segmented: bool = False


class NotLowered(Exception):
    """The op of instruction ``number`` could not be lowered; the cause says why.

    What does not depend on the instruction runs without it.
    """

    def __init__(self, number: int, cause: Exception) -> None:
        super().__init__(number)
        self.number: int = number
        # compiled code that raises does not set it
        self.__cause__ = cause


class NotLoaded(Exception):
    """A stored program is as it should be, but something that it needs does not work here."""


class NotPadded(Exception):
    """The program of a structure with padding cannot be made; the text says why."""


class Executable(ABC):
    """A compiled program.

    Attributes:
        run: ``run(*arguments)`` takes one array a leaf, then one vector of run-time scalars for
            each dtype of ``structure.scalar_counts``, in that order, then for a structure with
            padding the vector of the extents that hold, an int64 a symbol. It returns the list of
            results, and need not wait for them; what goes wrong before or after it returns is
            raised by it, or by whatever waits for a result. What the first run of a program
            returns is compared with the number and the types of its outputs.
        direct: ``run`` is one call into foreign code, which runs no Python code (so no handler of
            a signal) before it has returned the results.
        needs: how many bytes to look for before each run, 0 where that is little or not known.
        timings: seconds by phase (``lower``, ``compile``), for the evaluation's record.
        regions: what other code generators run of it. Where one of them failed at a part, the
            program is not stored: another process may do better.
        further: None, or ``further(arguments, private)``, called before each run with all other
            arguments and whether each leaf's memory is the runtime's own (None where that is not
            known). It returns a list of what ``run`` takes behind them.
        segmented: its parts run one by one, and :meth:`parts` says what each took.
    """

    __slots__ = ("run", "direct", "needs", "timings")

    regions: ProgramRegions = NO_REGIONS
    further: Callable[[list[Any], list[bool] | None], list[Any]] | None = None
    segmented: bool = False
    run: Callable[..., list[Any]]
    direct: bool
    needs: int
    timings: Mapping[str, float]

    @abstractmethod
    def serialize(self) -> bytes:
        """The program as :meth:`Backend.load` takes it. Raises where it cannot be kept."""

    def parts(self) -> tuple[PartRun, ...]:
        """What this thread's newest run consisted of, where the program is segmented."""
        return ()


class Backend(ABC):
    """A compiler with a device. One object serves the process; all threads call it.

    Attributes:
        name: part of the disk cache's keys, so that no backend finds another's programs.
    """

    name: str

    @abstractmethod
    def compile(self, request: Request) -> Executable:
        """Compile a program.

        Raises NotLowered for an op that it cannot do, MemoryError, and for a structure with padding
        NotPadded where it does not do that.
        """

    @abstractmethod
    def load(self, data: bytes, request: Request) -> Executable:
        """The executable of that request from :meth:`Executable.serialize`'s bytes.

        They were stored under the same fingerprint. Whatever this raises has the program compiled;
        what is not NotLoaded counts as an error of the disk.
        """

    @abstractmethod
    def upload(self, array: Any) -> Any:
        """An array of a NumPy array's data, of exactly its dtype, the elements in row-major order.

        The NumPy array belongs to the backend from then on.
        """

    @abstractmethod
    def download(self, array: Any) -> Any:
        """The data as a fresh NumPy array; waits, and raises the run's error if it failed."""

    @abstractmethod
    def copy(self, array: Any) -> Any:
        """An array of the same data in memory of its own."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Everything outside a program that changes what it is compiled to, as text.

        Versions, flags, the device. The runtime's own source is added to it. A program that was
        stored under another fingerprint is not found.
        """

    @abstractmethod
    def describe(self) -> Mapping[str, str]:
        """Name and value of what users are told: ``device`` ("cpu: cpu"), versions.

        Must have ``platform``: "cpu", "gpu", "tpu" or a vendor's own word.
        """

    def wait(self, array: Any) -> None:
        """Wait until the array is computed; raises the run's error if it failed."""
        self.download(array)

    def is_ready(self, array: Any) -> bool:
        """Whether the array is computed, or failed; does not wait."""
        return True

    def host_view(self, array: Any) -> Any:
        """The data as a NumPy array that the caller only reads, and soon; waits for it.

        It may be the array's own memory, where that can be seen from the host.
        """
        return self.download(array)

    def given_up(self, array: Any) -> Any:
        """The data of a computed array that nobody uses again, as a NumPy array to write to.

        It may be the array's own memory, where the host can write to that.
        """
        return self.download(array)

    def number(self, array: Any, dtype: str) -> Any:
        """The only element of an array of the named dtype as a Python number, as NumPy's ``item``.

        Waits, and raises the run's error if it failed. None where :meth:`download` is as quick.
        """
        return None

    def region_kernel(
        self, spec: Spec, types: tuple[TensorType | None, ...]
    ) -> HostKernel | None:
        """One op at operand types by a code generator in use; None where none takes it.

        Asked for ops that take long, before the host kernel that all backends share is.
        """
        return None

    def timed(self, generator: Any, region: Any) -> list[tuple[float, float]]:
        """Seconds of runs of a region by its generator, and of its ops by the backend, by turns.

        Raises whatever keeps it from being measured.
        """
        raise NotImplementedError(f"the backend {self.name} measures no regions")

    def loops(self, program: Program) -> Sequence[tuple[int, int]]:
        """What of a program is compiled as loops, as (times, ops of the body); for the record."""
        return ()

    def is_host(self) -> bool:
        """Whether its device is the host, so that ops may run one by one as host kernels.

        Programs of such a backend need not be compiled before their first run: they run op by op
        (:mod:`lazyloom.host`), and compiling goes on beside them.
        """
        return False

    def compiles_elsewhere(self) -> bool:
        """Whether another process with the same environment compiles for this one's device."""
        return False

    def from_dlpack(self, source: Any, copy: bool | None) -> Any:
        """An array of the data of an object of the DLPack protocol.

        It shares memory where it can for None, always for False, never for True. The array has
        ``shape`` and ``dtype``, and itself the methods of the protocol. Raises ValueError where it
        cannot take the data over.
        """
        raise ValueError(f"the backend {self.name} takes no data over by DLPack")

    def lowered_types(
        self, op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        """The types of an op's results, for ops without a shape rule of their own.

        Those are ops added at run time, which are defined by a JAX function and nothing else.
        """
        raise TypeError(
            f"{op.name} has no shape rule, and the backend {self.name} does not know its result "
            "types; register the op with a rule")
