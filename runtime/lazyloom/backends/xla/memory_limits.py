"""Whether there is memory for what is about to be done, asked before it is begun.

XLA reports memory that it could not have for a result when the program is under way, with the
inputs that it was given lost. Where its own parts find no memory (threads, machine code, scratch
memory of a product) it ends the process or, close to a limit of the address space (``ulimit -v``),
leaves a result as it found it, as it does under ``jax.jit``. So what is known to be needed is asked
for, and given back, before; where the address space is limited, so is some room for those parts.

Only address space can be asked for: what the system promises and does not have (overcommitted
memory, the limit of a control group) nobody knows before it is touched.
"""

from __future__ import annotations

import mmap
import os
import sys
from typing import Final

try:
    import resource
except ImportError:  # no such limits on this system
    resource = None  # type: ignore[assignment]

#: room for a run, and for a compilation, where the address space is limited
TO_RUN: Final = 32 << 20
TO_COMPILE: Final = 96 << 20
#: what XLA's client takes at least: its libraries, and threads with their stacks and arenas
#: (measured on two processors: 1,241 MB, of which this is 1,164)
_LIBRARIES: Final = 300 << 20
_THREADS: Final = 8 + 2 * min(os.cpu_count() or 1, 2)
_ARENA: Final = 64 << 20

#: the address space of the process is limited; as of the last compilation
limited = False


def _limit(name: str) -> int | None:
    """A limit of the process in bytes, None where there is none."""
    if resource is None or not hasattr(resource, name):
        return None
    soft = resource.getrlimit(getattr(resource, name))[0]
    return None if soft == resource.RLIM_INFINITY else soft


def to_start(loaded: bool) -> None:
    """Raise MemoryError if XLA's client, whose libraries may be loaded, cannot start."""
    global limited
    limited = _limit("RLIMIT_AS") is not None
    if limited:
        stack = _limit("RLIMIT_STACK") or 2 << 20
        arena = _ARENA if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ else 0
        require(_THREADS * (stack + arena) + (0 if loaded else _LIBRARIES), "to start XLA")


def to_compile() -> None:
    """Raise MemoryError if there is too little room to compile a program, or to load one."""
    global limited
    limited = _limit("RLIMIT_AS") is not None
    if limited:
        require(TO_COMPILE, "to compile a program")


def to_run(needs: int) -> None:
    """Raise MemoryError if a run that asks for that much cannot have it."""
    require(needs + TO_RUN if limited else needs, "to run it")


def require(size: int, purpose: str) -> None:
    """Raise MemoryError if the process cannot have that many more bytes now."""
    flags = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
    if not flags:
        return
    try:
        mmap.mmap(-1, size, flags=flags).close()
    except (OSError, ValueError, OverflowError) as error:
        raise MemoryError(
            f"out of memory: {size:,} bytes {purpose} cannot be had") from error
