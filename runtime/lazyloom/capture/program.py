"""A capture between two points of a program, run again over other inputs.

For programs that say themselves what is captured, as those of the C ABI do: nothing is watched,
and only the inputs' types are guarded.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any, Final, final

from ..errors import ArgumentError
from ..evaluate.evaluate import evaluate
from ..evaluate.reading import blind, held_back
from ..hooks import hooks
from ..interrupts import Deferred, uninterrupted
from ..tensor.contents import current, write, write_locks
from ..tensor.storage import writers
from ..tensor.tensor import Tensor
from ..trace import graph
from ..trace.graph import PENDING, Buffer, Node, Value
from ..trace.source import Site, user_site
from .recipe import REASON, Recipe, buffer_of, run_nodes
from .template import CONSTANT, RESULT, SOURCE, NotCapturable, Template, settle_all, template_of


def _dispatch(values: list[Value]) -> None:
    for value in values:
        if value.node.state == PENDING:
            evaluate(value.node, REASON)


@final
class Section:
    """What this thread records over these inputs, from now until :meth:`end`.

    Pending inputs are dispatched first; nothing else is dispatched before the end.

    Args:
        inputs: the values that each run replaces.

    Raises:
        ArgumentError: two inputs are one value.
    """

    def __init__(self, inputs: list[Value]) -> None:
        #: the number of each input
        self.numbers: Final[dict[tuple[Node, int], int]] = {}
        self.open = False
        for k, v in enumerate(inputs):
            first = self.numbers.setdefault((v.node, v.index), k)
            if first != k:
                raise ArgumentError(
                    f"inputs[{k}] has the very contents of inputs[{first}], expected each tensor "
                    "once")
        _dispatch(inputs)
        self.inputs: Final = inputs
        self.start: Final = graph.last_sequence()
        self.thread: Final = get_ident()
        held_back.add(self.thread)
        # what is known about the inputs' data holds only for these inputs
        blind.add(self.thread)
        self.open = True
        #: whom the end is told to, what, and where it began
        self.observer: Any = hooks.observer
        self.watched: Any = None
        if self.observer is not None:
            self.watched = self.observer.captures(), user_site()

    def made(self, value: Value) -> bool:
        """Return True if a value was recorded since the section began."""
        return value.node.seq > self.start

    def cancel(self) -> None:
        """End the section without a capture; what was recorded stays as it is."""
        if self.open:
            self.open = False
            held_back.discard(self.thread)
            blind.discard(self.thread)

    def end(self, results: list[Value], written: list[Value | None]) -> CapturedProgram:
        """Return what was recorded, as a program.

        Args:
            results: what each run returns, without history.
            written: what each run writes to each input, or None. One that requires a gradient is
                a leaf.

        Raises:
            ArgumentError: it depends on something besides the inputs, or was already computed.
        """
        self.cancel()
        roots = [v.detach() for v in results]
        places: list[int] = []
        leaves: list[bool] = []
        for v in written:
            places.append(-1 if v is None else len(roots))
            leaves.append(v is not None and v.requires_grad)
            if v is not None:
                roots.append(v)
        settle_all()
        try:
            self._check_origins(roots)
            template = template_of(roots, self.start, self.numbers, {}, set())
        except NotCapturable as problem:
            site = problem.site
            raise ArgumentError(
                f"what was recorded cannot run again: {problem.reason}",
                site=str(site) if isinstance(site, Site) else None) from None
        # no result of a run has a history, which would keep the memory of inputs alive
        template.freed = list(range(len(template.shells)))
        for shell in template.shells:
            shell.freed = True
        if self.observer is not None:
            since, site = self.watched
            self.observer.captured_section(
                since, site, tuple([shell.spec for shell in template.shells]))
        return CapturedProgram(template, self.inputs, len(results), places, leaves)

    def _check_origins(self, roots: list[Value]) -> None:
        """Raise NotCapturable for a value from before the section that is not an input."""
        seen: set[Node] = set()
        stack: list[tuple[Node, int]] = [(v.node, v.index) for v in roots]
        while stack:
            n, index = stack.pop()
            if n.seq <= self.start:
                if (n, index) not in self.numbers:
                    raise NotCapturable(
                        f"a {n.types[index].text} from before it began is used that is not among "
                        "its inputs", n.site)
                continue
            if n in seen or n.spec is None or n.state != PENDING:
                continue
            seen.add(n)
            for position, m in enumerate(n.inputs):
                if isinstance(m, Node):
                    stack.append((m, 0 if n.indices is None else n.indices[position]))


@final
class CapturedProgram:
    """A recorded section that runs over inputs of the same types.

    Attributes:
        types: the types of the inputs.
        requires_grad: whether each input required a gradient.
        results: how many values each run returns.
        written: for each input, whether a run writes to it.
        writes: whether a run writes to any input.
    """

    def __init__(
        self, template: Template, inputs: list[Value], results: int, places: list[int],
        leaves: list[bool],
    ) -> None:  # fmt: skip
        self.types: Final = [v.type for v in inputs]
        self.requires_grad: Final = [v.requires_grad for v in inputs]
        self.results: Final = results
        self.written: Final = [p >= 0 for p in places]
        self.writes: Final = any(self.written)
        self._template: Final = template
        self._places: Final = places
        self._leaves: Final = leaves
        self._recipe: Recipe | None = None

    def wrong(self, inputs: list[Value]) -> tuple[str, str] | None:
        """Return what is wrong with inputs, or None: "shape", "dtype" or "", and a description."""
        types = self.types
        if len(inputs) != len(types):
            return "", f"{len(inputs)} inputs are given, expected {len(types)}"
        needs = self.requires_grad
        for k, v in enumerate(inputs):
            if v.type is not types[k]:
                return "shape" if v.type.shape != types[k].shape else "dtype", (
                    f"inputs[{k}] is {v.type.text}, expected {types[k].text} as it was captured "
                    "with; cast it, or capture the program for this type, too")
            if v.requires_grad != needs[k]:
                now, then = (
                    "requires a gradient" if r else "requires no gradient"
                    for r in (v.requires_grad, needs[k]))
                return "", f"inputs[{k}] {now}, expected one that {then} as it was captured with"
        return None

    def run_expected(
        self, inputs: list[Value], tensors: list[Tensor | None], tokens: list[object], results: int
    ) -> list[Value] | None:
        """Do :meth:`run`, if the call is as captured. Return None, with nothing done, where

        :meth:`wrong` finds a fault, another number of results is expected, or a tensor that is
        written to is missing or is also another input.
        """
        if results != self.results or self.wrong(inputs) is not None:
            return None
        if self.writes:
            written = self.written
            for k, t in enumerate(tensors):
                if not written[k]:
                    continue
                if t is None:
                    return None
                for i, other in enumerate(tensors):
                    if other is t and i != k:
                        return None
        return self.run(inputs, tensors, tokens)

    def run(
        self, inputs: list[Value], tensors: list[Tensor | None], tokens: list[object]
    ) -> list[Value]:
        """Run the program; an error of the run is raised where a result is read.

        Args:
            inputs: inputs that :meth:`wrong` accepts. The list is emptied: memory that nothing
                else holds, once the inputs are written to, is reused for the results.
            tensors: for each input that a run writes to, the tensor that holds it; the others may
                be None.
            tokens: for each of these, the token of the leaf of the tape that it is, or None.

        Returns:
            the results.
        """
        template = self._template
        _dispatch(inputs)
        recipe = self._recipe
        buffers: dict[tuple[int, int], Buffer | None] = {}
        nodes: list[Node] = []
        with Deferred():
            fed = None
            with write_locks([t for k, t in enumerate(tensors)
                              if t is not None and self._places[k] >= 0]):  # fmt: skip
                self._fetch_again(inputs, tensors)
                if recipe is not None:
                    fed = recipe.prepare(inputs, [], user_site())
                if fed is not None:
                    roots = fed.values
                    fed.values = []
                else:
                    for k, v in enumerate(inputs):
                        buffers[(SOURCE, k)] = buffer_of(v)
                    for k, v in enumerate(template.constants):
                        buffers[(CONSTANT, k)] = buffer_of(v)
                    roots = template.record(inputs, [])
                    nodes = [v.node for v in roots]
                inputs.clear()
                try:
                    self._write(roots, tensors, tokens)
                except BaseException:
                    if fed is not None:
                        uninterrupted(fed.undo)
                    raise
            if fed is not None:
                fed.run()
                return roots
        plan = run_nodes(nodes, user_site())
        if plan is not None and not template.apart:
            candidate = Recipe(template, plan)
            if candidate.complete(buffers, plan):
                self._recipe = candidate
        return roots

    def _fetch_again(self, inputs: list[Value], tensors: list[Tensor | None]) -> None:
        """Fetch again the inputs that a run writes to, as another thread may have written them;
        the caller holds the locks."""
        if not writers.several:
            return
        for k, t in enumerate(tensors):
            if t is not None and self._places[k] >= 0:
                value = current(t)
                if value.type is inputs[k].type and (
                    value.requires_grad == inputs[k].requires_grad
                ):
                    inputs[k] = value

    def _write(
        self, roots: list[Value], tensors: list[Tensor | None], tokens: list[object]
    ) -> None:
        """Overwrite the inputs that a run writes to, and keep only the results in ``roots``."""
        places = self._places
        for k, t in enumerate(tensors):
            if places[k] >= 0:
                assert t is not None
                value = roots[places[k]]
                token = tokens[k]
                write(t, value if token is None else self._own_leaf(k, value, token))
        del roots[self.results :]

    def _own_leaf(self, number: int, value: Value, token: object) -> Value:
        """Return the value that overwrites an input, as a leaf that is reported as ``token``."""
        root = self._template.roots[self._places[number]]
        if root.ref.kind != RESULT or not self._leaves[number] or len(value.node.types) != 1:
            return value.detach().as_leaf(token)
        value.node.token = token
        return value
