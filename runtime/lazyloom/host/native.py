"""Prebuilt C functions of host kernels.

Most come with an installation: in a library beside the package's modules that its build makes with
the kernels (:mod:`.shipped`). The text of a kernel names its function; where that is not in the
library, the kernel itself runs, until the function is compiled (:mod:`.functions_on_demand`). A
call costs 0.2 us, whatever the number of the op's steps.
"""

from __future__ import annotations

import hashlib
import math
import os
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

from .. import settings
from ..counters import counters
from ..extension import NATIVE
from . import shipped, storage

#: the file's name in the package's folder
NAME: Final = "kernels.so"
#: in its file there follow the library a text that says where it is right, the text's length, this
#: word, and a digest of all that: loading what is not whole may end the process
MAGIC: Final = b"LLNATIVE"
_LENGTH: Final = struct.Struct("<I")
_DIGEST: Final = 32
#: elements of operands and results together, for each call of NumPy that a kernel makes, from which
#: it is as fast: it goes through its arrays in blocks, but once for every call
NATIVE_BELOW_ELEMENTS: Final = 1 << 16
#: multiplications in products that take as long as one call of NumPy
WORK: Final = 5000

_opened: Final[dict[str, Any]] = {}
#: the path that was asked for last, and the library there
_asked: tuple[str, Any] = ("", None)


def path() -> str:
    """Where the library is, if there is one."""
    return os.path.join(os.path.dirname(shipped.path()), NAME)


def level() -> int:
    """The level of x86-64's instructions that this processor has, 1 to 4; 0 on others."""
    return 0 if NATIVE is None else int(NATIVE.level())


def mark(host_fingerprint: bytes) -> str:
    """What a library says of itself that is right for these kernels and this processor."""
    return f"{host_fingerprint.hex()} {level()}"


def library() -> Any:
    """The library, or a text that says why it is not used."""
    global _asked
    kernels = shipped.path()
    if kernels is not _asked[0]:
        _asked = (kernels, shipped.once(_opened, path(), _open))
    return _asked[1]


def made_for_here(kernels: str, every: bool) -> bool:
    """Whether a file of kernels, and the library beside it, are right in this environment.

    ``every``: with all usual kernels.
    """
    host = storage.fingerprint()
    beside = os.path.join(os.path.dirname(os.path.abspath(kernels)), NAME)
    return shipped.is_of(kernels, host, every) and (
        NATIVE is None or not isinstance(opened(beside, mark(host)), str))


def _open(place: str) -> Any:
    if NATIVE is None:
        return "none: what calls them was not compiled"
    if not os.path.exists(place):
        return "none"
    return opened(place, mark(storage.fingerprint()))


def sealed(data: bytes, text: str) -> bytes:
    """The bytes of a library with the text that says where it is right."""
    said = text.encode()
    whole = data + said + _LENGTH.pack(len(said)) + MAGIC
    return whole + hashlib.sha256(whole).digest()


def _text_of(data: bytes) -> str | None:
    """The text of :func:`sealed`; None where the file is not whole."""
    end = len(data) - _DIGEST
    if data[end - len(MAGIC) : end] != MAGIC or hashlib.sha256(
            memoryview(data)[:end]).digest() != data[end:]:
        return None
    end -= len(MAGIC) + _LENGTH.size
    (length,) = _LENGTH.unpack_from(data, end)
    return data[end - length : end].decode()


def opened(place: str, expected: str) -> Any:
    """The library of a file that says that of itself, or why it is not used."""
    try:
        with open(place, "rb") as file:
            said = _text_of(file.read())
        if said == expected:
            return NATIVE.Library(place)
    except OSError as error:
        counters["disk_errors"] += 1
        return f"not used: {error}"
    if said is not None:
        return ("not used: made by other sources, for other versions of jax, jaxlib or NumPy, or "
                "for another processor; install again, or make them by python -m lazyloom kernels")
    counters["disk_errors"] += 1
    return f"not used: {place} is not whole"


def calls_c() -> bool:
    """Whether functions in C can be called: what does so is compiled with the core."""
    return NATIVE is not None


def native(
    name: str, kernel: Callable[..., Any], symbols: tuple[int, ...],
    operands: tuple[tuple[str, tuple[int, ...]], ...],
    results: tuple[tuple[str, tuple[int, ...]], ...], work: int, calls: int,
) -> Callable[..., Any]:
    """The function of that name, or the kernel where that is better or there is no function.

    Args:
        symbols: the function's extents.
        operands, results: (dtype, shape) of each.
        work, calls: multiplications in products and what takes as long, which NumPy's routines do
            several times as fast; and calls of NumPy that the kernel makes.
    """
    if not is_quicker(operands, results, work, calls):
        return kernel
    found = library() if wanted() else ""
    if isinstance(found, str):
        return kernel
    try:
        made: Callable[..., Any] = NATIVE.Native(found, name, symbols, operands, results)
    except LookupError:
        return kernel
    return made


def is_quicker(
    operands: tuple[tuple[str, tuple[int, ...]], ...],
    results: tuple[tuple[str, tuple[int, ...]], ...], work: int, calls: int,
) -> bool:
    """Whether a function is quicker than the kernel; see :func:`native`."""
    elements = 0
    # a generator expression takes longer
    for _, shape in (*operands, *results):
        elements += math.prod(shape)
    return work <= WORK * calls and elements < NATIVE_BELOW_ELEMENTS * max(1, calls // 2)


def is_native(run: Callable[..., Any]) -> bool:
    """Whether that is a function in C, whose results are in memory of their own."""
    return NATIVE is not None and type(run) is NATIVE.Native


def is_awaited(run: Callable[..., Any]) -> bool:
    """Whether that is a kernel in whose place a function in C may come."""
    return NATIVE is not None and type(run) is NATIVE.Awaited


def with_absent(run: Any, present: Sequence[bool]) -> Callable[..., Any]:
    """A function in C that takes None for each operand that is not present."""
    made: Callable[..., Any] = run.with_absent(tuple(present))
    return made


def wanted() -> bool:
    """Whether they are to be used: LAZYLOOM_WITHOUT=c_kernels and LAZYLOOM_KERNELS=0 say no."""
    return "c_kernels" not in settings.WITHOUT and shipped.wanted()


def described() -> str:
    """Whether they are used, or why not; for people."""
    if not wanted():
        return "not used: LAZYLOOM_KERNELS or LAZYLOOM_WITHOUT says so"
    found = library()
    return found if isinstance(found, str) else "used"
