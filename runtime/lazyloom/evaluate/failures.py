"""Failures: turning exceptions of runs and reads into the errors of nodes."""

from __future__ import annotations

from typing import Any, Final

from .. import settings
from ..backends.backend import NotLowered
from ..backends.returned import WrongResult
from ..backends.selection import backend
from ..dtypes import DType
from ..errors import (
    DistributedError,
    ExecutionError,
    LoomError,
    OutOfMemoryError,
    of_shadowed_module,
    reraised,
)
from ..execute.op_by_op.executor import OpFailed
from ..execute.run import run
from ..hooks import hooks
from ..interrupts import half_imported, reraise_from_handler
from ..program.evaluations import Evaluation
from ..program.plan import Plan
from ..program.stream import Leaf, Result, ScalarSlot
from ..trace import graph
from ..trace.graph import DONE, FAILED, SCHEDULED, Buffer, Value
from ..trace.source import is_users
from . import collect

#: a note of errors of runs
HOW_TO_SAVE: Final = (
    "to save the program for a report, set LAZYLOOM_REPRO=DIR in the environment; python -m "
    "lazyloom repro FILE runs it")


def definition_error(plan: Plan, error: Any) -> LoomError:
    """The error of an op whose definition does not work; it names the place of the call."""
    n = plan.nodes[error.number]
    assert n.spec is not None
    cause = error.__cause__
    message = str(cause).strip().split("\n")[0] or type(cause).__name__
    op = n.spec.op.name
    kind = OutOfMemoryError if out_of_memory(cause) else ExecutionError
    wrapped = kind(
        f"op {op}, recorded at {n.site}, could not be compiled: "
        f"{type(cause).__name__}: {message.removeprefix(op + ': ')}", op=op, site=str(n.site))
    wrapped.__cause__ = cause
    plan.evaluation.error = wrapped
    _tell_of_repro(plan, wrapped)
    return wrapped


def _tell_of_repro(plan: Plan, error: LoomError) -> None:
    """Save the program that failed, if that is asked for; add how it is saved, or run."""
    if type(error) is not ExecutionError and type(error) is not OutOfMemoryError:
        return
    saved = hooks.failed
    if saved is None:
        error.add_note(HOW_TO_SAVE)
        return
    how = saved(plan, error)
    if how:
        error.args = (f"{str(error).rstrip('.')}; {how}",)


def run_rest(
    plan: Plan, failed: dict[int, LoomError], errors: dict[int, LoomError]
) -> None:
    """Run the plan without the ops that depend on failed leaves, or on ops that have an error."""
    while True:
        rest, kept = _without(plan, failed, errors)
        try:
            if rest.wanted:
                plan.evaluation.ops = len(rest.nodes)
                run(rest, settings.donates())
            break
        except NotLowered as error:
            errors[kept[error.number]] = definition_error(rest, error)
    plan.completed = True


def _without(
    plan: Plan, failed: dict[int, LoomError], errors: dict[int, LoomError]
) -> tuple[Plan, list[int]]:
    """The plan without the ops that depend on a failure, which fail; and its nodes' old numbers."""
    structure = plan.structure
    for number, instruction in enumerate(structure.instructions):
        if number in errors:
            continue
        for item in instruction.operands:
            if isinstance(item, Result):
                error_of_operand = errors.get(item.instruction)
            elif isinstance(item, Leaf):
                error_of_operand = failed.get(item.number)
            else:
                error_of_operand = None
            if error_of_operand is not None:
                errors[number] = error_of_operand
                break
    keep = [i for i in range(len(plan.nodes)) if i not in errors]
    smaller, kept, leaves = structure.restrict(keep)
    renumber = {old: new for new, old in enumerate(kept)}
    scalars: dict[DType, list[Any]] = {}
    for old in kept:
        for item in structure.instructions[old].operands:
            if isinstance(item, ScalarSlot):
                scalars.setdefault(item.dtype, []).append(plan.scalars[item.dtype][item.ordinal])
    wanted, results = [], []
    for (number, index), target in zip(plan.wanted, plan.results, strict=True):
        if number in renumber:
            wanted.append((renumber[number], index))
            results.append(target)
    # a failed result may have been written over these: its storage goes back to them
    donatable = [leaves.index(k) for k in plan.donatable
                 if k in leaves and not plan.leaves[k].recoverable]
    rest = Plan([plan.nodes[i] for i in kept], smaller, [plan.leaves[k] for k in leaves],
                scalars, wanted, results, donatable)
    rest.evaluation = plan.evaluation
    rest.collective = any(n.spec is not None and n.spec.shared for n in rest.nodes)
    rest.places = plan.places
    plan.failed = True
    with graph.trace.lock:
        for number, error in errors.items():
            n = plan.nodes[number]
            collect.reach(n, error)
            if n.state == SCHEDULED:
                collect.fail(n, error)
    return rest, kept


def fail(plan: Plan, error: Exception) -> None:
    """Make the exception of a run the error of everything that the plan should compute."""
    if half_imported(error):
        raise LoomError(
            "an array was read while the module that runs it was being imported, by a "
            f"signal's handler, say ({type(error).__name__}: {error}); read it again "
            "afterwards, or let the handler leave the work to the program") from error
    plan.evaluation.error = wrapped = _as_execution_error(error, plan)
    _tell_of_repro(plan, wrapped)
    _empty_frames(wrapped)
    plan.failed = True
    with graph.trace.lock:
        for n in plan.nodes:
            collect.reach(n, wrapped)
            if n.state == SCHEDULED:
                collect.fail(n, wrapped)
        graph.drain()
    plan.completed = True


def _empty_frames(error: BaseException) -> None:
    """Drop an error's tracebacks, but for those with lines of functions of the user's.

    Records keep errors, and the frames have the inputs of the run that failed, and all that the
    user's functions around it had.
    """
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        at = found.__traceback__
        while at is not None and not is_users(at.tb_frame.f_code.co_filename):
            at = at.tb_next
        if at is None:
            found.__traceback__ = None
        found = found.__cause__ or found.__context__


def _as_execution_error(error: Exception, plan: Plan) -> LoomError:
    if isinstance(error, OpFailed):
        n = plan.nodes[error.number]
        assert n.spec is not None
        cause = error.__cause__
        assert isinstance(cause, Exception)
        return run_error(cause, plan.evaluation, plan, (n.spec.op.name, n.site))
    if isinstance(error, LoomError) and not isinstance(error, WrongResult):
        return error
    return run_error(error, plan.evaluation, plan)


def run_error(
    error: Exception, evaluation: Evaluation, plan: Plan | None = None,
    place: tuple[str, Any] | None = None,
) -> ExecutionError:
    """The error of a failed run, naming op and place if they are known."""
    message = str(error).strip().split("\n")[0]
    op: str | None = None
    site: Any = evaluation.site
    if isinstance(error, WrongResult):
        if error.op is not None:
            op, site = error.op, error.site
    elif place is not None:
        op, site = place
    elif len(evaluation.places) == 1:
        op, site = evaluation.places[0]
    if op is not None:
        where = f"op {op}, recorded at {site},"
    else:
        unfailed = [n for n in plan.nodes if n.state != FAILED] if plan is not None else []
        named = sorted({n.spec.op.name for n in unfailed if n.spec})
        of = f" of {evaluation.ops} ops ({', '.join(named[:8])}{', ...' if named[8:] else ''})" if (
            named) else f" of {evaluation.ops} ops"
        where = f"a program{of}, run for the {evaluation.reason} at {evaluation.site},"
    lost = (
        " The inputs that the run had taken over are lost; options(donate=False) keeps them"
        if evaluation.bytes_donated else "")
    kind = ExecutionError
    if out_of_memory(error):
        kind = OutOfMemoryError
        if "out of memory" not in message.lower():
            message = f"out of memory: {message}" if message else "out of memory"
    elif not isinstance(error, WrongResult):
        message = f"{type(error).__name__}: {message}" if message else type(error).__name__
        message = message.rstrip(".") + of_shadowed_module(error)
    wrapped = kind(f"{where} failed: {message.rstrip('.')}.{lost}", op=op, site=str(site))
    wrapped.__cause__ = error
    return wrapped


def out_of_memory(error: Any) -> bool:
    """Return True if an error, of Python or of XLA, says that memory could not be allocated."""
    text = str(error)
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in text or (
        "Out of memory" in text)


def not_copied(value: Value, buffer: Buffer, error: Exception) -> None:
    """Raise OutOfMemoryError if the value was computed and only its copy found no memory."""
    try:
        backend().wait(buffer.array)
    except Exception as raised:
        reraise_from_handler(raised)
        return
    raise OutOfMemoryError(
        f"a value of type {value.type.text} was computed, and there is no memory for a copy of "
        f"its {value.type.nbytes} bytes; read a part of it, or let go of something: {error}")


def read_error(value: Value, buffer: Buffer, error: Exception) -> LoomError:
    """The error to raise for a value whose data could not be read; its node keeps that error."""
    origin = buffer.origin
    wrapped: LoomError
    if isinstance(error, DistributedError):
        # it says which process failed, whatever this one computed
        wrapped = error
    elif origin is None:
        text = str(error) if isinstance(error, WrongResult) else f"{type(error).__name__}: {error}"
        wrapped = ExecutionError(f"reading a value of type {value.type.text} failed: {text}")
    elif isinstance(error, WrongResult):
        # other results of the run may be right
        spec = value.node.spec
        if spec is not None:
            error.op, error.site = spec.op.name, str(value.node.site)
        wrapped = run_error(error, origin)
    else:
        if origin.error is None:
            origin.error = run_error(error, origin)
        wrapped = reraised(origin.error)
    with graph.trace.lock:
        node = value.node
        if node.state == DONE:
            node.state = FAILED
            node.error = wrapped
    return reraised(wrapped)
