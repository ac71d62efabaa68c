"""Op-by-op execution of a plan, each op by a host kernel that all programs share.

An op runs as its kernel of the host (:func:`lazyloom.host.find.kernel_of`: NumPy, a microsecond a
call), or else as an executable of its own, which is kept like any program.
"""

from __future__ import annotations

import time
from typing import Any, Final, final

import numpy as np

from ... import strict
from ...backends.backend import NotLowered
from ...backends.data import scalar_vector
from ...backends.selection import backend
from ...cache import memory
from ...compiled import COMPILED
from ...counters import counters
from ...ending import launching
from ...host.error_state import ignore_errors, restore_errors
from ...host.kernel import HostKernel
from ...host.reuse import REUSE_FROM_BYTES, call, exclusive, may_write
from ...host.subnormals import flush_subnormals, flushing, restore_mode
from ...interrupts import Deferred, deliver, late, reraise_from_handler
from ...ops.spec import lookup
from ...program.evaluations import Evaluation
from ...program.plan import Plan
from ...program.program import Structure
from ...program.reasons import PREPARE
from ...program.stream import INDEX_BITS, INDEX_MASK
from ...settings import watching
from ...startup import starting, unnoted
from ...trace.graph import Node
from ...trace.scalars import Baked
from ...trace.specs import Spec
from ...types import TensorType
from ..history import History
from .blas_threads import Threads, using
from .schedule import Schedule, fit, owned, run_schedule, schedule_of
from .single_run import inputs_of, values_once


class OpFailed(Exception):
    """The op of instruction ``number`` failed while it ran; the cause says why."""

    def __init__(self, number: int, cause: Exception) -> None:
        super().__init__(number)
        self.number: int = number
        # compiled code that raises does not set it
        self.__cause__ = cause


@final
class OpKernel:
    """One op at operand types.

    Attributes:
        kernel: the function of NumPy arrays, or None.
        loaded: where there is no kernel, its :class:`~lazyloom.backends.backend.Executable`.
        shared: of each result, whether its memory may be an operand's.
        count: the number of results.
        ready: kernel or loaded was found.
        types_checked: it ran once, and its results have the types that they should have.
    """

    __slots__ = ("spec", "types", "kernel", "loaded", "shared", "count", "ready", "types_checked")

    def __init__(self, spec: Spec, types: tuple[TensorType | None, ...]) -> None:
        self.spec: Final[Spec] = spec
        self.types: Final[tuple[TensorType | None, ...]] = types
        self.kernel: Any = None
        self.loaded: Any = None
        self.shared: tuple[bool, ...] = ()
        self.count: int = len(spec.infer(types))
        self.ready: bool = False
        self.types_checked: bool = False


def op_kernel_of(spec: Spec, types: tuple[TensorType | None, ...]) -> OpKernel:
    """The kernel of an op at operand types, made if missing."""
    found: OpKernel | None = spec.kernels.get(types)
    if found is None:
        found = spec.kernels.setdefault(types, OpKernel(spec, types))
    return found


def prepare(op: OpKernel, evaluation: Evaluation) -> None:
    """Find what runs an op: a kernel of the host, or an executable.

    Raises NotLowered for instruction 0 where the op's definition does not work.
    """
    kernel: HostKernel | None = None
    if op.spec.heavy:
        kernel = backend().region_kernel(op.spec, op.types)
    if kernel is None:
        kernel = _host_kernels().kernel_of(op.spec, op.types)
    if kernel is not None:
        op.shared = kernel.shared
        op.kernel = kernel.run
    else:
        _load(op, evaluation)
    op.ready = True


#: the module that finds kernels of the host, from the first op on that needs one: it is slow to
#: import, and an import for each op asks interpreted code whether it was done
_find: Any = None


def _host_kernels() -> Any:
    global _find
    found = _find
    if found is None:
        # a signal's handler that computes arrays would find half of it
        with Deferred(True), starting():
            from ...host import find
        found = _find = find
    return found


def _load(op: OpKernel, evaluation: Evaluation) -> None:
    """Find or compile the op's executable, which takes all operands as arrays."""
    # slow to import
    from ..compiling import programs

    stream: list[Any] = [op.spec]
    leaves: list[TensorType] = []
    for t in op.types:
        if t is None:
            stream.append(None)
        else:
            leaves.append(t)
            stream.append(-len(leaves))
    entry = memory.entry_of(Structure(tuple(stream), tuple(leaves)), False)
    outputs = [(0, r) for r in range(op.count)]
    # a record of its own: how the op was found says nothing of the plan's run
    record = Evaluation(0, evaluation.reason, evaluation.site)
    with entry.lock:
        programs.find(entry, outputs, [], False, record)
        op.loaded = entry.program
    # views of the device's memory
    op.shared = (True,) * op.count


_baked: Final[dict[Baked, Any]] = {}


def _constant(item: Baked) -> Any:
    found = _baked.get(item)
    if found is None:
        found = _baked[item] = scalar_vector([item.number], item.dtype.numpy)[0]
    return found


def run_op(op: OpKernel, arguments: list[Any], evaluation: Evaluation) -> list[Any]:
    """Return the results of one op by itself, as NumPy arrays, by what runs it op by op.

    Raises OpFailed, and NotLowered for instruction 0 where the op's definition does not work.
    """
    errors: Any = ignore_errors()
    try:
        if not op.ready:
            prepare(op, evaluation)
        try:
            result: Any = _execute(op, arguments) if op.kernel is None else (
                _called(op.kernel, arguments))
        except Exception as error:
            reraise_from_handler(error)
            result = _again(op, 0, error, arguments, evaluation)
    finally:
        restore_errors(errors)
    return list(result) if op.count > 1 else [result]


def run_op_by_op(plan: Plan, history: History, threads: Threads, donate: bool) -> None:
    """Run the plan's ops in order and attach the results. Raises OpFailed, NotLowered.

    ``threads`` are for products. ``donate``: results may be written over operands that end with
    the plan.
    """
    # calls of functions where the core is compiled, which blocks are not
    errors: Any = ignore_errors()
    try:
        if threads is Threads.AS_THEY_ARE:
            _run_by_schedule(plan, history, donate)
        else:
            with using(threads):
                _run_by_schedule(plan, history, donate)
    finally:
        restore_errors(errors)


def _run_by_schedule(plan: Plan, history: History, donate: bool) -> None:
    """Run a plan by its structure's schedule, which is made if its kernels are known."""
    schedule: Schedule | None = history.schedule
    if schedule is None or not schedule.code or schedule.wanted != plan.wanted:
        kernels = _ready_kernels(plan, donate and history.runs < 2)
        if kernels is not None and history.runs == 0:
            # it may never come back
            if _ran_once(plan, kernels):
                return
            kernels = None
        schedule = None if kernels is None else schedule_of(
            plan, [k.kernel for k in kernels], [k.shared for k in kernels], _constant)
        history.keep_schedule(schedule)
    if schedule is not None:
        try:
            mode: Any = flush_subnormals()
            try:
                arrays = run_schedule(schedule, plan)
            finally:
                restore_mode(mode)
            if not fit(schedule, arrays):
                _check(plan, arrays)
            _attach(plan, arrays, schedule.size)
            return
        except Exception as error:
            reraise_from_handler(error)
            if plan.completed:
                raise
            # one by one it is found out which op that was; nothing but results was made
            history.keep_schedule(None)
    _run(plan, donate)


def _ran_once(plan: Plan, kernels: list[OpKernel]) -> bool:
    """Run ready kernels; False if one failed, and which one is to be found out one by one."""
    try:
        with flushing():
            found = values_once(
                plan, [p.kernel for p in kernels], [p.shared for p in kernels], _constant)
    except Exception as error:
        reraise_from_handler(error)
        return False
    _attach(plan, found, _check(plan, found))
    return True


def _ready_kernels(plan: Plan, over: bool) -> list[OpKernel] | None:
    """The kernel of each op, if all are kernels that have run before.

    None, too, if one is to write ``over`` its operands, which steps never do.
    """
    nodes = plan.nodes
    stream = plan.stream()
    input_types = stream.input_types(plan.structure.leaf_types)
    operands = stream.operands
    kernels: list[OpKernel] = []
    start = 0
    for number, n in enumerate(nodes):
        types: list[TensorType | None] = []
        end = stream.ends[number]
        for position in range(start, end):
            code = operands[position]
            if code >= 0:
                types.append(input_types[code])
            else:
                source = -1 - code
                types.append(nodes[source >> INDEX_BITS].types[source & INDEX_MASK])
        start = end
        op: OpKernel | None = stream.specs[number].kernels.get(tuple(types))
        if op is None or op.kernel is None or not op.types_checked:
            return None
        if over and n.types[0].nbytes >= REUSE_FROM_BYTES and getattr(op.kernel, "over", None):
            return None
        kernels.append(op)
    return kernels


def _run(plan: Plan, donate: bool) -> None:
    """Run op by op, whatever that needs to be found for it."""
    evaluation: Evaluation = plan.evaluation
    nodes = plan.nodes
    stream = plan.stream()
    operands = stream.operands
    input_types = stream.input_types(plan.structure.leaf_types)
    inputs = inputs_of(plan, _constant)
    #: what holds each result until its last use
    values: list[Any] = [None] * len(nodes)
    left: list[int] = [n.uses for n in nodes]
    for slot, _ in plan.wanted:
        left[slot] += 1
    used: list[OpKernel] = []
    #: ops that may write over their operands, and what only passes their results on
    last: list[tuple[int, list[Any]]] = []
    passed: dict[int, tuple[int, int]] = {}
    end = 0
    for slot, n in enumerate(nodes):
        spec = stream.specs[slot]
        start = end
        end = stream.ends[slot]
        if slot in passed:
            # it has the same type; of its kernel nothing is needed
            used.append(op_kernel_of(spec, (n.types[0],)))
            continue
        types: list[TensorType | None] = []
        arguments: list[Any] = []
        dying: list[int] | None = None
        for position in range(start, end):
            code = operands[position]
            if code >= 0:
                types.append(input_types[code])
                arguments.append(inputs[code])
            else:
                number, index = (-1 - code) >> INDEX_BITS, (-1 - code) & INDEX_MASK
                value = values[number]
                m = nodes[number]
                types.append(m.types[index])
                arguments.append(value[index] if len(m.types) > 1 else value)
                left[number] -= 1
                if left[number] == 0:
                    dying = [number] if dying is None else [*dying, number]
        key = tuple(types)
        found: OpKernel | None = spec.kernels.get(key)
        op = op_kernel_of(spec, key) if found is None else found
        if not op.ready:
            started = time.perf_counter()
            try:
                prepare(op, evaluation)
            except NotLowered as error:
                assert error.__cause__ is not None
                raise NotLowered(slot, error.__cause__) from error.__cause__  # type: ignore[arg-type]
            spent = time.perf_counter() - started
            if unnoted:
                spent -= evaluation.started_up(started)
            timings = evaluation.timings
            timings[PREPARE] = timings.get(PREPARE, 0.0) + spent
        kernel = op.kernel
        if donate and _is_large(n) and getattr(kernel, "over", None):
            after = _passing(plan, slot)
            if after is not None:
                passed.update(after)
                last.append((slot, arguments))
                used.append(op)
                continue
        try:
            if kernel is not None and op.types_checked:
                result = _called(kernel, arguments)
            else:
                result = _first(op, n, arguments)
        except Exception as error:
            reraise_from_handler(error)
            result = _again(op, slot, error, arguments, evaluation)
        used.append(op)
        if left[slot]:
            values[slot] = result
        if dying is not None:
            for number in dying:
                values[number] = None
    if not last:
        arrays = _results(plan, used, values, passed)
        _attach(plan, arrays, _check(plan, arrays))
        return
    # once memory is written over, nothing may come between
    with Deferred(True):
        for slot, arguments in last:
            values[slot] = _over(plan, used[slot], slot, arguments, inputs)
        for slot, (number, index) in passed.items():
            values[slot] = values[number][index] if used[number].count > 1 else values[number]
        arrays = _results(plan, used, values, passed)
        _attach(plan, arrays, _check(plan, arrays))


def _results(
    plan: Plan, used: list[OpKernel], values: list[Any], passed: dict[int, tuple[int, int]]
) -> list[Any]:
    """The wanted results, each in memory of its own; ``passed`` as in :func:`_passing`."""
    found: list[Any] = []
    taken: set[tuple[int, int]] = set(plan.wanted)
    for slot, index in plan.wanted:
        op = used[slot]
        source = passed.get(slot)
        if source is None:
            value = values[slot][index] if op.count > 1 else values[slot]
            found.append(owned(value, op.shared[index]))
            continue
        # the first one to pass a result on has it
        number, index = source
        found.append(
            owned(values[slot], used[number].shared[index] or (number, index) in taken))
        taken.add((number, index))
    return found


def _passing(plan: Plan, slot: int) -> dict[int, tuple[int, int]] | None:
    """The identities of an op's results, if nothing else uses these, and what each is of."""
    passing: dict[int, tuple[int, int]] = {}
    identity = lookup("identity")
    stream = plan.stream()
    nodes = plan.nodes
    left = nodes[slot].uses
    number = slot
    while left:
        number += 1
        for code in stream.operands[stream.ends[number - 1] : stream.ends[number]]:
            if code < 0 and (-1 - code) >> INDEX_BITS == slot:
                if stream.specs[number].op is not identity or nodes[number].uses:
                    return None
                passing[number] = (slot, (-1 - code) & INDEX_MASK)
                left -= 1
    return passing


def _over(
    plan: Plan, op: OpKernel, slot: int, arguments: list[Any], inputs: list[Any]
) -> Any:
    """Run an op's kernel, its results in the memory of leaves that end with the plan."""
    arrays: list[Any] = []
    if may_write():
        allowed = [arguments[k] for k in op.kernel.over]
        for k in plan.donatable:
            # held by the leaf, the list, the op's arguments and those of them that are allowed
            if exclusive(inputs, k, 3):
                found = inputs[k]
                if any(found is x for x in allowed):
                    arrays.append(found)
    over = list(arrays)
    try:
        with flushing():
            result = call(op.kernel, arguments, arrays)
    except Exception as error:
        raise OpFailed(slot, error) from error
    finally:
        for x in over:
            if not any(x is y for y in arrays):
                # It is a result now, or was written in part: if the plan fails, here or at a later
                # op, the leaf has no contents to go back to.
                inputs[:] = [None if x is y else y for y in inputs]
                for k in plan.donatable:
                    leaf = plan.leaves[k]
                    if leaf.host is x:
                        leaf.array = leaf.host = None
    return result


def _is_large(n: Node) -> bool:
    """Whether a result is so large that the memory of an operand is worth being reused for it."""
    # a generator expression takes longer in compiled code
    for t in n.types:  # noqa: SIM110
        if t.nbytes >= REUSE_FROM_BYTES:
            return True
    return False


def _called(kernel: Any, arguments: list[Any]) -> Any:
    """Run a kernel, subnormal numbers flushed to zero."""
    mode: Any = flush_subnormals()
    try:
        return kernel(*arguments)
    finally:
        restore_mode(mode)


def _first(op: OpKernel, n: Node, arguments: list[Any]) -> Any:
    """Run a kernel whose results nobody has looked at, or an executable."""
    if op.kernel is None:
        return _execute(op, arguments)
    result = _called(op.kernel, arguments)
    results: Any = result if op.count > 1 else (result,)
    if len(results) != op.count:
        raise AssertionError(
            f"the host kernel of {op.spec!r} gives {len(results)} results, expected {op.count}")
    # zip takes longer in compiled code
    for k, t in enumerate(n.types):
        r: Any = results[k]
        if r.dtype != t.dtype.numpy or r.shape != t.shape:
            raise AssertionError(
                f"the host kernel of {op.spec!r} gives {r.dtype}{list(r.shape)}, expected "
                f"{t.text}")
    op.types_checked = True
    return result


def _execute(op: OpKernel, arguments: list[Any]) -> Any:
    arrays = []
    for x in arguments:
        if x is None:
            # an operand that is absent is none of the executable's
            continue
        if isinstance(x, (np.ndarray, np.generic)):
            x = backend().upload(np.asarray(x))
        arrays.append(x)
    if op.loaded.further is not None:
        arrays += op.loaded.further(arrays, None)
    launching[0] += 1
    try:
        results: Any = op.loaded.run(*arrays)
    finally:
        launching[0] -= 1
        # a signal that came while foreign code asked interpreted code
        if late:
            deliver()
    views = [backend().host_view(r) for r in results]
    return views if op.count > 1 else views[0]


def _again(
    op: OpKernel, slot: int, error: Exception, arguments: list[Any], evaluation: Evaluation
) -> Any:
    """Run an op as an executable, for its kernel has failed. Raises OpFailed."""
    if op.kernel is None or isinstance(error, MemoryError):
        raise OpFailed(slot, error) from error
    counters["host_kernels_failed"] += 1
    evaluation.kernel_failure = f"{op.spec.op.name} failed: {type(error).__name__}: {error}"
    if watching[0] and strict.asked("fallbacks"):
        try:
            strict.occurred(
                "fallbacks", evaluation.site,
                f"the kernel of the host for the op {evaluation.kernel_failure}, and the op is "
                "compiled in its place", "report the failure", op.spec.op.name)
        except Exception as refused:
            raise OpFailed(slot, refused) from refused
    try:
        _load(op, evaluation)
        op.kernel = None
        return _execute(op, arguments)
    except NotLowered as again:
        raise NotLowered(slot, error) from again
    except Exception as again:
        reraise_from_handler(again)
        raise OpFailed(slot, again) from again


def _check(plan: Plan, arrays: list[Any]) -> int:
    """The bytes of the results. Raises WrongResult for one that is of another type."""
    size = 0
    for (slot, index), array in zip(plan.wanted, arrays, strict=True):
        t: TensorType = plan.nodes[slot].types[index]
        if array.shape != t.shape or array.dtype != t.dtype.numpy:
            from ...backends.returned import type_text, wrong

            raise wrong("host_kernel", type_text(array), str(t))
        size += array.nbytes
    return size


def _attach(plan: Plan, arrays: list[Any], size: int) -> None:
    """Give the results their data, each in memory of its own."""
    plan.evaluation.bytes_out = size
    if COMPILED and not plan.donatable:
        # nothing is let go of, so that no handler of a signal runs
        _hand_over(plan, arrays)
    else:
        # an exception of a signal's handler in between would leave neither operands nor results
        with Deferred():
            _hand_over(plan, arrays)


def _hand_over(plan: Plan, arrays: list[Any]) -> None:
    # zip takes longer in compiled code
    for k, target in enumerate(plan.results):
        target.host = arrays[k]
        # it is there: nothing can go wrong with it any more
        target.origin = None
    for k in plan.donatable:
        leaf = plan.leaves[k]
        leaf.array = None
        leaf.host = None
    plan.completed = True
