"""Memory checks before a run or a compilation begins.

A backend reports that it could not allocate a result while the program is running, when donated
inputs are already lost. If its own parts get no memory (threads, machine code, scratch memory of a
product), XLA ends the process or, close to a limit of the address space (``ulimit -v``), leaves a
result unwritten, as it does under ``jax.jit``. So the memory that is known to be needed is
requested, and released, beforehand; where the address space is limited, so is some room for those
parts.

Only address space can be requested: memory that the system promises but does not have
(overcommitted memory, the limit of a control group) shows only when it is touched.
"""

from __future__ import annotations

import mmap

from .settings import tuning

try:
    import resource
except ImportError:  # no such limits on this system
    resource = None  # type: ignore[assignment]

#: true if the address space of the process is limited, as of the last compilation
limited = False


def limit_of(name: str) -> int | None:
    """A limit of the process in bytes, None if there is none."""
    if resource is None or not hasattr(resource, name):
        return None
    soft = resource.getrlimit(getattr(resource, name))[0]
    return None if soft == resource.RLIM_INFINITY else soft


def look() -> bool:
    """Find out whether the address space of the process is limited; return True if it is."""
    global limited
    limited = limit_of("RLIMIT_AS") is not None
    return limited


def to_compile() -> None:
    """Raise MemoryError if there is too little room to compile a program, or to load one."""
    if look():
        require(tuning.compile_room, "to compile a program")


def to_run(needs: int) -> None:
    """Raise MemoryError if a run cannot have the bytes that it needs."""
    require(needs + tuning.run_room if limited else needs, "to run it")


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
