"""Collection: from pending nodes to a plan with its canonical program.

Everything here runs under the graph's lock and executes nothing.
"""

from __future__ import annotations

from typing import Any, Final

from ..cache.memory import numbers_wanted
from ..dtypes import DType
from ..placements import DEFAULT_PLACEMENT
from ..program.donation import program_of_plan
from ..program.plan import Plan
from ..program.program import Program, Structure
from ..program.stream import Leaf, Operand, Result, ScalarSlot
from ..trace import graph
from ..trace.graph import DONE, FAILED, PENDING, SCHEDULED, Buffer, Component, Node
from ..trace.matching.match import Match, ended
from ..trace.scalars import Scalar
from ..trace.tape import renewal_of
from ..types import TensorType, leaf_type, placed_elsewhere
from . import checks, matching

#: a node's results of up to this many bytes are kept for a derivative that takes them
SMALL: Final = 4096


def pending_in(component: Component) -> list[Node]:
    """The live pending nodes of a component in the order of recording."""
    nodes = [n for n in component.nodes if n.state == PENDING]
    if not component.ordered:
        nodes.sort(key=graph.by_sequence)
    return nodes


def pending_of(component: Component) -> list[Node]:
    """:func:`pending_in`; the component keeps the list as its nodes if it had to be sorted."""
    nodes = pending_in(component)
    if not component.ordered:
        component.nodes = nodes
        component.ordered = True
        component.dead = 0
    return nodes


def in_dependency_order(component: Component) -> list[list[Component]]:
    """The components that must run before a component (across boundaries), then itself.

    Components that depend on each other run as one: they are one entry.
    """
    required = _required(component)
    if not required:
        return [[component]]
    # Tarjan's strongly connected components, which come out after those they need
    order: list[list[Component]] = []
    number: dict[Component, int] = {component: 0}
    lowest: dict[Component, int] = {component: 0}
    path: list[tuple[Component, list[Component]]] = [(component, required)]
    open_: list[Component] = [component]
    done: set[Component] = set()
    while path:
        c, rest = path[-1]
        if rest:
            d = rest.pop()
            if d not in number:
                number[d] = lowest[d] = len(number)
                path.append((d, _required(d)))
                open_.append(d)
            elif d not in done:
                lowest[c] = min(lowest[c], number[d])
            continue
        path.pop()
        if path:
            before = path[-1][0]
            lowest[before] = min(lowest[before], lowest[c])
        if lowest[c] == number[c]:
            at = open_.index(c)
            order.append(open_[at:])
            done.update(open_[at:])
            del open_[at:]
    return order


def joined(together: list[Component]) -> Component:
    """Join the components of an entry into one."""
    component = together[0]
    for c in together[1:]:
        component = graph.join(component, c)
    return component


def _required(component: Component) -> list[Component]:
    required: dict[Component, None] = {}
    for n in component.nodes:
        if n.state == PENDING:
            for m in n.inputs:
                if isinstance(m, Node) and m.state == PENDING and m.boundary:
                    c = graph.find(m)
                    if c is not None and c is not component:
                        required[c] = None
    return list(required)


def groups(nodes: list[Node]) -> list[list[Node]]:
    """Split nodes into programs, in an order in which these can run.

    Each is on one device or mesh, and what can fail while it runs fails nothing unrelated.
    """
    if placed_elsewhere():
        apart = by_devices(nodes)
        if len(apart) > 1:
            return [group for part in apart for group in _by_failures(part)]
    return _by_failures(nodes)


def by_devices(nodes: list[Node]) -> list[list[Node]]:
    """Split nodes that are on several devices or meshes, or go from one to another.

    Nodes on the default device are part of the only other program there is; with several others,
    or with collectives of processes among them, they have programs of their own.
    """
    others: set[str] = set()
    split = False
    collective = False
    for n in nodes:
        device = _runs_on(n)
        if n.spec is not None and n.spec.shared:
            collective = True
        if device != DEFAULT_PLACEMENT.device:
            others.add(device)
        for m in n.inputs:
            if isinstance(m, Node) and m.state == PENDING and m.spec is not None and (
                m.spec.placement is not None and _runs_on(m) != device
            ):
                split = True
    if len(others) < 2 and not split and not (collective and others):
        return [nodes]
    #: of a node, how often the way to it goes from one device to another
    levels: dict[Node, int] = {}
    result: dict[tuple[int, str], list[Node]] = {}
    for n in nodes:
        device = _runs_on(n)
        level = 0
        for m in n.inputs:
            if isinstance(m, Node) and m in levels:
                level = max(level, levels[m] + (_runs_on(m) != device))
        levels[n] = level
        result.setdefault((level, device), []).append(n)
    return [result[key] for key in sorted(result)]


def _runs_on(n: Node) -> str:
    """The device or mesh that a node runs on: for one that moves its operand, the operand's."""
    t = n.types[0]
    if n.spec is not None and n.spec.placement is not None:
        m = n.inputs[0]
        if isinstance(m, Node):
            t = m.types[0 if n.indices is None else n.indices[0]]
        else:
            return DEFAULT_PLACEMENT.device
    return t.placement.device


def _by_failures(nodes: list[Node]) -> list[list[Node]]:
    """Split nodes so that a ``fallible`` node that fails while running fails nothing unrelated.

    A failure of any other node while it runs, for want of memory for instance, is that of its whole
    program. Nodes are grouped by the set of fallible nodes they depend on; each group is a program
    of its own, and the groups come in an order in which they can run.
    """
    for n in nodes:
        spec = n.spec
        if spec is not None and spec.fallible:
            break
    else:
        return [nodes]
    ancestors: dict[Node, frozenset[int]] = {}
    result: dict[frozenset[int], list[Node]] = {}
    none: frozenset[int] = frozenset()
    for n in nodes:
        fallible = none
        for m in n.inputs:
            if isinstance(m, Node):
                fallible |= ancestors.get(m, none)
        assert n.spec is not None
        if n.spec.fallible:
            fallible |= {n.seq}
        ancestors[n] = fallible
        result.setdefault(fallible, []).append(n)
    # a proper subset has fewer members; equal sizes never depend on each other
    return [result[key] for key in sorted(result, key=len)]


def canonical(
    nodes: list[Node],
) -> tuple[Structure, list[Buffer], dict[DType, list[Any]]]:
    """The structure of these nodes, their leaves' buffers, and scalar values.

    Numbers the nodes and buffers, and counts the uses of each node, for the next steps
    (:func:`wanted_outputs`); the next call numbers and counts anew. Operands go into the stream in
    the form of :data:`lazyloom.program.stream.Item`, without an object for each.
    """
    epoch = graph.trace.epoch + 1
    graph.trace.epoch = epoch
    stream: list[Any] = []
    leaves: list[Buffer] = []
    leaf_types: list[TensorType] = []
    scalars: dict[DType, list[Any]] = {}
    ours = not placed_elsewhere()
    for slot, n in enumerate(nodes):
        n.slot = slot
        n.epoch = epoch
        n.uses = 0
        stream.append(n.spec)
        indices = n.indices
        for position, m in enumerate(n.inputs):
            if isinstance(m, Node):
                index = 0 if indices is None else indices[position]
                if m.epoch == epoch:
                    m.uses += 1
                    if index:
                        stream.append((m.slot, index))
                    else:
                        stream.append(m.slot)
                else:
                    assert m.buffers is not None, m.state
                    buffer = m.buffers[index]
                    assert buffer is not None
                    if buffer.epoch != epoch:
                        buffer.epoch = epoch
                        buffer.slot = len(leaves)
                        leaves.append(buffer)
                        t = m.types[index]
                        leaf_types.append(t if ours else leaf_type(t, buffer.placement))
                    stream.append(-1 - buffer.slot)
            elif isinstance(m, Scalar):
                if m.baked is not None:
                    stream.append(m.baked)
                else:
                    stream.append(m.type.dtype)
                    values = scalars.get(m.type.dtype)
                    if values is None:
                        values = scalars[m.type.dtype] = []
                    values.append(m.number)
            else:
                stream.append(None)
    return Structure(tuple(stream), tuple(leaf_types)), leaves, scalars


def wanted_outputs(nodes: list[Node]) -> tuple[list[tuple[int, int]], list[bool]]:
    """Which results must be kept, and which nodes must keep their operands.

    The wanted results are those that a live value or a node outside refers to, and those that a
    surviving tape may need: results of heavy ops, and small ones, which take longer to record
    again than to keep. Nodes keep their operands if a gradient may still be taken through them,
    or if a gradient would have to compute them again.
    """
    wanted: list[tuple[int, int]] = []
    keeps = [False] * len(nodes)
    needed = [False] * len(nodes)
    #: a derivative takes the node's data
    taken = [False] * len(nodes)
    #: a derivative takes the node's data, or data computed again from it
    data_used = [False] * len(nodes)
    for slot in range(len(nodes) - 1, -1, -1):
        n = nodes[slot]
        referred = n.refs > n.uses and matching.is_referred(n, n.uses)
        outside = n.handles > 0 or referred
        kept = False
        # a handle that no gradient flows through, such as a detached loss, does not use the tape
        tape = n.tracked and not n.freed and (
            n.carried > 0 or referred or needed[slot])
        if outside:
            kept = True
            counts = n.out_handles
            everything = referred or counts is None
            flag_index = 1 if n.spec is not None and n.spec.checked else -1
            for index in range(len(n.types) - 1, -1, -1):
                if everything or index == flag_index or (
                    counts is not None and counts.of(index) > 0
                ):
                    wanted.append((slot, index))
        elif needed[slot] and n.spec is not None and (not n.freed or data_used[slot]) and (
            n.spec.heavy or taken[slot] and _is_small(n)
        ):
            kept = True
            for index in range(len(n.types) - 1, -1, -1):
                wanted.append((slot, index))
        elif n.spec is not None and n.spec.checked:
            wanted.append((slot, 1))
        # what a derivative gets computed once more
        renewed = tape and n.rule is not None and renewal_of(n) is not None
        if renewed:
            data_used[slot] = False
        # no pass goes through a freed node: it matters only if its data are used
        if tape or (needed[slot] and not kept and (not n.freed or data_used[slot])):
            keeps[slot] = True
            spec = n.spec
            again = data_used[slot] and not kept or kept and len(n.types) > 1
            for position, m in enumerate(n.inputs):
                if isinstance(m, Node) and m.epoch == n.epoch and not (
                    renewed and position < n.rule.results
                ):
                    needed[m.slot] = True
                    if again:
                        data_used[m.slot] = True
                    if tape and not taken[m.slot] and spec is not None and (
                        spec.needs(position, n.grad_mask)
                    ):
                        taken[m.slot] = data_used[m.slot] = True
    wanted.reverse()
    return wanted, keeps


def _is_small(n: Node) -> bool:
    """Return True if a node's results are kept rather than computed again."""
    size = 0
    for t in n.types:
        size += t.nbytes
    return size <= SMALL


def failed_operand(n: Node) -> Node | None:
    """An operand that is known to have failed, if any."""
    for m in n.inputs:
        if isinstance(m, Node) and m.state == FAILED:
            return m
    return None


def schedule(nodes: list[Node], evaluation: Any, plans: list[Plan]) -> Plan | None:
    """Turn pending nodes into a plan, add it to the plans and mark them as scheduled.

    The plan is complete before any node changes its state, so :func:`restore` can undo it
    wherever an interrupt leaves it.

    Nodes with a failed operand fail at once with the same error. Returns None if nothing is
    left to run.
    """
    failures = False
    for n in nodes:
        failed = failed_operand(n)
        if failed is not None:
            assert failed.error is not None
            fail(n, failed.error)
            failures = True
    if failures:
        # failing a node also releases operands that only it needed
        nodes = [n for n in nodes if n.state == PENDING]
    if not nodes:
        return None
    structure, leaves, scalars = canonical(nodes)
    wanted, keeps = wanted_outputs(nodes)
    if evaluation.reason != "cut":
        matching.learn(nodes, structure, wanted, keeps)
    places = [(n.spec.op.name, n.site) for n in nodes if n.spec is not None and n.spec.fallible]
    checked = False
    collective = False
    for n in nodes:
        if n.spec is not None:
            if n.spec.checked:
                checked = True
            if n.spec.shared:
                collective = True
    plan = Plan(nodes, structure, leaves, scalars, wanted, _results(wanted, evaluation), [])
    plan.collective = collective
    plan.places = places
    plan.evaluation = evaluation
    if _need_checks(plan, checked):
        checks.attach(nodes, leaves, wanted, plan.results)
    _take_over(plan, evaluation, keeps, plans)
    return plan


def schedule_matched(
    match: Match, ending: matching.Ending, evaluation: Any, plans: list[Plan]
) -> None:
    """:func:`schedule` for a match that ends as its past trace did."""
    wanted = ending.wanted
    plan = Plan(match.nodes, ending.structure, matching.leaves_of(match),
                matching.numbers(match, ending), wanted, _results(wanted, evaluation), [])
    plan.evaluation = evaluation
    plan.collective = ending.collective
    if _need_checks(plan, ending.checked):
        matching.number(match)
        checks.attach(plan.nodes, plan.leaves, wanted, plan.results)
    plans.append(plan)
    work = matching.release(match, evaluation)
    ended(match)
    _await_results(plan, work)


def _results(wanted: list[tuple[int, int]], evaluation: Any) -> list[Buffer]:
    results: list[Buffer] = []
    for _ in wanted:
        buffer = Buffer(None, None, False, evaluation)
        buffer.owners = 1
        results.append(buffer)
    return results


def _take_over(plan: Plan, evaluation: Any, keeps: list[bool], plans: list[Plan]) -> None:
    """Add a plan to the list of plans, and mark its nodes as scheduled."""
    plans.append(plan)
    work: list[Node] = []
    for slot, n in enumerate(plan.nodes):
        n.state = SCHEDULED
        n.component = None
        n.evaluation = evaluation
        if not keeps[slot]:
            graph.release_inputs(n, work)
    _await_results(plan, work)


def _need_checks(plan: Plan, checked: bool) -> bool:
    """Hold a plan's leaves; return True if its results need checks, as they do if any of its ops
    is ``checked``."""
    for leaf in plan.leaves:
        leaf.holds += 1
        if leaf.checks is not None:
            checked = True
    return checked


def _await_results(plan: Plan, work: list[Node]) -> None:
    """Give the buffers of results to their nodes, and take apart the nodes that were released."""
    nodes = plan.nodes
    results = plan.results
    # zip takes longer in compiled code
    for k, (slot, index) in enumerate(plan.wanted):
        buffer = results[k]
        n = nodes[slot]
        buffers = n.buffers
        if buffers is None:
            buffers = n.buffers = [None] * len(n.types)
        buffers[index] = buffer
    graph.kill_all(work)
    plan.donatable = [i for i, b in enumerate(plan.leaves) if b.owners == 0 and not b.shared]


def finish(plan: Plan) -> None:
    """After the dispatch, mark scheduled nodes as done and release those that nobody wants."""
    if plan.finished:
        return
    work: list[Node] = []
    for n in plan.nodes:
        if n.state == SCHEDULED:
            n.state = DONE
            n.boundary = False
            spec = n.spec
            if spec is not None and spec.effect:
                n.refs -= 1
            if n.handles == 0 and n.refs == 0:
                work.append(n)
    graph.kill_all(work)
    plan.finished = True
    for leaf in plan.leaves:
        leaf.holds -= 1
        if leaf.recoverable and not plan.failed:
            graph.empty(leaf)
    graph.drain()


def restore(plans: list[Plan]) -> None:
    """Make the nodes of plans that never ran pending again, and restore their operands."""
    produced: dict[Buffer, tuple[Node, int]] = {}
    for plan in plans:
        if plan.finished:
            continue
        plan.finished = True
        component = Component()
        leaf_nodes: dict[int, tuple[Node, int]] = {}
        for k, buffer in enumerate(plan.leaves):
            buffer.holds -= 1
            leaf_nodes[k] = produced.get(buffer) or (
                graph.leaf_node(plan.structure.leaf_types[k], buffer), 0)
        for (slot, index), buffer in zip(plan.wanted, plan.results, strict=True):
            produced[buffer] = (plan.nodes[slot], index)
        for n, instruction in zip(plan.nodes, plan.structure.instructions, strict=True):
            if n.state == FAILED or n.state == DONE:
                continue
            if not n.inputs:
                _relink(n, instruction.operands, plan, leaf_nodes)
            n.state = PENDING
            n.buffers = None
            n.evaluation = None
            # the nodes that read it may be in another component by now
            n.boundary = True
            n.component = component
            component.nodes.append(n)
        graph.trace.components[component] = None
    for plan in reversed(plans):
        for n in reversed(plan.nodes):
            if n.state == PENDING and n.handles == 0 and n.refs == 0:
                graph.kill(n)
    graph.drain()


def adopt(taken: list[list[Node]]) -> None:
    """Give pending nodes that were taken from their component and not run a new one."""
    placed = {n for c in graph.trace.components for n in c.nodes}
    for nodes in taken:
        homeless = [n for n in nodes if n.state == PENDING and n not in placed]
        if homeless:
            component = Component()
            component.nodes = homeless
            graph.trace.components[component] = None
            for n in homeless:
                n.component = component
                # operands may be in another component now
                n.boundary = True


def _relink(
    n: Node, operands: tuple[Operand, ...], plan: Plan, leaf_nodes: dict[int, tuple[Node, int]]
) -> None:
    inputs: list[graph.Input] = []
    indices: list[int] = []
    for item in operands:
        index = 0
        m: graph.Input
        if isinstance(item, Result):
            m, index = plan.nodes[item.instruction], item.number
        elif isinstance(item, Leaf):
            m, index = leaf_nodes[item.number]
        elif isinstance(item, ScalarSlot):
            m = Scalar(plan.scalars[item.dtype][item.ordinal], item.dtype, bake=False)
        elif item is None:
            m = None
        else:
            m = Scalar(item.number, item.dtype)
        if isinstance(m, Node):
            m.refs += 1
        inputs.append(m)
        indices.append(index)
    n.inputs = tuple(inputs)
    n.indices = tuple(indices) if any(indices) else None


def _release_effect(n: Node) -> None:
    if n.spec is not None and n.spec.op.execution.effect:
        n.refs -= 1


def fail(n: Node, error: Any) -> None:
    """Mark a node as failed with an error."""
    reach(n, error)
    work: list[Node] = []
    _release_effect(n)
    n.state = FAILED
    n.error = error
    n.component = None
    n.boundary = False
    n.buffers = [None] * len(n.types)
    graph.trace.failing = True
    graph.release_inputs(n, work)
    graph.kill_all(work)
    graph.trace.failing = False


def reach(n: Node, error: Any) -> None:
    """Note that a node failed with an error, for storages whose contents its result replaced."""
    if type(error.reached) is not set:
        error.reached = set()
    error.reached.add(n.seq)


def _unheld(m: Node, buffer: Buffer) -> bool:
    """Return True if no result of a node that is in the buffer has a handle."""
    counts = m.out_handles
    if counts is None or m.buffers is None:
        return m.handles == 0
    return all(
        other is not buffer or counts.of(index) == 0 for index, other in enumerate(m.buffers))


class Preview:
    """The programs that would run, one after the other; pending work stays as it is.

    Stand-ins for buffers that do not exist yet are removed again.
    """

    __slots__ = ("released",)

    def __init__(self) -> None:
        #: for each node, how many of the uses counted in it will have been released by then
        self.released: dict[Node, int] = {}

    def program(self, nodes: list[Node]) -> Program:
        """The program that scheduling these nodes would run next."""
        inside = set(nodes)
        stand_ins: list[Node] = []
        for n in nodes:
            for m in n.inputs:
                if isinstance(m, Node) and m.buffers is None and m not in inside:
                    # still pending: an input that has no buffer yet
                    m.buffers = [Buffer(None, None, False) for _ in m.types]
                    stand_ins.append(m)
        try:
            structure, leaves, scalars = canonical(nodes)
            wanted, keeps = wanted_outputs(nodes)
            if numbers_wanted[0] and scalars:
                # slow to import
                from ..execute.known_numbers import known

                constants: Any = known(structure, scalars)
                if constants is not None:
                    structure = constants[0]
            holders: dict[int, set[Node]] = {}
            for slot, n in enumerate(nodes):
                for position, m in enumerate(n.inputs):
                    if not isinstance(m, Node):
                        continue
                    if not keeps[slot]:
                        self.released[m] = self.released.get(m, 0) + 1
                    if m not in inside:
                        index = 0 if n.indices is None else n.indices[position]
                        assert m.buffers is not None
                        buffer = m.buffers[index]
                        assert buffer is not None
                        holders.setdefault(buffer.slot, set()).add(m)
            donatable = []
            for slot, buffer in enumerate(leaves):
                if not buffer.shared and len(holders[slot]) == (buffer.owners or 1) and all(
                    _unheld(m, buffer) and m.refs == self.released.get(m, 0) for m in holders[slot]
                ):
                    donatable.append(slot)
        finally:
            for m in stand_ins:
                m.buffers = None
        return program_of_plan(structure, wanted, donatable)
