"""Compilation and execution of programs: the interface of a backend, and XLA behind it.

A vendor subclasses :class:`Backend` and :class:`Executable`; what a program is made of, and what a
backend raises, are public names of this package, too. See ``docs/backend.md``. :mod:`.selection`
selects the backend that runs, and :mod:`.xla` is the one that ships.
"""

from .analysis import KernelWork, MemoryUse, ProgramAnalysis
from .backend import (
    Backend,
    Baked,
    Executable,
    Instruction,
    Leaf,
    NotLoaded,
    NotLowered,
    NotPadded,
    Operand,
    Request,
    Result,
    ScalarSlot,
)

__all__ = [
    "Backend", "Baked", "Executable", "Instruction", "KernelWork", "Leaf", "MemoryUse",
    "NotLoaded", "NotLowered", "NotPadded", "Operand", "ProgramAnalysis", "Request", "Result",
    "ScalarSlot",
]  # fmt: skip
