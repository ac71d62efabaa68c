"""The errors that a caller can meet, each with its cause and its repair.

Every error derives from :class:`LoomError` and carries ``code``, the number that the
C ABI reports (``loom_status``), and, where they are known, ``op`` and ``site``
(the user's ``file:line``). Most also derive from the built-in exception that
Python programs expect (``TypeError``, ``ValueError``, ...).
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final


def type_name(x: object) -> str:
    """The class of an object with its package, such as ``torch.Tensor`` or ``int``.

    For messages: the class given often has the same name as the class expected.
    """
    cls = type(x)
    parts = [] if cls.__module__ == "builtins" else cls.__module__.split(".")
    private = next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))
    return ".".join([*parts[:private], cls.__qualname__])


def of_shadowed_module(error: object) -> str:
    """Advice for an error that a user's file may cause by shadowing a standard module.

    A ``json.py`` beside a script hides Python's own from everything that is imported after it.
    Empty for errors of other classes, and if there is no such file.
    """
    if not isinstance(error, (ImportError, AttributeError)):
        return ""
    place = os.path.dirname(os.path.realpath(os.__file__))
    for name in sorted(sys.stdlib_module_names):
        module: Any = sys.modules.get(name)
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and not os.path.realpath(path).startswith(place + os.sep):
            folders = {os.path.realpath(folder) for folder in sys.path[:1]}
            if os.path.dirname(os.path.realpath(path)) in folders:
                return (f". The module {name} is {path} here, not Python's own, which lazyloom or "
                        "JAX needs: give that file another name")
    return ""


class LoomError(Exception):
    """Any error raised by lazyloom.

    Example:

        >>> try:
        ...     np.ones(2) + np.ones(3)
        ... except lazyloom.LoomError as error:
        ...     print(type(error).__name__)
        ShapeError
    """

    code = 1
    op: str | None = None
    site: str | None = None
    #: of a failed run: it was raised to a reader
    raised = False
    #: of a failed run: the numbers of the nodes that failed with it
    reached: frozenset[int] | set[int] = frozenset()

    def __init__(self, message: str, *, op: str | None = None, site: str | None = None) -> None:
        super().__init__(message)
        self.op = op
        self.site = site


class ArgumentError(LoomError, ValueError):
    """An operand, attribute or argument has a value that the op does not accept.

    Given: ``apply("sum", [x], {"axes": (5,)})`` with ``x`` of rank 2. Repair: name
    an axis between ``-2`` and ``1``.
    """

    code = 2


class ShapeError(ArgumentError):
    """Shapes do not fit: broadcasting, contraction, concatenation or a reshape.

    Given: adding shapes ``(3,)`` and ``(4,)``. Repair: reshape one side so that
    each dimension is equal or 1.
    """

    code = 3


class PlacementError(ArgumentError, RuntimeError):
    """Values lie on different devices, or cannot be divided over a mesh as asked.

    Given: ``x + y`` with ``x`` on ``cpu:1`` and ``y`` on ``cpu:2``. Repair: move one to the other's
    device with ``lazyloom.to_device``.
    """


class DTypeError(LoomError, TypeError):
    """An element type is unknown, or not one that the op accepts.

    Given: ``bitwise_and`` of float32. Repair: cast first; ops never promote.
    """

    code = 4


class UnknownOpError(LoomError, LookupError):
    """No op of that name is in the table.

    Repair: see ``lazyloom.ops.names()`` for the names.
    """

    code = 5


class ExecutionError(LoomError, RuntimeError):
    """Compiling or running a program failed.

    Raised where a value is read that depends on what failed, again for each later reader.
    What failed is the op, if it cannot be compiled or is one that may fail while it runs,
    else the whole program.
    """

    code = 6


class OutOfMemoryError(ExecutionError, MemoryError):
    """There was not enough memory to compile or run a program, or to copy its results.

    Tensors that the program should write in place keep their previous contents, unless it had
    already taken their memory (:func:`lazyloom.options`). Repair: compute with less at a time.
    """

    code = 14


class DonatedError(ExecutionError):
    """The value's buffer was taken by a run that then failed, so it is lost.

    Repair: run with ``lazyloom.options(donate=False)`` if a failed step must not lose
    its inputs.
    """

    code = 7


class GradientError(LoomError, RuntimeError):
    """A gradient was requested that does not exist.

    Given: the gradient of an integer value, of a value that requires none, or a
    second one through a tape that was freed.
    """

    code = 8


class AliasError(LoomError, ValueError):
    """A write through a view that cannot be written (a broadcast, a read-only array)."""

    code = 9


class HandleError(LoomError, ValueError):
    """A handle of the C ABI is stale, of another kind, or was never given out."""

    code = 10


class ForkError(LoomError, RuntimeError):
    """The process was forked after lazyloom had started; the child cannot use it.

    Repair: start workers with the ``spawn`` or ``forkserver`` method, or fork
    before the first operation.
    """

    code = 11


class ReadForbiddenError(LoomError, RuntimeError):
    """A value was read while ``lazyloom.options(reads="error")`` was in force, by a code
    generator while the program waits for it, or by a signal's handler that interrupted the run
    which computes it."""

    code = 12


class IndexRangeError(ExecutionError, IndexError):
    """An index that was computed on the device is out of range.

    Given: ``x[i]`` with ``x`` of size 3 and ``i`` computed to be 5. Raised where something
    that depends on it is read, since it is not known earlier; indices known on the host raise
    at the call. Repair: correct the index, or clip it.
    """

    code = 13


class NewProgramError(ExecutionError):
    """A program would run for the first time, in this process and by the disk cache, while
    ``lazyloom.options(compiles="error")`` was in force.

    Given: a step whose batch is smaller this time. The message says how the program differs from
    the nearest known one. What was to be computed has failed. Repair: keep shapes, dtypes and the
    ops of a step the same, or let new programs run outside the option.
    """


class TransferError(LoomError, RuntimeError):
    """Data of more than one element went from the host to a tensor, or back, while
    ``lazyloom.options(transfers="error")`` was in force.

    Given: ``x + numpy.arange(5)`` in a step. Repair: make the tensor once, before the loop, or
    compute the data with ops; read less, and outside the option.
    """


class FallbackError(ExecutionError):
    """Something ran, or was to run, in another way than asked for, while
    ``lazyloom.options(fallbacks="error")`` was in force.

    Given: ``jit(step)(x)`` of a function that reads a tensor, whose calls are recorded. The message
    says why. Repair: what it names, or allow it.
    """


class NaNError(LoomError, FloatingPointError):
    """An op gave a NaN, and none of its operands has one, while ``lazyloom.options(nan="error")``
    was in force.

    Given: ``numpy.log(x)`` with an element of ``x`` below zero. Repair: keep the operands where the
    function is defined.
    """


class PerformanceWarning(UserWarning):
    """What a strict mode of :func:`lazyloom.options` that is "warn" found, once for each line.

    Example:

        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught, lazyloom.options(reads="warn"):
        ...     warnings.simplefilter("always")
        ...     total = float(np.arange(3.0).sum() + 1)
        >>> [w.category.__name__ for w in caught]
        ['PerformanceWarning']
    """


class DistributedError(ExecutionError):
    """Processes that compute together do not: one is missing, has ended or does something else.

    The message names its rank. Nothing that depends on other processes can be computed any more in
    this process. Repair: start all of them again, from a checkpoint.
    """


#: one number: how often the error of a failed run was raised to a reader
reports: Final[list[int]] = [0]
#: one number: how often the program was told that its processes cannot go on together
distributed_reports: Final[list[int]] = [0]


def reraised(error: LoomError) -> LoomError:
    """A fresh copy of a stored error, so that each reader gets its own traceback."""
    error.raised = True
    reports[0] += 1
    if isinstance(error, DistributedError):
        distributed_reports[0] += 1
    copy = type(error)(str(error), op=error.op, site=error.site)
    copy.__cause__ = error.__cause__
    for note in getattr(error, "__notes__", ()):
        copy.add_note(note)
    return copy


def printable(text: object) -> str:
    """Return a text of one line, in which all that a terminal acts on or cannot show is escaped."""
    return "".join([
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text)])
