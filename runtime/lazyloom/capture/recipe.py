"""The prepared plan of a template, with new inputs at each call."""

from __future__ import annotations

from typing import Any, Final, final

from ..dtypes import DType
from ..evaluate import checks, collect
from ..evaluate.evaluate import Batch, run_batch, run_prepared, schedule_component
from ..interrupts import uninterrupted
from ..program.evaluations import Evaluation, new_evaluation
from ..program.plan import Plan
from ..program.program import Structure
from ..trace import graph
from ..trace.graph import DONE, SCHEDULED, Buffer, Component, Node, Value
from ..trace.matching.match import match_of
from ..trace.results import Handles
from ..trace.scalars import Scalar
from ..trace.source import Site
from .template import RESULT, SOURCE, Draw, FedNumber, Ref, Template

REASON: Final = "captured call"


def buffer_of(value: Value) -> Buffer | None:
    """Return the buffer of a value that was computed, or is being computed; None if there is none.
    """
    node = value.node
    if (node.state == DONE or node.state == SCHEDULED) and node.buffers is not None:
        return node.buffers[value.index]
    return None


class _OfCall(Batch):
    """Schedules the nodes that a call recorded."""

    def __init__(self, nodes: list[Node], site: Site) -> None:
        super().__init__(REASON, site)
        self.nodes: list[Node] = nodes

    def choose(self) -> None:
        components: dict[Component, None] = {}
        for n in self.nodes:
            match = match_of(n.component) if n.state == graph.PENDING else None
            if match is not None:
                match.settle()
        for n in self.nodes:
            component = graph.find(n) if n.state == graph.PENDING else None
            if component is not None:
                components[component] = None
        for component in components:
            if component.parent is None and component.nodes:
                schedule_component(component, REASON, self.site, self)


def run_nodes(nodes: list[Node], site: Site) -> Plan | None:
    """Run the components of some pending nodes; return the plan, if it was one program."""
    batch = _OfCall(nodes, site)
    run_batch(batch)
    return batch.plans[0] if len(batch.plans) == 1 else None


@final
class Recipe:
    """The plan of a template's run.

    Attributes:
        structure, wanted: those of the program.
        refs: the source or constant that is each leaf of the program.
        also: further operands that are known to be one of the leaves.
        scalars: its run-time numbers, by dtype.
        fed: those of them that change with each call: (dtype, position, what they are).
        owns: for each result, the numbers of the flags that it depends on.
        leaves_of: for each result, the numbers of the leaves that it depends on.
    """

    __slots__ = ("template", "structure", "wanted", "refs", "also", "scalars", "fed", "flags",
                 "owns", "leaves_of", "slots")

    def __init__(self, template: Template, plan: Plan) -> None:
        self.template: Final = template
        self.structure: Final[Structure] = plan.structure
        self.wanted: Final[list[tuple[int, int]]] = plan.wanted
        self.refs: list[Ref] = []
        self.also: list[tuple[Ref, int]] = []
        self.scalars: Final[dict[DType, list[Any]]] = plan.scalars
        self.fed: list[tuple[DType, int, Any]] = []
        #: number of the result that is the flag of each checked op, by the op's number
        self.flags: dict[int, int] = {}
        self.owns: list[list[int]] = []
        self.leaves_of: list[list[int]] = []
        #: results of each op, as numbers in ``wanted``
        self.slots: dict[int, list[int]] = {}

    def complete(self, buffers: dict[tuple[int, int], Buffer | None], plan: Plan) -> bool:
        """Find out what each leaf is from the buffers of sources and constants.

        Return False if the run contained more than this template.
        """
        template = self.template
        shells = template.shells
        if len(plan.nodes) != len(shells):
            return False
        for shell, n in zip(shells, plan.nodes, strict=True):
            if shell.spec is not n.spec:
                return False
            shell.uses = n.uses
        number = {buffer: k for k, buffer in enumerate(plan.leaves)}
        refs: list[Ref | None] = [None] * len(plan.leaves)
        depends: list[set[int]] = []
        flags: list[set[int]] = []
        wanted = {pair: k for k, pair in enumerate(self.wanted)}
        counts: dict[DType, int] = {}
        seen: set[tuple[int, int]] = set()
        for k, shell in enumerate(shells):
            own_leaves: set[int] = set()
            own_flags: set[int] = set()
            for item in template.operands[k]:
                if isinstance(item, Ref):
                    if item.kind == RESULT:
                        own_leaves |= depends[item.number]
                        own_flags |= flags[item.number]
                        continue
                    buffer = buffers.get((item.kind, item.number))
                    leaf = None if buffer is None else number.get(buffer)
                    if leaf is None:
                        return False
                    own_leaves.add(leaf)
                    if refs[leaf] is None:
                        refs[leaf] = item
                    elif (item.kind, item.number) not in seen:
                        self.also.append((item, leaf))
                    seen.add((item.kind, item.number))
                elif isinstance(item, (Draw, FedNumber)):
                    position = counts.get(item.dtype, 0)
                    counts[item.dtype] = position + 1
                    self.fed.append((item.dtype, position, item))
                elif isinstance(item, Scalar) and item.baked is None:
                    counts[item.type.dtype] = counts.get(item.type.dtype, 0) + 1
            assert shell.spec is not None
            if shell.spec.checked:
                at = wanted.get((k, 1))
                if at is None:
                    return False
                self.flags[k] = at
                own_flags = own_flags | {k}
            depends.append(own_leaves)
            flags.append(own_flags)
        for root in template.roots:
            if root.ref.kind == RESULT and root.ref.index == 1 and root.ref.number in self.flags:
                return False
        if any(r is None for r in refs) or counts != {
            d: len(v) for d, v in self.scalars.items()
        }:
            return False
        self.refs = [r for r in refs if r is not None]
        for k, (slot, _) in enumerate(self.wanted):
            self.slots.setdefault(slot, []).append(k)
            mine = self.flags.get(slot) == k
            self.owns.append([] if mine else sorted(flags[slot]))
            self.leaves_of.append([] if mine else sorted(depends[slot]))
        return True

    def prepare(self, sources: list[Value], numbers: list[Any], site: Site) -> PreparedPlan | None:
        """Return a plan over these sources, with the values of the template's roots.

        None where it does not fit this time: something is pending or has failed, shares memory with
        something else, or was checked and the outcome is not known yet.
        """
        template = self.template
        with graph.trace.lock:
            graph.drain()
            leaves: list[Buffer] = []
            for ref in self.refs:
                buffer = self._buffer(ref, sources)
                if buffer is None:
                    return None
                leaves.append(buffer)
            if len(set(leaves)) != len(leaves):
                return None
            for ref, number in self.also:
                if self._buffer(ref, sources) is not leaves[number]:
                    return None
            evaluation: Evaluation = new_evaluation(REASON, site)
            results: list[Buffer] = []
            for _ in self.wanted:
                buffer = Buffer(None, None, False, evaluation)
                buffer.owners = 1
                results.append(buffer)
            checks.attach_known(self.flags, self.owns, self.leaves_of, leaves, results,
                                template.shells)  # fmt: skip
            nodes = list(template.shells)
            for slot, numbers_of_slot in self.slots.items():
                shell = nodes[slot]
                only_flag = len(numbers_of_slot) == 1 and self.flags.get(slot) == numbers_of_slot[0]
                if only_flag:
                    continue
                graph.trace.sequence += 1
                n = Node(shell.spec, (), None, shell.types, graph.trace.sequence, shell.place,
                         shell.offset)  # fmt: skip
                n.state = SCHEDULED
                n.evaluation = evaluation
                n.uses = shell.uses
                n.tracked, n.grad_mask, n.freed = shell.tracked, shell.grad_mask, shell.freed
                count = len(shell.types)
                if count > 1:
                    n.out_handles = Handles(count, 0)
                n.buffers = [None] * count
                for number in numbers_of_slot:
                    # a flag belongs only to its check
                    if self.flags.get(slot) != number:
                        n.buffers[self.wanted[number][1]] = results[number]
                nodes[slot] = n
            values: list[Value] = []
            for root in template.roots:
                ref = root.ref
                if ref.kind == RESULT:
                    n = nodes[ref.number]
                    if root.token is not None:
                        graph.set_token(n, ref.index, root.token)
                    values.append(graph.hold(n, ref.index, root.requires_grad))
                else:
                    value = sources[ref.number] if ref.kind == SOURCE else (
                        template.constants[ref.number])
                    values.append(graph.hold(value.node, value.index, root.requires_grad))
            scalars = self.scalars
            if self.fed:
                scalars = {d: list(v) for d, v in scalars.items()}
                for dtype, position, item in self.fed:
                    scalar: Scalar = item.scalar(numbers)
                    if scalar.baked is not None:
                        # almost never: the count of draws wrapped around to 0 or 1
                        scalar = Scalar(scalar.number, dtype, bake=False)
                    scalars[dtype][position] = scalar.number
            plan = Plan(nodes, self.structure, leaves, scalars, self.wanted, results, [])
            plan.evaluation = evaluation
            evaluation.ops = len(nodes)
            for buffer in leaves:
                buffer.holds += 1
        return PreparedPlan(plan, values)

    def _buffer(self, ref: Ref, sources: list[Value]) -> Buffer | None:
        value = sources[ref.number] if ref.kind == SOURCE else self.template.constants[ref.number]
        node = value.node
        if node.state != DONE or node.buffers is None:
            return None
        return node.buffers[value.index]


@final
class PreparedPlan:
    """A plan with its inputs, and the values of its results."""

    __slots__ = ("plan", "values")

    def __init__(self, plan: Plan, values: list[Value]) -> None:
        self.plan: Final = plan
        self.values: list[Value] = values

    def run(self) -> None:
        """Dispatch the plan; errors are raised where the values are read."""
        plan = self.plan
        try:
            with graph.trace.lock:
                graph.drain()
                plan.donatable = [
                    i for i, b in enumerate(plan.leaves) if b.owners == 0 and not b.shared]
            run_prepared(plan)
        except BaseException:
            uninterrupted(self._put_back)
            raise

    def _put_back(self) -> None:
        plan = self.plan
        if not plan.completed:
            self.undo()
            return
        with graph.trace.lock:
            collect.finish(plan)
        plan.evaluation.dispatched.set()

    def undo(self) -> None:
        """Make the results pending again, as if the plan had never run."""
        plan = self.plan
        nodes: list[Node] = []
        with graph.trace.lock:
            for n in plan.nodes:
                if n.state == graph.DEAD:
                    n = Node(n.spec, (), None, n.types, n.seq, n.place, n.offset)
                    graph.trace.sequence += 1
                nodes.append(n)
            # operands come before the ops that use them
            for n in nodes:
                graph.trace.sequence += 1
                n.seq = graph.trace.sequence
            collect.restore([Plan(nodes, plan.structure, plan.leaves, plan.scalars, plan.wanted,
                                  plan.results, [])])  # fmt: skip
        plan.finished = True
        plan.evaluation.dispatched.set()

