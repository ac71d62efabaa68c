"""The evaluation policy: when and how recorded work runs.

When a value is needed, the connected component of pending work that contains it runs as one
program; work of other components stays pending. Components across a boundary that it
depends on run first, each as its own program. A batch schedules these as plans; each plan awaits
its inputs, runs and is finished.
"""

from __future__ import annotations

import time
from signal import SIGINT, default_int_handler, getsignal
from threading import get_ident
from typing import Any, Final

from .. import foreign, settings
from ..backends.backend import NotLowered
from ..backends.selection import backend
from ..counters import counters
from ..errors import ExecutionError, LoomError, ReadForbiddenError
from ..execute.run import run
from ..hooks import hooks
from ..interrupts import Deferred, reraise_from_handler, uninterrupted
from ..program.evaluations import Evaluation, new_evaluation
from ..program.plan import Plan
from ..trace import graph
from ..trace.graph import PENDING, SCHEDULED, Buffer, Component, Node
from ..trace.matching.match import match_of
from ..trace.results import COUNTED, FRESH
from ..trace.source import Site, user_site
from . import collect, failures
from .matching import ending_of

_clock: Final = time.perf_counter


def evaluate(node: Node, reason: str, site: Site | None = None) -> None:
    """Run the component of a pending node; return when its program is dispatched."""
    run_batch(_OfNode(node, reason, site if site is not None else user_site()))
    if node.state == SCHEDULED:
        await_dispatch(node)


def await_dispatch(node: Node) -> None:
    """Wait until the program of a scheduled node is dispatched, or has failed."""
    # an interrupt in another thread makes the node pending again, and takes it away
    evaluation: Evaluation | None = node.evaluation
    if evaluation is not None:
        _refuse_own(evaluation)
        evaluation.dispatched.wait()


def _refuse_own(evaluation: Evaluation) -> None:
    """Raise ReadForbiddenError in code that interrupted the run for which it would wait."""
    dispatched = evaluation.dispatched
    if not dispatched.done and dispatched.owner == get_ident():
        raise ReadForbiddenError(
            f"a value was read that is being computed by the {evaluation.reason} at "
            f"{evaluation.site}, which the reading code has interrupted, as a signal's handler "
            "does; it is there once that code has returned: let the handler set a flag, and read "
            "the value in the program", site=str(user_site()))


def evaluate_component(component: Component, reason: str, site: Site | None = None) -> None:
    """Run a component, unless another thread has just done so."""
    run_batch(_OfComponent(component, reason, site if site is not None else user_site()))


def run_batch(batch: Batch) -> None:
    """Schedule under the lock what the batch chooses, then run it in order.

    When interrupted (Ctrl-C), work that did not run yet is pending again, as if it had never
    been requested, and the interrupt propagates.

    Raises ReadForbiddenError in code that a program waits for (:mod:`lazyloom.foreign`).
    """
    if foreign.inside[0]:
        foreign.check()
    try:
        with Deferred(), graph.trace.lock:
            graph.drain()
            batch.choose()
        for plan in batch.plans:
            _run_plan(plan)
    except BaseException as error:
        uninterrupted(batch.put_back)
        if type(error) is KeyboardInterrupt and getsignal(SIGINT) is default_int_handler:
            # a user who pressed Ctrl-C wants their line, not the dozen of frames below this one
            raise error.with_traceback(None)  # noqa: B904
        raise


def run_prepared(plan: Plan) -> None:
    """Run a plan that the caller prepared; its failure becomes its values' error.

    If this raises and the plan is not ``completed``, the caller restores the state from before.
    """
    if foreign.inside[0]:
        foreign.check()
    _run_plan(plan)


def _run_plan(plan: Plan) -> None:
    """Await a plan's inputs, run it and finish it; its failure becomes its values' error."""
    observer: Any = hooks.observer
    if observer is None:
        _run_now(plan)
        return
    run = observer.begins(plan)
    try:
        _run_now(plan)
    finally:
        observer.ended(run)


def _run_now(plan: Plan) -> None:
    evaluation: Evaluation = plan.evaluation
    for buffer in plan.leaves:
        if buffer.given == FRESH:
            _count_upload(buffer, evaluation)
        producer: Evaluation | None = buffer.origin
        if producer is not None and producer is not evaluation:
            # not a failure of this plan, which is put back
            _refuse_own(producer)
    try:
        failed = _await_inputs(plan)
        if failed is not None:
            failures.run_rest(plan, failed, {})
        else:
            leaves = plan.leaves
            for k in plan.donatable:
                if leaves[k].holds != 1:
                    plan.donatable = [i for i in plan.donatable if leaves[i].holds == 1]
                    break
            try:
                run(plan, settings.donates())
            except NotLowered as error:
                failed_op = {error.number: failures.definition_error(plan, error)}
                failures.run_rest(plan, {}, failed_op)
        evaluation.results_ready = plan.completed and not evaluation.fallible
    except Exception as error:
        reraise_from_handler(error)
        if plan.completed:
            raise
        failures.fail(plan, error)
    finally:
        if plan.completed:
            with Deferred(), graph.trace.lock:
                collect.finish(plan)
                evaluation.dispatched.set()


def _count_upload(buffer: Buffer, evaluation: Evaluation) -> None:
    """Count data of the host's arrays, which a run takes for the first time."""
    host: Any = buffer.host
    if host is not None:
        size: int = host.nbytes
        evaluation.bytes_uploaded += size
        counters["bytes_uploaded"] += size
    buffer.given = COUNTED


class Batch:
    """What is scheduled together: the plans so far, and nodes taken from their component.

    Subclasses say what to schedule. (In compiled code, a closure created for each call would form
    a cycle with what it refers to, and keep that alive until the cycle collector runs.)
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
        """Make the nodes that did not run pending again."""
        with graph.trace.lock:
            for plan in self.plans:
                if plan.completed:
                    collect.finish(plan)
            collect.restore([p for p in self.plans if not p.completed])
            collect.adopt(self.taken)
        for plan in self.plans:
            plan.evaluation.dispatched.set()


class _OfNode(Batch):
    __slots__ = ("node",)

    def __init__(self, node: Node, reason: str, site: Site) -> None:
        super().__init__(reason, site)
        self.node: Node = node

    def choose(self) -> None:
        if self.node.state == PENDING and not _schedule_matched(self.node.component, self):
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
        if _schedule_matched(component, self):
            return
        match = match_of(component)
        if match is not None:
            match.settle()
        elif component in graph.trace.components:
            schedule_component(component, self.reason, self.site, self)


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


def _schedule_matched(component: Component | None, batch: Batch) -> bool:
    """Add the plan of a match, if it ends as its past trace did."""
    match = match_of(component)
    if match is None:
        return False
    started = _clock()
    ending = ending_of(match)
    if ending is None:
        return False
    evaluation = new_evaluation(batch.reason, batch.site)
    batch.taken.append(match.nodes)
    collect.schedule_matched(match, ending, evaluation, batch.plans)
    evaluation.ops = len(match.nodes)
    counters["traces_matched"] += 1
    evaluation.timings["collect"] = _clock() - started
    return True


def _schedule(nodes: list[Node], reason: str, site: Site, batch: Batch) -> None:
    """Add the plan of one program, if anything of it is left to run."""
    started = _clock()
    evaluation = new_evaluation(reason, site)
    plan = collect.schedule(nodes, evaluation, batch.plans)
    if plan is None:
        evaluation.dispatched.set()
        return
    evaluation.ops = len(plan.nodes)
    evaluation.places = plan.places
    evaluation.fallible = bool(plan.places)
    evaluation.timings["collect"] = _clock() - started


def _await_inputs(plan: Plan) -> dict[int, LoomError] | None:
    """Wait until the inputs' programs are dispatched; return errors by leaf number, if any failed.

    Also waits for results of programs that may fail while they run, so that a failure reaches
    only what depends on it.
    """
    for buffer in plan.leaves:
        producer: Evaluation | None = buffer.origin
        if producer is not None and (not producer.results_ready or buffer.array is None):
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
                        origin.error = failures.run_error(raised, origin)
                    failed[k] = origin.error
        elif buffer.host is None:
            failed[k] = origin.error or ExecutionError(
                f"the {origin.reason} at {origin.site} was interrupted in another thread before "
                "its program ran; read the value again to run it", site=str(origin.site))
    return failed or None
