"""From a run to a saved program: by hand (:func:`save_repro`), and of each run that fails."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import platform
import shlex
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from .. import logs, observers, settings
from ..backends.data import host_memory
from ..backends.returned import description
from ..backends.selection import backend
from ..errors import ArgumentError, ExecutionError, LoomError, type_name
from ..evaluate.sync import sync
from ..installed import VERSION
from ..interrupts import reraise_from_handler
from ..placements import DEFAULT_PLACEMENT
from ..program.evaluations import Evaluation
from ..program.plan import Plan
from ..program.program import Program
from ..program.reasons import START
from ..tensor.tensor import Tensor
from ..trace.graph import PENDING, Buffer, Value
from ..trace.source import Site
from ..tree import tree_leaves
from . import saved as files
from .saved import SavedProgram

NAME: Final = "lazyloom.save_repro"
#: the environment variable that names the folder for programs that fail
VARIABLE: Final = "LAZYLOOM_REPRO"
#: how many files one process writes by itself
MOST_FILES: Final = 16
#: the most bytes of inputs that are saved without being asked for
MOST_BYTES: Final = 1 << 30
VALUES: Final = "values"
RANDOM: Final = "random"


class _Taken:
    """A plan that ran, with what holds its inputs."""

    def __init__(self, plan: Plan) -> None:
        self.plan: Final = plan
        self.donatable: Final = list(plan.donatable)
        #: buffers of their own: the plan's let go of their data
        self.leaves: Final = [_held(buffer, plan.evaluation) for buffer in plan.leaves]


def _held(buffer: Buffer, evaluation: Evaluation) -> Buffer:
    origin = buffer.origin
    if buffer.array is None and buffer.host is None and origin is not None and (
        origin is not evaluation
    ):
        # another thread is about to compute it
        origin.dispatched.wait()
    return Buffer(buffer.host, buffer.array, True)


class _Taker(observers.RunObserver):
    """An observer that keeps the plan of this thread that failed, ran longest or ran last."""

    def __init__(self, before: Callable[[_Taken], None] | None) -> None:
        self._thread: Final = threading.get_ident()
        #: called with each plan before it runs
        self._before: Final = before
        self.failed: _Taken | None = None
        self.slowest: _Taken | None = None
        self.last: _Taken | None = None
        self._seconds = -1.0

    def begins(self, plan: Plan) -> _Taken | None:
        if threading.get_ident() != self._thread:
            return None
        taken = _Taken(plan)
        if self._before is not None:
            self._before(taken)
        return taken

    def ended(self, taken: _Taken | None) -> None:
        if taken is None:
            return
        evaluation: Evaluation = taken.plan.evaluation
        self.last = taken
        if evaluation.error is not None and self.failed is None:
            self.failed = taken
        # starting is nobody's fault, and done once
        seconds = evaluation.seconds - evaluation.timings.get(START, 0.0)
        if seconds > self._seconds:
            self._seconds = seconds
            self.slowest = taken


def save_repro(
    path: Any, values_or_function: Any, *arguments: Any,
    kwargs: Mapping[str, Any] | None = None, data: str = VALUES, before: bool = False,
) -> str:
    """:func:`lazyloom.save_repro`, which is there before this module is imported."""
    name = _writable(path)
    if data not in (VALUES, RANDOM):
        raise ArgumentError(f"{NAME}: data is {data!r:.60}, expected {VALUES!r} or {RANDOM!r}")
    is_function = callable(values_or_function) and not isinstance(values_or_function, Tensor)
    if not is_function and (arguments or kwargs):
        raise ArgumentError(
            f"{NAME}: arguments are given with {type_name(values_or_function)}, expected a "
            "function, or values alone")

    def write(taken: _Taken) -> str:
        found = taken_program(taken.plan, taken.leaves, taken.donatable)
        return files.write(name, files.with_random_inputs(found) if data == RANDOM else found)

    def write_before(taken: _Taken) -> None:
        with contextlib.suppress(ArgumentError):
            write(taken)

    taker = _Taker(write_before if before else None)
    if is_function:
        _watched(taker, lambda: _compute(values_or_function(*arguments, **(kwargs or {}))))
    else:
        values = _values(values_or_function)
        if not any(v.node.state == PENDING for v in values):
            raise ArgumentError(
                f"{NAME}: none of the values is pending, or {type_name(values_or_function)} has no "
                "tensors; save them before they are read, or give the function that computes them")
        _watched(taker, lambda: _compute(values_or_function))
    taken = taker.failed or (taker.slowest if is_function else taker.last)
    if taken is None:
        raise ArgumentError(
            f"{NAME}: no program ran while the function did, expected one that computes something; "
            "what it computed before may be known already")
    return write(taken)


def _writable(path: Any) -> str:
    """A path at which a file can be; what is computed for it first is not pending a second time.

    Raises ArgumentError for what is no path, and OSError.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ArgumentError(
            f"{NAME}: path is {type_name(path)}, expected a str, bytes or os.PathLike, and after "
            "it the values or the function")
    name: str = os.fsdecode(path)
    if os.path.isdir(name):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    folder = os.path.dirname(name)
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    return name


def _watched(taker: _Taker, compute: Callable[[], None]) -> None:
    """Compute under the eyes of a taker; raises what is not the error of a program that failed."""
    observers.add(taker)
    try:
        with settings.options(donate=False):
            compute()
    except ExecutionError:
        if taker.failed is None:
            # a condition that the program checks, such as an index that is out of range
            taker.failed = taker.last
        if taker.failed is None:
            raise
    finally:
        observers.remove(taker)


def _values(tree: Any) -> list[Value]:
    tensors: list[Tensor] = list(tree_leaves(tree, Tensor))
    return [*[t.value for t in tensors], *tree_leaves(tree, Value)]


def _compute(tree: Any) -> None:
    values = _values(tree)
    if values:
        sync(values, True)


def taken_program(plan: Plan, leaves: list[Buffer], donatable: list[int]) -> SavedProgram:
    """Return what a plan runs, with its inputs. Raises ArgumentError where it cannot be saved."""
    structure = plan.structure
    for number, instruction in enumerate(structure.instructions):
        spec = instruction.spec
        if spec.fallible or spec.effect or spec.shared or spec.placement is not None:
            what = "is run by several processes together" if spec.shared else (
                "has effects" if spec.effect else
                "moves data between devices" if spec.placement is not None else
                "calls code of this process")
            raise ArgumentError(
                f"{NAME}: the op {spec.op.name}, recorded at {plan.nodes[number].site}, {what}, so "
                "no other process can run the program; save what comes before or after it",
                op=spec.op.name, site=str(plan.nodes[number].site))
    arrays: list[Any] = []
    for k, (buffer, t) in enumerate(zip(leaves, structure.leaf_types, strict=True)):
        if t.placement is not DEFAULT_PLACEMENT:
            raise ArgumentError(
                f"{NAME}: the program runs on {t.placement.text}, expected the default device; "
                "move its inputs there with lazyloom.to_device first")
        if buffer.array is None and buffer.host is None:
            raise ArgumentError(
                f"{NAME}: input {k} of the program, a {t.text}, was given up in a run; set "
                "options(donate=False)")
        arrays.append(np.array(host_memory(buffer)))
    evaluation: Evaluation = plan.evaluation
    error = evaluation.error
    about: dict[str, Any] = {
        "reason": evaluation.reason, "line": _short(evaluation.site),
        "form": evaluation.form, "seconds": evaluation.seconds,
        "error": None if error is None else str(error),
        "data": VALUES, **here(),
    }
    return SavedProgram(
        Program(structure, plan.wanted, donatable), tuple(arrays),
        {d: list(n) for d, n in plan.scalars.items()},
        tuple([_short(n.site) for n in plan.nodes]), about)


def here() -> dict[str, Any]:
    """Return the versions, the processor and the settings of this process, as JSON has them."""
    described = backend().describe()
    return {
        "versions": {"lazyloom": VERSION, "python": platform.python_version(),
                     "numpy": np.__version__,
                     **{k: str(v) for k, v in described.items() if k in ("jax", "jaxlib")}},
        "processor": {"machine": platform.machine(), "system": sys.platform,
                      **{k: str(v) for k, v in description().items()}},
        "options": {k: v for k, v in settings.thread_options().items()
                    if v != settings.DEFAULTS[k]},
        # what is set there may be a path, or a secret of somebody's
        "environment": {k: v for k, v in os.environ.items() if k in (
            "LAZYLOOM_WITHOUT", "LAZYLOOM_REPRODUCIBLE", "LAZYLOOM_EAGER", "LAZYLOOM_CACHE",
            "LAZYLOOM_BACKEND", "LAZYLOOM_DEVICE", "XLA_FLAGS", "JAX_PLATFORMS")},
    }


def _short(site: Site | Any) -> str:
    """A place without the folders of whoever saves the program."""
    file, _, line = str(site).rpartition(":")
    return f"{os.path.basename(file)}:{line}"


class _Failures:
    """What this process has saved by itself.

    Attributes:
        known: the structures, each of which is saved once, with the file.
        inside: threads that save one: what fails meanwhile is not saved.
        told: how often one could not be saved.
        numbers: those of the files, no two of which two threads have.
    """

    def __init__(self) -> None:
        self.known: Final[dict[Any, str]] = {}
        self.inside: Final[set[int]] = set()
        self.told = 0
        self.numbers: Final = itertools.count(1)


_failures: Final = _Failures()


def _unused(folder: str) -> str:
    """A file that is not there; an earlier process may have had this one's number."""
    while True:
        path = os.path.join(
            folder, f"failed-{os.getpid()}-{next(_failures.numbers)}.repro")
        if not os.path.lexists(path):
            return path


def failed(plan: Plan, error: LoomError) -> str:
    """Save a program that failed to the folder that the environment names; how to run it, or "".

    Raises nothing: what cannot be saved is told to the log.
    """
    folder = os.environ.get(VARIABLE, "")
    me = threading.get_ident()
    if not folder or me in _failures.inside:
        return ""
    path = _failures.known.get(plan.structure)
    _failures.inside.add(me)
    try:
        if path is None:
            # a program that fails in a loop would say so in a loop
            if max(len(_failures.known), _failures.told) >= MOST_FILES:
                return ""
            size = sum([t.nbytes for t in plan.structure.leaf_types])
            # before they are copied
            if size > MOST_BYTES:
                raise ArgumentError(
                    f"its inputs have {size} bytes, expected at most {MOST_BYTES}; save it with "
                    "lazyloom.save_repro")
            found = taken_program(plan, list(plan.leaves), list(plan.donatable))
            found = found._replace(about={**found.about, "error": str(error)})
            os.makedirs(folder, exist_ok=True)
            path = files.write(_unused(folder), found)
            _failures.known[plan.structure] = path
    except Exception as problem:
        # an input may have failed itself; the error that is told is the program's
        reraise_from_handler(problem)
        _failures.told += 1
        logs.say("run", logs.WARNING, f"Lazyloom could not save the program that failed, as "
                 f"{VARIABLE} asks: {problem}")
        return ""
    finally:
        _failures.inside.discard(me)
    return f"the program is saved: python -m lazyloom repro {shlex.quote(path)}"

