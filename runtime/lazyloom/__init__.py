"""Lazyloom: a lazy tensor runtime that many frontends share.

Operations are recorded as a program runs and compiled by XLA when a value is needed. This
package is the language-neutral runtime; ``lazyloom_numpy`` and ``lazyloom_torch`` are
frontends, and ``lazyloom.h`` is the C interface.

Importing it changes no setting of JAX, starts no thread and initialises no device.
"""

from __future__ import annotations

import os as _os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# first: code in C that imports it, as ml_dtypes has, prints the reason where it cannot be had
import numpy as _numpy  # noqa: F401

from . import capture, dtypes, errors, frontend, ops, testing
from .artifact.exporting import export
from .artifact.exporting_onnx import export_onnx, save_onnx
from .artifact.loading import ExportedFunction, load
from .autodiff.api import grad, value_and_grad
from .autodiff.backward import backward, gradients
from .autodiff.backward import make_leaf as _make_leaf
from .autodiff.history import (
    Place,
    Step,
    custom_rule,
    folded,
    forget_since,
    free_tape,
    parents,
    result_of,
    used_since,
)
from .autodiff.jacobians import hessian, jacfwd, jacobian, jacrev
from .autodiff.linear import jvp, linearize, tangents, vjp
from .backends.backend import Backend
from .backends.selection import backend as _backend
from .backends.selection import use_backend
from .batching.vmap import vmap
from .cache import memory as _memory
from .capture.function import jit
from .compiled import COMPILED as _COMPILED
from .control_flow.cond import cond
from .control_flow.mesh_axes import axis_index
from .control_flow.scan import scan
from .control_flow.shard_map import shard_map
from .control_flow.while_loop import while_loop
from .dtypes import DType
from .errors import LoomError, PerformanceWarning
from .evaluate import previews as _previews
from .evaluate import reading as _reading
from .evaluate import sync as _sync
from .evaluate.checks import Check
from .evaluate.checks import register as register_check
from .evaluate.cuts import cut_grown as _cut_grown
from .evaluate.eager import run_recorded as _run_recorded
from .evaluate.marks import mark_dynamic as _mark_dynamic
from .evaluate.marks import mark_static as _mark_static
from .hooks import hooks as _hooks
from .installed import VERSION as _VERSION
from .locks import DEBUG as _DEBUG_LOCKS
from .locks import check_writes as _check_writes
from .ops.spec import OpDef
from .ops.spec import lookup as _lookup
from .ops.spec import op as register_op
from .placements import Mesh, Placement
from .program.evaluations import Evaluation, evaluations, last_evaluation, stats
from .program.program import Program
from .settings import get_option, options, set_option
from .sources import show as _show_sources
from .tensor.apply import apply
from .tensor.bounds import check_indices
from .tensor.creation import created
from .tensor.host import (
    dlpack_device,
    from_dlpack,
    from_host,
    known_bounds,
    known_range,
    platform,
    to_dlpack,
)
from .tensor.placing import default_device, devices, make_mesh, placement_of, shard, to_device
from .tensor.storage import Storage
from .tensor.tensor import Tensor
from .trace.custom_derivatives import custom
from .trace.graph import Value, last_sequence
from .trace.graph import check_process as _check_process
from .trace.graph import trace as _trace
from .trace.recording import record, record_number, record_one, record_spec, record_two
from .trace.scalars import Scalar
from .trace.source import (
    Site,
    clear_site,
    name_site,
    set_site,
    skip_folder,
    skip_packages,
    user_packages,
)
from .trace.specs import Spec, spec_of
from .trace.switches import grad_enabled, grad_mode, set_grad_enabled
from .tree import flatten as tree_flatten
from .tree import tree_map
from .types import TensorType, tensor_type

__version__ = _VERSION


def _loops(program: Program) -> Sequence[tuple[int, int]]:
    return _backend().loops(program)


def _verdicts() -> bytes | None:
    # slow to import, and not needed for a program that ran before
    from .execute.measuring import on_disk

    return on_disk()


def _failed(plan: Any, error: LoomError) -> str:
    # as above
    from .repro.taking import failed

    return failed(plan, error)


def _measure(candidates: Sequence[Any]) -> None:
    from .execute.measuring import measure

    measure(candidates)


def _carrying() -> Any:
    # as above
    from .execute import carrying

    return carrying


_hooks.read = _reading.read
_hooks.read_number = _reading.read_number
_hooks.as_leaf = _make_leaf
_hooks.recorded = _run_recorded
_hooks.grown = _cut_grown
_hooks.loops = _loops
_hooks.verdicts = _verdicts
_hooks.measure = _measure
_hooks.ran_before = _memory.ran_before
_hooks.carrying = _carrying
if _os.environ.get("LAZYLOOM_REPRO"):
    _hooks.failed = _failed
_hooks.version = __version__

if _COMPILED:
    _show_sources(__name__)
if _DEBUG_LOCKS:
    _check_writes()

_profiled = _os.environ.get("LAZYLOOM_PROFILE")
if _profiled:
    from .profiling.watching import watch_process as _watch_process

    _watch_process(_profiled)


_monitored = _os.environ.get("LAZYLOOM_TOP", "0")
if _monitored not in ("", "0"):
    from .monitoring.server import begin_as_asked as _begin_as_asked

    _begin_as_asked()


def _values(items: Iterable[Any], function: str) -> list[Value]:
    values = [v.value if isinstance(v, Tensor) else v for v in items]
    for i, v in enumerate(values):
        if not isinstance(v, Value):
            raise errors.ArgumentError(
                f"{function}: argument {i} is a {type(v).__name__}, expected a tensor or a Value")
    return values


def spec(op: str | OpDef, arity: int, attributes: Mapping[str, Any] | None = None) -> Spec:
    """An op with its attributes and number of operands, ready for :func:`record_spec`.

    A frontend looks up the specs that it records often once. Raises UnknownOpError, ArgumentError.

    Example:

        >>> roll = lazyloom.spec("roll", 1, {"shifts": (1,), "axes": (0,)})
        >>> lazyloom.record_spec(roll, [lazyloom.from_host([1.0, 2.0, 3.0])]).read()
        array([3., 1., 2.])
    """
    return spec_of(op if isinstance(op, OpDef) else _lookup(op), attributes, arity)


def source(
    op: str | OpDef, operands: Sequence[Value | Scalar | None],
    attributes: Mapping[str, Any] | None = None,
) -> Any:  # fmt: skip
    """:func:`record` for creation: the result is the boundary of its own program.

    So a loop's first iteration, which starts from created values, has the same program as the
    later ones. A small array that is filled with a number is made at once.

    Example:

        >>> fill = lazyloom.Scalar(0.5, lazyloom.dtypes.float32)
        >>> created = lazyloom.source("full", [fill], {"shape": (2000, 2000)})
        >>> doubled = lazyloom.record("add", [created, created])
        >>> [len(program.ops) for program in lazyloom.programs_of(doubled)]
        [1, 1]
    """
    made = created(op, operands, attributes)
    return record(op, operands, attributes, boundary=True) if made is None else made


def boundary(value: Value) -> Value:
    """Make a pending value the boundary of its own program (see :func:`source`).

    Example:

        >>> x = lazyloom.boundary(lazyloom.record("exp", [lazyloom.from_host([0.0, 1.0])]))
        >>> y = lazyloom.record("add", [x, x])
        >>> [len(program.ops) for program in lazyloom.programs_of(y)]
        [1, 1]
    """
    _check_process()
    _values([value], "boundary")
    with _trace.lock:
        value.node.boundary = value.is_pending
    return value


def sync(*values: Any, wait: bool = False) -> None:
    """Hand the pending work of some tensors or values, or without arguments all of it, to XLA.

    Args:
        wait: also wait until it has run, and raise its error; without tensors, until all that was
            ever handed over has run, whose errors are raised where values are read.

    Example:

        >>> x = np.arange(3.0) + 1
        >>> lazyloom.sync(x, wait=True)
    """
    _sync.sync(_values(values, "sync") if values else None, wait)


def sync_older(sequence: int) -> None:
    """Hand to XLA the pending work that this thread began up to ``last_sequence() == sequence``.

    A value that a loop updates at every step and reads only at the end (a metric, an average) is
    a chain that keeps the results of every step alive.

    Example:

        >>> mean = np.zeros(3)
        >>> for step in range(1, 5):
        ...     before = lazyloom.last_sequence()
        ...     mean = mean + (step - mean) / step
        ...     lazyloom.sync_older(before)  # the step before, not this one
        >>> mean
        array([2.5, 2.5, 2.5])
    """
    _sync.sync_older(sequence)


def finish_compiling(timeout: float | None = None) -> bool:
    """Wait until nothing is being compiled beside the program, or waits to be.

    For measuring how long a program takes once it runs whole; programs need not call it.

    Args:
        timeout: seconds after which to give up; None for no limit.

    Returns:
        True if nothing was left.

    Example:

        >>> for _ in range(3):
        ...     total = float((np.ones((40, 40)) @ np.ones(40)).sum())
        >>> lazyloom.finish_compiling(timeout=60)
        True
    """
    # slow to import, and not needed before the first program
    from .execute.compiling import background

    return background.wait(timeout)


def mark_dynamic(
    value: Any, axis: int, *, min: int | None = None, max: int | None = None  # noqa: A002
) -> None:
    """Declare that an extent of an input changes from run to run.

    Programs that differ only in that extent are then padded to one (``docs/forms.md``) as soon as a
    second extent is seen; without the mark, once padding has paid. Call it for each new input; a
    pending value is computed first. Results are those without padding, up to the order of sums.

    Args:
        value: a tensor or value.
        axis: the axis, which may count from the end.
        min: the smallest extent that will occur, if it is known.
        max: the largest one: one program then serves all extents.

    Raises:
        ArgumentError: there is no such axis, or the extent is not within the bounds.

    Example:

        >>> for n in (7, 9):
        ...     batch = np.ones((n, 4))
        ...     lazyloom.mark_dynamic(batch, 0, max=32)
        ...     print(float((batch * 2).sum()))
        56.0
        72.0
    """
    _mark_dynamic(_values([value], "mark_dynamic")[0], axis, min, max)


def mark_static(value: Any, axis: int | None = None) -> None:
    """Declare that an extent of an input (None: each of them) is never padded.

    Raises ArgumentError if there is no such axis.

    Example:

        >>> weights = np.ones((4, 4))
        >>> lazyloom.mark_static(weights)
    """
    _mark_static(_values([value], "mark_static")[0], axis)


def read_for_shape(value: Any, function: str) -> Any:
    """The data of a tensor or value on which the shape of a function's result depends.

    It is a read like any other, but the evaluation's record says, for example, "shape of nonzero",
    and ``stats()["host_reads_of_data_dependent_shapes"]`` counts it.

    Example:

        >>> mask = np.asarray([1.0, -1.0, 2.0]) > 0
        >>> int(lazyloom.read_for_shape(mask.sum(), "nonzero"))
        2
        >>> lazyloom.last_evaluation().reason
        'shape of nonzero'
    """
    return _reading.read_for_shape(_values([value], "read_for_shape")[0], function)


def programs_of(*values: Any) -> list[Program]:
    """The programs that reading these pending values would run, in order; nothing runs.

    Usually there is one. An op that can fail while it runs has a program without unrelated ops, and
    the programs that values need across a boundary come first. Raises ArgumentError if none of the
    values is pending.

    Example:

        >>> x = np.asarray([1.0, 2.0])
        >>> y = x * 2
        >>> len(lazyloom.programs_of(y, y + 1)), len(lazyloom.programs_of(np.sin(x), np.cos(x)))
        (1, 2)
    """
    return _previews.programs_of(_values(values, "programs_of"))[0]


def program_of(*values: Any) -> Program:
    """The program that computes these pending values, as :func:`programs_of` returns it.

    Raises ArgumentError if none of the values is pending, or more than one program computes
    them.

    Example:

        >>> print(lazyloom.program_of(np.sin(np.zeros(3)) + 1).text())
        program(%in0: float64[3] donated) {
          %0 = sin(%in0) : float64[3]
          %1 = add(%0, 1:float64) : float64[3]
          return %1
        }
    """
    programs, computing = _previews.programs_of(_values(values, "program_of"))
    if len(computing) > 1:
        raise errors.ArgumentError(
            f"program_of: {len(computing)} programs compute the given values; ask for one of them, "
            "or for all programs with programs_of")
    return programs[computing.pop()]


def visualize_sharding(x: Any) -> Any:
    """A picture of how an array lies on devices: ``print`` it, or let a notebook draw it.

    Two dimensions are shown as rows and columns: the first two that a mesh divides, or that there
    are. Where it divides more, there is a grid for each block of the others. A pending result whose
    division XLA chooses is computed first.

    Args:
        x: a tensor or a value, of any shape and dtype.

    Returns:
        an object with the picture as text (``str``), as SVG (``svg()``, ``save(path)``), and with
        ``blocks``: for each part of the array its ``ranges``, a first index and an end for each
        dimension, and the ``devices`` that have it.

    Raises:
        ArgumentError: ``x`` is no tensor.

    Example:

        >>> print(lazyloom.visualize_sharding(np.ones((2, 2))))
        float64[2,2] on cpu:0
               0:2
            ┌───────┐
        0:2 │ cpu:0 │
            └───────┘
    """
    # rarely needed
    from .tensor.sharding_picture import visualize_sharding as picture

    return picture(x)


def profile(path: Any = None, *, sources: bool = True) -> Any:
    """Return a context that watches what runs in it, in all threads, to tell why it is slow.

    ::

        with lazyloom.profile("run.html") as watched:
            train()
        print(watched.report)

    A thread looks at where the program is, 200 times a second; each run of a program, each read and
    each upload is noted, which takes some ten microseconds a run. A process makes one profile at a
    time.

    Args:
        path: a file for the report, written at the end, also if the program fails: a page for
            ``.html``, the same data for ``.json``, a timeline for Perfetto for ``.trace.json``,
            text for any other name; None writes none.
        sources: whether the report may have lines of the program's source.

    Returns:
        the context; when it has ended, its ``report`` has ``findings`` (each with ``rule``,
        ``line``, ``seconds``, ``text``, ``evidence``), ``text()``, ``data`` and ``save(path)``.

    Raises:
        ArgumentError: a second profile begins before the first has ended.

    Example:

        >>> with lazyloom.profile() as watched:
        ...     total = float((np.arange(3.0) + 1).sum())
        >>> watched.report.data["counters"]["reads"]
        1
    """
    from .profiling.watching import Profile

    return Profile(path, sources)


def monitor(enabled: bool = True) -> str | None:
    """Have this process answer to ``python -m lazyloom top PID``, or end that.

    A thread listens at a socket that only this user can open, and tells who connects what each
    thread does, rates, compilations, cache hits and memory. ``LAZYLOOM_TOP=1`` in the environment
    turns it on from the start. Each run and each read takes a few microseconds longer.

    Args:
        enabled: False ends it, and removes the socket.

    Returns:
        the path of the socket; None if it was ended.

    Raises:
        ArgumentError: the system is not Linux, or the path is too long for a socket.
        OSError: the socket cannot be made, or others could enter its folder.

    Example:

        >>> path = lazyloom.monitor()
        >>> lazyloom.monitor(False)
    """
    # slow to import, and rarely needed
    from .monitoring import server

    if enabled:
        return server.begin()
    server.end()
    return None


def save_repro(
    path: Any, values_or_function: Any, *arguments: Any, kwargs: Mapping[str, Any] | None = None,
    data: str = "values", before: bool = False,
) -> str:
    """Save a program that fails, gives something wrong or is slow, for a report.

    Pending values are computed, or a function is called, and its results are computed. Of the
    programs that ran, one is saved with the data of its inputs: the first that failed; else, for
    values, the last one, which computes them; for a function the one that took longest. Nothing is
    donated meanwhile, so that the inputs are there. ``python -m lazyloom repro FILE`` runs the
    file.

    Args:
        path: the file, which replaces one that is there.
        values_or_function: pending tensors of any shape and dtype, in lists, tuples and dicts, or a
            function.
        arguments: what the function is called with.
        kwargs: what it is called with by name.
        data: "values" saves the inputs as they are, "random" random ones of the same types and
            between the same bounds.
        before: save each program before it runs, too: the file has the one that ends the process.

    Returns:
        the path.

    Raises:
        ArgumentError: none of the values is pending, the function ran no program, or the program
            has an op that no other process can run: one with effects, one that calls code of this
            process, one of several processes together; or it lies on a mesh or another device.
        OSError: the file cannot be written.
        whatever the function raises, but for the error of the program that is saved.

    Example:

        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> path = lazyloom.save_repro(os.path.join(folder, "sum.loom"), np.arange(3.0) * 2)
        >>> os.path.basename(path)
        'sum.loom'
    """
    # rarely needed
    from .repro.taking import save_repro as saved

    return saved(path, values_or_function, *arguments, kwargs=kwargs, data=data, before=before)


def report() -> Any:
    """A report of the evaluations whose records are kept (the option ``records_kept``).

    It is what :func:`profile` makes, but finds less: what is read and uploaded, and where time goes
    between evaluations, is noted only while a profile is made.

    Example:

        >>> total = float((np.arange(3.0) + 1).sum())
        >>> report = lazyloom.report()
        >>> report.data["format"]
        1
    """
    from .profiling.reports import report as made

    return made()


def explain(program: Any = None) -> Any:
    """What the devices or processes of a program do together: its collectives, by op.

    On a mesh they are those that XLA's partitioner puts into the program, which is compiled for
    this unless it was before; nothing runs, and a run later finds it.

    Args:
        program: from :func:`program_of`, or a pending tensor or value; None for the program of the
            newest evaluation.

    Returns:
        an object that prints as text, with ``collectives``: for each its ``name``, ``op``,
        ``types`` and ``nbytes``, the ``number`` of the op's instruction and, on a mesh, the
        ``axes`` along which the devices differ that take part together.

    Raises:
        ArgumentError: it is no program, or was computed; what compiling raises.

    Example:

        >>> print(lazyloom.explain(np.arange(3.0) + 1).collectives)
        ()
    """
    # rarely needed
    from .execute.explained import explained

    if program is None:
        record = last_evaluation()
        program = None if record is None else record.program
        if program is None:
            raise errors.ArgumentError(
                "explain: nothing was evaluated yet, expected a program, such as "
                "lazyloom.program_of(value)")
    elif isinstance(program, (Tensor, Value)):
        program = program_of(program)
    elif not isinstance(program, Program):
        raise errors.ArgumentError(
            f"explain: a {errors.type_name(program)} was given, expected a program, such as "
            "lazyloom.program_of(value), or a tensor")
    return explained(program)


def private_folder(path: str) -> None:
    """Create a folder and its missing parents, for files that are loaded and run.

    Raises PermissionError if it exists and belongs to somebody else, or others can write it.

    Example:

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     lazyloom.private_folder(f"{folder}/plugins")
        ...     oct(os.stat(f"{folder}/plugins").st_mode & 0o777)
        '0o700'
    """
    # slow to import, and not needed before the first program
    from .cache import private

    with private.folder(path, create=True):
        pass


def cache_dir() -> str:
    """The folder of the disk cache.

    Example:

        >>> import os
        >>> os.path.isabs(lazyloom.cache_dir())
        True
    """
    from .cache import disk  # as above

    return disk.folder()


__all__ = [
    "Backend", "Check", "DType", "Evaluation", "ExportedFunction", "LoomError", "Mesh", "OpDef",
    "PerformanceWarning", "Place", "Placement", "Program", "Scalar", "Site", "Spec", "Step",
    "Storage", "Tensor", "TensorType", "apply", "axis_index", "backward", "boundary", "cache_dir",
    "capture", "check_indices", "clear_site", "cond", "custom", "custom_rule", "default_device",
    "devices", "dlpack_device", "dtypes", "errors", "evaluations", "explain", "export",
    "export_onnx", "finish_compiling", "folded", "forget_since", "free_tape", "from_dlpack",
    "from_host",
    "frontend", "get_option", "grad", "grad_enabled", "grad_mode", "gradients", "hessian", "jacfwd",
    "jacobian", "jacrev", "jit", "jvp", "known_bounds", "known_range", "last_evaluation",
    "last_sequence", "linearize", "load", "make_mesh", "mark_dynamic", "mark_static", "monitor",
    "name_site", "ops", "options", "parents", "placement_of", "platform", "private_folder",
    "profile", "program_of", "programs_of", "read_for_shape", "record", "record_number",
    "record_one", "record_spec", "record_two", "register_check", "register_op", "report",
    "result_of", "save_onnx", "save_repro", "scan", "set_grad_enabled", "set_option", "set_site",
    "shard", "shard_map", "skip_folder", "skip_packages", "source", "spec", "stats", "sync",
    "sync_older", "tangents", "tensor_type", "testing", "to_device", "to_dlpack", "tree_flatten",
    "tree_map", "use_backend", "used_since", "user_packages", "Value", "value_and_grad",
    "visualize_sharding", "vjp", "vmap", "while_loop",
]  # fmt: skip

#: public modules that only some programs import
_MODULES = ("backends", "codegen", "distributed", "launcher", "quantization")


def __dir__() -> list[str]:
    imported = [name for name in _MODULES if name in globals()]
    return sorted([*__all__, *imported, "__doc__", "__file__", "__name__", "__version__"])
