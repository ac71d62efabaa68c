"""The evaluation policy: when and how recorded work runs.

A value that is needed runs the connected component of pending work that contains it, as
one program; work of other components stays pending. Components across a boundary that it
depends on run first, each as its own program.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from threading import get_ident
from typing import Any, Final, cast

from .. import foreign, settings
from ..backends.backend import NotLowered
from ..backends.data import device_view, host_array, host_number
from ..backends.returned import WrongResult
from ..backends.selection import backend
from ..counters import counters
from ..dtypes import DType
from ..errors import (
    ArgumentError,
    ExecutionError,
    LoomError,
    OutOfMemoryError,
    ReadForbiddenError,
    of_shadowed_module,
    reraised,
)
from ..execute.op_by_op.executor import OpFailed
from ..execute.run import run
from ..interrupts import Deferred, half_imported, reraise_from_handler, uninterrupted
from ..program.evaluations import Evaluation, new_evaluation
from ..program.plan import Plan
from ..program.program import Leaf, Program, Result, ScalarSlot
from ..trace import graph
from ..trace.following import Follow, following, settle
from ..trace.graph import DONE, FAILED, MAPPED, PENDING, SCHEDULED, Buffer, Component, Node, Value
from ..trace.mapping import unreadable
from ..trace.source import Site, user_site
from ..trace.tape import recompute
from . import checks, collect, known_traces

#: threads that record a call to be captured: what they ask to be handed over waits for its end
held_back: Final[set[int]] = set()
#: how many values each of them has read
reads_of: Final[dict[int, int]] = {}
#: threads that record for data to come: what is known of data on the host is not asked
blind: Final[set[int]] = set()


class Batch:
    """What is scheduled together: the plans so far, and nodes taken from their component.

    Subclasses say what to schedule. (A function that is made for each call would be a cycle with
    what it refers to, in compiled code, and keep that until the cycle collector runs.)
    """

    __slots__ = ("plans", "taken", "reason", "site")

    def __init__(self, reason: str, site: Site) -> None:
        self.plans: list[Plan] = []
        self.taken: list[list[Node]] = []
        self.reason: str = reason
        self.site: Site = site

    def choose(self) -> None:
        """Add the plans; the caller holds the lock."""
        raise AssertionError("a batch says what it schedules")

    def put_back(self) -> None:
        """Make pending again what did not run."""
        with graph.trace.lock:
            for plan in self.plans:
                if plan.attached:
                    collect.finish(plan)
            collect.restore([p for p in self.plans if not p.attached])
            collect.adopt(self.taken)
        for plan in self.plans:
            plan.evaluation.dispatched.set()


class _OfNode(Batch):
    __slots__ = ("node",)

    def __init__(self, node: Node, reason: str, site: Site) -> None:
        super().__init__(reason, site)
        self.node: Node = node

    def choose(self) -> None:
        if self.node.state == PENDING and not _schedule_known(self.node.component, self):
            component = graph.find(self.node)
            if component is not None:
                schedule_component(component, self.reason, self.site, self)


class _OfComponent(Batch):
    __slots__ = ("component",)

    def __init__(self, component: Component, reason: str, site: Site) -> None:
        super().__init__(reason, site)
        self.component: Component = component

    def choose(self) -> None:
        component = self.component
        if _schedule_known(component, self):
            return
        if component.follow is not None:
            settle(component)
        elif component in graph.trace.components:
            schedule_component(component, self.reason, self.site, self)


def evaluate(node: Node, reason: str, site: Site | None = None) -> None:
    """Run the component of a pending node; returns when its program is dispatched."""
    run_batch(_OfNode(node, reason, site if site is not None else user_site()))
    if node.state == SCHEDULED:
        node.evaluation.dispatched.wait()


def evaluate_component(component: Component, reason: str, site: Site | None = None) -> None:
    """Run a component, unless another thread has just done so."""
    run_batch(_OfComponent(component, reason, site if site is not None else user_site()))


def run_batch(batch: Batch) -> None:
    """Schedule under the lock what the batch chooses, then run it in order.

    When interrupted (Ctrl-C), what did not run yet is pending again, as if it had never been
    asked for, and the interrupt goes on.

    Raises ReadForbiddenError in code that a program waits for (:mod:`lazyloom.foreign`).
    """
    if foreign.inside[0]:
        foreign.check()
    try:
        with Deferred(), graph.trace.lock:
            graph.drain()
            batch.choose()
        for plan in batch.plans:
            _dispatch(plan)
    except BaseException:
        uninterrupted(batch.put_back)
        raise


def schedule_component(component: Component, reason: str, site: Site, batch: Batch) -> None:
    """Turn a component, and those it needs, into plans; the caller holds the lock."""
    order = collect.in_dependency_order(component)
    for number, together in enumerate(order):
        c = collect.joined(together)
        nodes = collect.pending_of(c)
        batch.taken.append(nodes)
        c.nodes = []
        graph.trace.components.pop(c, None)
        why = reason if number == len(order) - 1 else f"preparation of the {reason}"
        for group in collect.groups(nodes):
            _schedule(group, why, site, batch)
    if len(batch.plans) > 1:
        batch.plans[-1].evaluation.spawned = [p.evaluation.number for p in batch.plans[:-1]]


def schedule_nodes(nodes: list[Node], reason: str, site: Site, batch: Batch) -> None:
    """Add the plans for chosen pending nodes of one component; the caller holds the lock."""
    for group in collect.groups(nodes):
        _schedule(group, reason, site, batch)


def _schedule_known(component: Component | None, batch: Batch) -> bool:
    """Add the plan of a component that follows a known trace, if it ends as that did."""
    if component is None or component.follow is None:
        return False
    started = time.perf_counter()
    follow = cast(Follow, component.follow)
    ending = known_traces.ending_of(follow)
    if ending is None:
        return False
    evaluation = new_evaluation(batch.reason, batch.site)
    batch.taken.append(follow.nodes)
    collect.schedule_known(follow, ending, evaluation, batch.plans)
    evaluation.ops = len(follow.nodes)
    counters["traces_matched"] += 1
    evaluation.timings["collect"] = time.perf_counter() - started
    return True


def _schedule(nodes: list[Node], reason: str, site: Site, batch: Batch) -> None:
    """Add the plan of one program, if anything of it is left to run."""
    started = time.perf_counter()
    evaluation = new_evaluation(reason, site)
    plan = collect.schedule(nodes, evaluation, batch.plans)
    if plan is None:
        evaluation.dispatched.set()
        return
    evaluation.ops = len(plan.nodes)
    evaluation.places = plan.places
    evaluation.fallible = bool(plan.places)
    evaluation.timings["collect"] = time.perf_counter() - started


def _dispatch(plan: Plan) -> None:
    """Run one plan; its failure becomes its values' error."""
    evaluation: Evaluation = plan.evaluation
    try:
        failed = _await_leaves(plan)
        if failed is not None:
            _run_what_is_left(plan, failed, {})
        else:
            leaves = plan.leaves
            for k in plan.donatable:
                if leaves[k].holds != 1:
                    plan.donatable = [i for i in plan.donatable if leaves[i].holds == 1]
                    break
            try:
                run(plan, settings.donates())
            except NotLowered as error:
                _run_what_is_left(plan, {}, {error.number: _definition_error(plan, error)})
        evaluation.results_ready = plan.attached and not evaluation.fallible
    except Exception as error:
        reraise_from_handler(error)
        if plan.attached:
            raise
        if half_imported(error):
            raise LoomError(
                "an array was read while the module that runs it was being imported, by a "
                f"signal's handler, say ({type(error).__name__}: {error}); read it again "
                "afterwards, or let the handler leave the work to the program") from error
        _fail(plan, _as_execution_error(error, plan))
        plan.attached = True
    finally:
        if plan.attached:
            with Deferred(), graph.trace.lock:
                collect.finish(plan)
                evaluation.dispatched.set()


def run_prepared(plan: Plan) -> None:
    """Run a plan that somebody else made; its failure becomes its values' error.

    Whoever made it puts things back where this raises and the plan is not ``attached``.
    """
    if foreign.inside[0]:
        foreign.check()
    _dispatch(plan)


def _await_leaves(plan: Plan) -> dict[int, LoomError] | None:
    """Wait until the leaves' programs are dispatched; the failed ones by leaf number, if any.

    Results of programs that may fail while they run are waited for, so that a failure
    reaches only what depends on it.
    """
    for buffer in plan.leaves:
        made: Evaluation | None = buffer.origin
        if made is not None and (not made.results_ready or buffer.array is None):
            break
    else:
        return None
    failed: dict[int, LoomError] = {}
    for k, buffer in enumerate(plan.leaves):
        origin = buffer.origin
        if origin is None:
            continue
        if origin is not plan.evaluation:
            origin.dispatched.wait()
        if buffer.array is not None:
            if origin.fallible:
                try:
                    backend().wait(buffer.array)
                    buffer.origin = None
                except Exception as raised:
                    reraise_from_handler(raised)
                    if origin.error is None:
                        origin.error = run_error(raised, origin)
                    failed[k] = origin.error
        elif buffer.host is None:
            failed[k] = origin.error or ExecutionError(
                f"the {origin.reason} at {origin.site} was interrupted in another thread before "
                "its program ran; read the value again to run it", site=str(origin.site))
    return failed or None


def _definition_error(plan: Plan, error: Any) -> LoomError:
    """The error of an op whose definition does not work, named with the place of its call."""
    n = plan.nodes[error.number]
    assert n.spec is not None
    cause = error.__cause__
    what = str(cause).strip().split("\n")[0] or type(cause).__name__
    op = n.spec.op.name
    kind = OutOfMemoryError if out_of_memory(cause) else ExecutionError
    wrapped = kind(
        f"op {op}, recorded at {n.site}, could not be compiled: "
        f"{type(cause).__name__}: {what.removeprefix(op + ': ')}", op=op, site=str(n.site))
    wrapped.__cause__ = cause
    plan.evaluation.error = wrapped
    return wrapped


def _run_what_is_left(
    plan: Plan, failed: dict[int, LoomError], errors: dict[int, LoomError]
) -> None:
    """Run the plan less what depends on failed leaves, or on ops that have an error."""
    while True:
        rest, kept = _without(plan, failed, errors)
        try:
            if rest.wanted:
                plan.evaluation.ops = len(rest.nodes)
                run(rest, settings.donates())
            break
        except NotLowered as error:
            errors[kept[error.number]] = _definition_error(rest, error)
    plan.attached = True


def _without(
    plan: Plan, failed: dict[int, LoomError], errors: dict[int, LoomError]
) -> tuple[Plan, list[int]]:
    """The plan less what depends on what failed, which fails; and its nodes' old numbers."""
    structure = plan.structure
    for number, instruction in enumerate(structure.instructions):
        if number in errors:
            continue
        for item in instruction.operands:
            if isinstance(item, Result):
                bad = errors.get(item.instruction)
            elif isinstance(item, Leaf):
                bad = failed.get(item.number)
            else:
                bad = None
            if bad is not None:
                errors[number] = bad
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
    # what failed may have been written over these: they are what it goes back to
    donatable = [leaves.index(k) for k in plan.donatable
                 if k in leaves and not plan.leaves[k].recoverable]
    rest = Plan([plan.nodes[i] for i in kept], smaller, [plan.leaves[k] for k in leaves],
                scalars, wanted, results, donatable)
    rest.evaluation = plan.evaluation
    rest.places = plan.places
    plan.failed = True
    with graph.trace.lock:
        for number, error in errors.items():
            n = plan.nodes[number]
            collect.reach(n, error)
            if n.state == SCHEDULED:
                collect.fail(n, error)
    return rest, kept


def _fail(plan: Plan, error: LoomError) -> None:
    plan.evaluation.error = error
    plan.failed = True
    with graph.trace.lock:
        for n in plan.nodes:
            collect.reach(n, error)
            if n.state == SCHEDULED:
                collect.fail(n, error)
        graph.drain()


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
    """The error of a failed run, naming op and place where they are known."""
    what = str(error).strip().split("\n")[0]
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
        left = [n for n in plan.nodes if n.state != FAILED] if plan is not None else []
        named = sorted({n.spec.op.name for n in left if n.spec})
        of = f" of {evaluation.ops} ops ({', '.join(named[:8])}{', ...' if named[8:] else ''})" if (
            named) else f" of {evaluation.ops} ops"
        where = f"a program{of}, run for the {evaluation.reason} at {evaluation.site},"
    lost = (
        " The inputs that the run had taken over are lost; options(donate=False) keeps them"
        if evaluation.bytes_donated else "")
    kind = ExecutionError
    if out_of_memory(error):
        kind = OutOfMemoryError
        if "out of memory" not in what.lower():
            what = f"out of memory: {what}" if what else "out of memory"
    elif not isinstance(error, WrongResult):
        what = f"{type(error).__name__}: {what}" if what else type(error).__name__
        what = what.rstrip(".") + of_shadowed_module(error)
    wrapped = kind(f"{where} failed: {what.rstrip('.')}.{lost}", op=op, site=str(site))
    wrapped.__cause__ = error
    return wrapped


def out_of_memory(error: Any) -> bool:
    """Whether an error, of Python or of XLA, says that memory could not be had."""
    text = str(error)
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in text or (
        "Out of memory" in text)


def materialize(value: Value, reason: str, site: Site | None = None) -> Buffer:
    """The buffer of a value's data, evaluating what is pending; raises its error."""
    # what a parent process was computing never becomes ready in its child
    graph.check_process()
    if foreign.inside[0]:
        foreign.check()
    node = value.node
    while True:
        if node.state == PENDING:
            evaluate(node, reason, site)
        if node.state == SCHEDULED:
            node.evaluation.dispatched.wait()
        if node.state == FAILED:
            assert node.error is not None
            raise reraised(node.error)
        if node.state == DONE:
            break
        if node.state == MAPPED:
            raise unreadable(value, site if site is not None else user_site())
    buffers = node.buffers
    buffer = buffers[value.index] if buffers is not None else None
    if buffer is None:
        fresh = recompute(value)
        return materialize(fresh, reason, site)
    if buffer.checks is not None:
        error = checks.failed(buffer)
        if error is not None:
            raise reraised(error)
    return buffer


def read(value: Value, reason: str = "read") -> Any:
    """The value's data as a fresh NumPy array."""
    return _read(value, reason, COPY)


def look(value: Value, reason: str = "read") -> Any:
    """The value's data as a NumPy array to read for as long as the caller has the value.

    It may be the memory of the device.
    """
    return _read(value, reason, VIEW)


def read_number(value: Value) -> Any:
    """The only element of the value's data as a Python number."""
    return _read(value, "read", NUMBER)


def await_data(value: Value) -> None:
    """Wait until the value's data are there; raises like :func:`read`, and counts as none."""
    _read(value, "read", NOTHING)


#: what is read of a value's data
COPY: Final = 0
VIEW: Final = 1
NUMBER: Final = 2
NOTHING: Final = 3


def _read(value: Value, reason: str, what: int) -> Any:
    site = user_site()
    if settings.get_option("forbid_reads"):
        raise ReadForbiddenError(
            f"a value of type {value.type.text} was read at {site} while reads are forbidden; "
            "keep the computation on tensors, or read outside options(forbid_reads=True)",
            site=str(site))
    buffer = materialize(value, reason, site)
    if held_back:
        me = get_ident()
        if me in held_back:
            reads_of[me] = reads_of.get(me, 0) + 1
    host = buffer.host
    if what == NOTHING:
        if host is not None:
            return None
    else:
        counters["reads"] += 1
        counters["bytes_read"] += value.type.nbytes
    if host is not None:
        if what == VIEW:
            return host
        return host.item() if what == NUMBER else host.copy()
    try:
        if what == NUMBER:
            return host_number(buffer.array, value.type)
        if what == VIEW:
            return device_view(buffer.array, value.type)
        if what == COPY:
            return host_array(buffer.array, value.type)
        backend().wait(buffer.array)
        return None
    except Exception as error:
        reraise_from_handler(error)
        if out_of_memory(error):
            _not_copied(value, buffer, error)
        raise _failed_at_read(value, buffer, error) from error


def read_for_shape(value: Value, function: str) -> Any:
    """:func:`read` where a result's shape depends on the data; the record says of which function.

    Raises ReadForbiddenError, like any other read, where reads are forbidden.
    """
    counters["host_reads_of_data_dependent_shapes"] += 1
    return read(value, f"shape of {function}")


def _not_copied(value: Value, buffer: Buffer, error: Exception) -> None:
    """Raise OutOfMemoryError if the value was computed, and only its copy found no memory."""
    try:
        backend().wait(buffer.array)
    except Exception as raised:
        reraise_from_handler(raised)
        return
    raise OutOfMemoryError(
        f"a value of type {value.type.text} was computed, and there is no memory for a copy of "
        f"its {value.type.nbytes} bytes; read a part of it, or let go of something: {error}")


def _failed_at_read(value: Value, buffer: Buffer, error: Exception) -> LoomError:
    origin = buffer.origin
    wrapped: LoomError
    if origin is None:
        what = str(error) if isinstance(error, WrongResult) else f"{type(error).__name__}: {error}"
        wrapped = ExecutionError(f"reading a value of type {value.type.text} failed: {what}")
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


def sync_older(sequence: int) -> None:
    """Dispatch the pending work that this thread began up to an op's number.

    Another thread's is left alone: where that stands would decide what is one program.
    """
    me = get_ident()
    if me in held_back:
        return
    older: list[Component] = []
    with graph.trace.lock:
        graph.drain()
        for component in _components(sequence):
            if component.thread == me:
                for n in component.nodes:
                    if n.state == PENDING:
                        if n.seq <= sequence:
                            older.append(component)
                        break
    for component in older:
        evaluate_component(component, "sync")


def _components(sequence: int) -> list[Component]:
    """The components of pending work, oldest first; the caller holds the lock.

    Traces that are followed and do not end here are settled, if they began up to that number.
    """
    for follow in list(following.follows):
        if follow.nodes[0].seq <= sequence and known_traces.ending_of(follow) is None:
            settle(follow.component)
    return graph.oldest_first()


def sync(values: Iterable[Value] | None, wait: bool, reason: str = "sync") -> None:
    """Dispatch the pending work of some values, or all there is; wait for it if asked."""
    if held_back and not wait and get_ident() in held_back:
        return
    site = user_site()
    if values is None:
        while True:
            with graph.trace.lock:
                graph.drain()
                components = _components(graph.trace.sequence)
            if not components:
                return
            for component in components:
                evaluate_component(component, reason, site)
    else:
        graph.check_process()
        chosen = list(values)
        for value in chosen:
            if value.node.state == PENDING:
                evaluate(value.node, reason, site)
        if wait:
            for value in chosen:
                buffer = materialize(value, reason, site)
                if buffer.array is not None:
                    try:
                        backend().wait(buffer.array)
                    except Exception as error:
                        reraise_from_handler(error)
                        raise _failed_at_read(value, buffer, error) from error


def programs_of(values: Iterable[Value]) -> tuple[list[Program], set[int]]:
    """The programs that evaluating these pending values would run, in order; runs none of them.

    Also the numbers of those that compute one of the values. Raises ArgumentError if none of the
    values is pending, and the error of one that can only fail.
    """
    with graph.trace.lock:
        graph.drain()
        asked: set[Node] = set()
        found: dict[Component, None] = {}
        for value in values:
            c = graph.find(value.node) if value.node.state == PENDING else None
            if c is not None:
                asked.add(value.node)
                found[c] = None
        if not asked:
            raise ArgumentError(
                "program_of: none of the given values is pending; ask before they are read")
        programs: list[Program] = []
        computing: set[int] = set()
        seen: set[Component] = set()
        failed: dict[Node, LoomError] = {}
        preview = collect.Preview()
        for component in found:
            for together in collect.in_dependency_order(component):
                if together[0] in seen:
                    continue
                seen.update(together)
                nodes = [n for c in together for n in collect.pending_in(c)]
                if len(together) > 1:
                    nodes.sort(key=graph.by_sequence)
                for group in collect.groups(nodes):
                    runnable = _runnable(group, failed)
                    if runnable:
                        if not asked.isdisjoint(runnable):
                            computing.add(len(programs))
                        programs.append(preview.program(runnable))
        if not computing:
            raise reraised(next(e for n, e in failed.items() if n in asked))
        return programs, computing


def _runnable(nodes: list[Node], failed: dict[Node, LoomError]) -> list[Node]:
    """Those of the nodes that need nothing that has failed; the others are added to ``failed``."""
    found: list[Node] = []
    for n in nodes:
        errors = (m.error if m.state == FAILED else failed.get(m)
                  for m in n.inputs if isinstance(m, Node))
        error = next((e for e in errors if e is not None), None)
        if error is None:
            found.append(n)
        else:
            failed[n] = error
    return found
