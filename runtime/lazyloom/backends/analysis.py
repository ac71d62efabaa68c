"""What a compiler says of a program that it has compiled: its memory, and its kernels' work."""

from __future__ import annotations

from typing import NamedTuple


class MemoryUse(NamedTuple):
    """The memory of a run, in bytes.

    Attributes:
        arguments, outputs: of the program's inputs and results.
        aliased: of the results, what is written where donated inputs were.
        temporaries: what the program needs beside them while it runs.
        peak: what a run has in memory, inputs and results included.
    """

    arguments: int
    outputs: int
    aliased: int
    temporaries: int
    peak: int


class KernelWork(NamedTuple):
    """The work of a kernel, such as a fusion, in a run of its program.

    Attributes:
        name: the compiler's.
        kind: "fusion", or the instruction that stands alone, such as "dot".
        ops: the numbers of the program's instructions that it computes, or parts of them.
        dtype: of its first result.
        flops: floating-point operations without ``transcendentals``, which are counted one for
            each element.
        nbytes: that it reads and writes.
        times: how often a run has it; 0 for a loop whose length the compiler does not know, of
            which one turn is counted.
    """

    name: str
    kind: str
    ops: tuple[int, ...]
    dtype: str
    flops: float
    transcendentals: float
    nbytes: float
    times: int


class ProgramAnalysis(NamedTuple):
    """What a compiler says of a compiled program.

    Attributes:
        memory: None where it does not say.
        flops, transcendentals, nbytes: of a whole run, as the compiler counts them; None where it
            does not.
        kernels: in the order in which they run.
    """

    memory: MemoryUse | None
    flops: float | None
    transcendentals: float | None
    nbytes: float | None
    kernels: tuple[KernelWork, ...]
