"""A captured call: its guards, and how it runs again."""

from __future__ import annotations

from typing import Any, Final

from ..evaluate.evaluate import evaluate
from ..frontend import following, write, write_locks
from ..interrupts import Deferred, uninterrupted
from ..tensor.host import known_range
from ..tensor.storage import Storage, writers
from ..tensor.tensor import Tensor
from ..trace.graph import PENDING, Buffer, Node, Value
from ..trace.source import user_site
from . import environment
from .arguments import Argument
from .guards import ContainerGuard, Guards, same
from .outputs import MadeView, Output, TensorOutput
from .recipe import REASON, Recipe, buffer_of, run_nodes
from .recipe import PreparedPlan as Fed
from .template import CONSTANT, SOURCE, Indices, Template

#: kinds of sources
ARGUMENT: Final = 0
FIXED: Final = 1
SLOT: Final = 2
KEY: Final = 3
#: draws are counted modulo one more than this
_ROUND: Final = 0xFFFFFFFF


class CapturedSource:
    """A tensor, or the key of a generator, whose contents a captured call uses.

    Attributes:
        kind: ARGUMENT (by number), FIXED (the tensor), SLOT (of a check, by key) or KEY.
        also: (check, key) of the other places that hold the same tensor as a SLOT.
        base: True if the contents are those of the storage that the tensor is a view of.
        requires_grad: whether the contents require a gradient.
        written: the number of the root that overwrites it, -1 for none.
        writes: how many writes this overwriting stands for.
    """

    __slots__ = ("kind", "number", "tensor", "check", "key", "also", "base", "requires_grad",
                 "written", "writes")

    def __init__(self, kind: int, number: int = 0, tensor: Any = None, check: Any = None,
                 key: Any = None, base: bool = False) -> None:  # fmt: skip
        self.kind = kind
        self.number = number
        self.tensor = tensor
        self.check: ContainerGuard | None = check
        self.key = key
        self.also: list[tuple[ContainerGuard, Any]] = []
        self.base = base
        self.requires_grad = False
        self.written = -1
        self.writes = 0


def contents(tensor: Tensor, base: bool) -> Value:
    """Return the value of a tensor, or of the whole storage that it is a view of."""
    if base:
        shared = tensor.shared
        assert shared is not None
        return shared.value
    return tensor.value


def dispatch(values: list[Value]) -> None:
    """Run those of the values that are pending."""
    for value in values:
        if value.node.state == PENDING:
            evaluate(value.node, REASON)


def buffers_of(template: Template, values: list[Value]) -> dict[tuple[int, int], Buffer | None]:
    """Return the buffers of sources and constants; empty where nothing will use them."""
    buffers: dict[tuple[int, int], Buffer | None] = {}
    if not template.apart:
        for k, v in enumerate(values):
            buffers[(SOURCE, k)] = buffer_of(v)
        for k, v in enumerate(template.constants):
            buffers[(CONSTANT, k)] = buffer_of(v)
    return buffers


class PreparedCall:
    """A call that fits a capture: its tensors and their contents.

    ``fails`` means that the call fits, except that the host knows that an index is out of range:
    the call must raise where the function uses that index.
    """

    __slots__ = ("tensors", "values", "numbers", "fails")

    def __init__(
        self, tensors: list[Any], values: list[Value], numbers: list[Any], fails: bool = False
    ) -> None:
        self.tensors = tensors
        self.values = values
        self.numbers = numbers
        self.fails = fails


class Rebound:
    """Places in which each call puts a new tensor.

    Attributes:
        places: (check, key) of each.
        made: the number of the new tensor in ``Captured.made``.
        old: the number of the source that was there before, -1 if there was none.
    """

    def __init__(self, places: list[tuple[ContainerGuard, Any]], made: int, old: int) -> None:
        self.places = places
        self.made = made
        self.old = old


class Captured:
    """A recorded call, with the conditions that it depends on."""

    def __init__(self) -> None:
        self.settings: tuple[Any, ...] = ()
        self.args: list[Argument] = []
        self.kwargs: dict[str, Argument] = {}
        self.arg_groups: list[int] = []
        self.guards: Guards = Guards([], [])
        self.sources: list[CapturedSource] = []
        #: pairs of sources whose contents were the same value
        self.equal: list[tuple[int, int]] = []
        self.slot_groups: list[int] = []
        self.generators: list[tuple[Any, Any, int]] = []
        #: dicts with numbers that could be fed, and the numbers that are
        self.groups: list[Any] = []
        self.numbers: Any = None
        self.template: Template = Template()
        #: sources that the host may know to be out of range
        self.indices: list[Indices] = []
        self.made: list[TensorOutput | MadeView] = []
        self.rebound: list[Rebound] = []
        #: for each tensor in ``made``, the number of the source that it replaces, or -1
        self.follows: list[int] = []
        #: places that each call sets to None
        self.dropped: list[tuple[ContainerGuard, Any]] = []
        #: places in which each call puts a tensor from before: (check, key, source)
        self.placed: list[tuple[ContainerGuard, Any, int]] = []
        self.output: Output = Output()
        self.recipe: Recipe | None = None
        self.name = ""

    # -- whether a call fits ----------------------------------------------------------------

    def match(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], settings: tuple[Any, ...]
    ) -> PreparedCall | None:
        """Return the inputs to run a call with, or None if the call does not fit."""
        if len(args) != len(self.args) or len(kwargs) != len(self.kwargs):
            return None
        tensors: list[Tensor] = []
        for argument, x in zip(self.args, args):
            if not argument.fits(x, tensors):
                return None
        if kwargs:
            for name, argument in self.kwargs.items():
                if name not in kwargs or not argument.fits(kwargs[name], tensors):
                    return None
        if not same(settings, self.settings) or not self.guards.hold():
            return None
        if not self._apart(tensors):
            return None
        fed: list[float] | None = None
        if self.numbers is not None:
            fed = self.numbers.read(args, kwargs)
            if fed is None:
                return None
        return self._fetch(tensors, fed)

    def _apart(self, tensors: list[Tensor]) -> bool:
        """Return True if the arguments share memory, with each other and with other tensors, as in
        the recorded call."""
        groups: list[int] = []
        storages: list[Any] | None = None
        for k, t in enumerate(tensors):
            number = k
            shared = t.shared
            for j in range(k):
                if tensors[j] is t or shared is not None and tensors[j].shared is shared:
                    number = j
                    break
            if shared is not None and number == k:
                if storages is None:
                    storages = self.guards.storages()
                for j, other in enumerate(storages):
                    if other is shared:
                        number = -1 - j
                        break
            groups.append(number)
        return groups == self.arg_groups

    def _fetch(self, arguments: list[Tensor], fed: list[float] | None) -> PreparedCall | None:
        tensors: list[Any] = []
        values: list[Value] = []
        slots: list[Any] = []
        for source in self.sources:
            kind = source.kind
            if kind == KEY:
                generator, how, _ = self.generators[source.number]
                tensors.append(None)
                values.append(how.key(generator))
                continue
            if kind == ARGUMENT:
                t = arguments[source.number]
            elif kind == FIXED:
                t = source.tensor
            else:
                check = source.check
                assert check is not None
                t = check.get(source.key)
                for other, key in source.also:
                    if other.get(key) is not t:
                        return None
                slots.append(t)
            value = contents(t, source.base)
            if value.requires_grad != source.requires_grad or source.written >= 0 and (
                t.shared is not None and not t.shared.writable
            ):
                return None
            tensors.append(t)
            values.append(value)
        for a, b in self.equal:
            if values[a].node is not values[b].node or values[a].index != values[b].index:
                return None
        if slots and (
            groups_of(slots) != self.slot_groups or not self._alone(slots, arguments)
        ):
            return None
        for indices in self.indices:
            limits: Any = known_range(values[indices.source])
            if limits is not None and not (indices.has(limits[0]) and indices.has(limits[1])):
                return PreparedCall([], [], [], True)
        for generator, how, draws in self.generators:
            # when the count wraps around, the generator takes another key
            if (how.number(generator) & _ROUND) + draws >= _ROUND:
                return None
        numbers: list[Any] = []
        for generator, how, draws in self.generators:
            numbers.append(how.advance(generator, draws))
        if fed is not None:
            numbers += fed
        return PreparedCall(tensors, values, numbers)

    def _alone(self, slots: list[Any], arguments: list[Tensor]) -> bool:
        """Return True if the tensors in slots are neither arguments nor guarded tensors, and share
        no memory."""
        owners: dict[Storage, Tensor] = {}
        fixed = self.guards.identities
        for t in slots:
            if id(t) in fixed:
                return False
            for x in arguments:
                if x is t:
                    return False
            shared = t.shared
            if shared is not None and owners.setdefault(shared, t) is not t:
                return False
        if not owners:
            return True
        for t in arguments:
            if t.shared is not None and t.shared in owners:
                return False
        for guard in self.guards.tensors:
            if guard.tensor.shared is not None and guard.tensor.shared in owners:
                return False
        return True

    def why(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], settings: tuple[Any, ...]
    ) -> str:
        """Return in words why a call does not fit."""
        if len(args) != len(self.args) or set(kwargs) != set(self.kwargs):
            return "it was given another number of arguments, or others by name"
        for argument, x in zip(self.args, args):
            reason = argument.why(x)
            if reason:
                return reason
        for name, argument in self.kwargs.items():
            reason = argument.why(kwargs[name])
            if reason:
                return reason
        if not same(settings, self.settings):
            pairs = [(a, b) for a, b in zip(self.settings, settings) if not same(a, b)]
            return f"a setting was {pairs[0][0]!r} and is {pairs[0][1]!r}" if pairs else (
                "the settings are others")
        reason = self.guards.why()
        if not reason and self.numbers is not None:
            reason = self.numbers.why(args, kwargs)
        return reason or (
            "tensors share memory, require gradients, hold one value or stand in several places "
            "otherwise")

    # -- running ------------------------------------------------------------------------------

    def run(self, prepared: PreparedCall) -> Any:
        """Do what the recorded call did, and return its result."""
        template = self.template
        values = prepared.values
        locks = write_locks([t for t, source in zip(prepared.tensors, self.sources)
                             if source.written >= 0])  # fmt: skip
        if template.live or not template.shells:
            with Deferred(), locks:
                self._fetch_again(prepared)
                roots = template.record(values, prepared.numbers)
                return self._finish(prepared, roots)
        dispatch(values)
        with Deferred():
            fed: Fed | None = None
            buffers: dict[tuple[int, int], Buffer | None] = {}
            nodes: list[Node] = []
            with locks:
                self._fetch_again(prepared)
                recipe = self.recipe
                if recipe is not None:
                    fed = recipe.prepare(values, prepared.numbers, user_site())
                if fed is None:
                    buffers = buffers_of(template, values)
                    roots = template.record(values, prepared.numbers)
                    nodes = [v.node for v in roots]
                else:
                    roots = fed.values
                    fed.values = []
                values.clear()
                try:
                    result = self._finish(prepared, roots)
                except BaseException:
                    if fed is not None:
                        uninterrupted(fed.undo)
                    raise
                roots.clear()
                prepared.tensors.clear()
            if fed is not None:
                fed.run()
                return result
        if template.apart:
            for node in nodes:
                if node.state == PENDING:
                    evaluate(node, REASON)
            return result
        plan = run_nodes(nodes, user_site())
        if plan is not None:
            candidate = Recipe(template, plan)
            if candidate.complete(buffers, plan):
                self.recipe = candidate
        return result

    def _fetch_again(self, prepared: PreparedCall) -> None:
        """Fetch again what this call writes to, if another thread wrote it since the matching.

        The caller holds the write locks.
        """
        if not writers.several:
            return
        values = prepared.values
        for k, source in enumerate(self.sources):
            if source.written >= 0:
                value = contents(prepared.tensors[k], source.base)
                before = values[k]
                if value.node is before.node and value.index == before.index:
                    continue
                for other, t in enumerate(prepared.tensors):
                    if t is not None:
                        fresh = contents(t, self.sources[other].base)
                        if fresh.requires_grad == values[other].requires_grad:
                            values[other] = fresh
                return

    def _finish(self, prepared: PreparedCall, roots: list[Value]) -> Any:
        """Do the call's writes, and build its result."""
        tensors = prepared.tensors
        outputs: list[Any] = []
        for k, how in enumerate(self.made):
            old = self.follows[k]
            if old < 0:
                outputs.append(how.make(roots, outputs, tensors))
            else:
                outputs.append(following(tensors[old], roots[how.root]))
        for k, source in enumerate(self.sources):
            if source.written >= 0:
                t: Tensor = tensors[k]
                storage = t.shared
                if storage is None:
                    write(t, roots[source.written])
                else:
                    storage.replace(roots[source.written])
                    storage.version += source.writes - 1
        for r in self.rebound:
            for check, key in r.places:
                check.put(key, outputs[r.made])
        for check, key, number in self.placed:
            check.put(key, tensors[number])
        for check, key in self.dropped:
            check.put(key, None)
        return self.output.build(outputs, tensors)


def fitting(
    captures: list[Captured], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[int, PreparedCall] | None:
    """Return the number of the first capture that fits a call, and its prepared call."""
    settings = environment.current()
    for k, captured in enumerate(captures):
        prepared = captured.match(args, kwargs, settings)
        if prepared is not None:
            return k, prepared
    return None


def groups_of(objects: list[Any]) -> list[int]:
    """For each object, return the position at which it first occurs."""
    first: dict[int, int] = {}
    return [first.setdefault(id(x), k) for k, x in enumerate(objects)]
