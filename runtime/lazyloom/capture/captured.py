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

#: which tensor a source is
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
        also: (check, key) of the other places that hold the very tensor of a SLOT.
        base: the contents are those of the storage that the tensor is a view of.
        requires_grad: of the contents.
        written: the number of the root that it is overwritten with, -1 for none.
        writes: how many writes that stands for.
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
    """What a tensor holds, or the whole storage of which it is a view."""
    if base:
        shared = tensor.shared
        assert shared is not None
        return shared.value
    return tensor.value


def dispatch(values: list[Value]) -> None:
    """Run what of some values is pending."""
    for value in values:
        if value.node.state == PENDING:
            evaluate(value.node, REASON)


def buffers_of(template: Template, values: list[Value]) -> dict[tuple[int, int], Buffer | None]:
    """The memory of sources and constants; empty where nobody will ask."""
    found: dict[tuple[int, int], Buffer | None] = {}
    if not template.apart:
        for k, v in enumerate(values):
            found[(SOURCE, k)] = buffer_of(v)
        for k, v in enumerate(template.constants):
            found[(CONSTANT, k)] = buffer_of(v)
    return found


class PreparedCall:
    """A call that fits a capture: its tensors and their contents.

    ``fails`` says that it does, but for an index that is out of range as the host knows: where the
    function uses that, the call is to raise.
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
        made: how the tensor is made.
        old: the number of the source that stood there, -1 if nothing did.
    """

    def __init__(self, places: list[tuple[ContainerGuard, Any]], made: int, old: int) -> None:
        self.places = places
        self.made = made
        self.old = old


class Captured:
    """A call that was recorded, with what it rests on."""

    def __init__(self) -> None:
        self.settings: tuple[Any, ...] = ()
        self.args: list[Argument] = []
        self.kwargs: dict[str, Argument] = {}
        self.arg_groups: list[int] = []
        self.guards: Guards = Guards([], [])
        self.sources: list[CapturedSource] = []
        #: sources whose contents were one value
        self.equal: list[tuple[int, int]] = []
        self.slot_groups: list[int] = []
        self.generators: list[tuple[Any, Any, int]] = []
        #: dicts with numbers that could be fed, and those that are
        self.groups: list[Any] = []
        self.numbers: Any = None
        self.template: Template = Template()
        #: sources of which the host may know that they are out of range
        self.indices: list[Indices] = []
        self.made: list[TensorOutput | MadeView] = []
        self.rebound: list[Rebound] = []
        #: of what is made, the number of the source whose place it takes, or -1
        self.follows: list[int] = []
        #: places in which each call leaves nothing
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
        """What a call is run with, if it fits."""
        if len(args) != len(self.args) or len(kwargs) != len(self.kwargs):
            return None
        given: list[Tensor] = []
        for argument, x in zip(self.args, args):
            if not argument.fits(x, given):
                return None
        if kwargs:
            for name, argument in self.kwargs.items():
                if name not in kwargs or not argument.fits(kwargs[name], given):
                    return None
        if not same(settings, self.settings) or not self.guards.hold():
            return None
        if not self._apart(given):
            return None
        fed: list[float] | None = None
        if self.numbers is not None:
            fed = self.numbers.read(args, kwargs)
            if fed is None:
                return None
        return self._fetch(given, fed)

    def _apart(self, given: list[Tensor]) -> bool:
        """Whether the arguments share memory, among each other and with others, as they did."""
        found: list[int] = []
        known: list[Any] | None = None
        for k, t in enumerate(given):
            number = k
            shared = t.shared
            for j in range(k):
                if given[j] is t or shared is not None and given[j].shared is shared:
                    number = j
                    break
            if shared is not None and number == k:
                if known is None:
                    known = self.guards.storages()
                for j, other in enumerate(known):
                    if other is shared:
                        number = -1 - j
                        break
            found.append(number)
        return found == self.arg_groups

    def _fetch(self, given: list[Tensor], fed: list[float] | None) -> PreparedCall | None:
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
                t = given[source.number]
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
            groups_of(slots) != self.slot_groups or not self._alone(slots, given)
        ):
            return None
        for indices in self.indices:
            known: Any = known_range(values[indices.source])
            if known is not None and not (indices.has(known[0]) and indices.has(known[1])):
                return PreparedCall([], [], [], True)
        for generator, how, draws in self.generators:
            # where the count comes round the generator takes another key
            if (how.number(generator) & _ROUND) + draws >= _ROUND:
                return None
        numbers: list[Any] = []
        for generator, how, draws in self.generators:
            numbers.append(how.advance(generator, draws))
        if fed is not None:
            numbers += fed
        return PreparedCall(tensors, values, numbers)

    def _alone(self, slots: list[Any], given: list[Tensor]) -> bool:
        """Whether the tensors in places are no others that are known, and share no memory."""
        held: dict[Storage, Tensor] = {}
        fixed = self.guards.identities
        for t in slots:
            if id(t) in fixed:
                return False
            for x in given:
                if x is t:
                    return False
            shared = t.shared
            if shared is not None and held.setdefault(shared, t) is not t:
                return False
        if not held:
            return True
        for t in given:
            if t.shared is not None and t.shared in held:
                return False
        for known in self.guards.tensors:
            if known.tensor.shared is not None and known.tensor.shared in held:
                return False
        return True

    def why(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], settings: tuple[Any, ...]
    ) -> str:
        """Why a call does not fit, in words."""
        if len(args) != len(self.args) or set(kwargs) != set(self.kwargs):
            return "it was given another number of arguments, or others by name"
        for argument, x in zip(self.args, args):
            found = argument.why(x)
            if found:
                return found
        for name, argument in self.kwargs.items():
            found = argument.why(kwargs[name])
            if found:
                return found
        if not same(settings, self.settings):
            pairs = [(a, b) for a, b in zip(self.settings, settings) if not same(a, b)]
            return f"a setting was {pairs[0][0]!r} and is {pairs[0][1]!r}" if pairs else (
                "the settings are others")
        found = self.guards.why()
        if not found and self.numbers is not None:
            found = self.numbers.why(args, kwargs)
        return found or (
            "tensors share memory, require gradients, hold one value or stand in several places "
            "otherwise")

    # -- running ------------------------------------------------------------------------------

    def run(self, prepared: PreparedCall) -> Any:
        """Do what the recorded call did; what it returns."""
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
            found = Recipe(template, plan)
            if found.complete(buffers, plan):
                self.recipe = found
        return result

    def _fetch_again(self, prepared: PreparedCall) -> None:
        """Take what another thread wrote since the call was matched to what this one writes.

        The caller holds the locks of that.
        """
        if not writers.several:
            return
        values = prepared.values
        for k, source in enumerate(self.sources):
            if source.written >= 0:
                found = contents(prepared.tensors[k], source.base)
                before = values[k]
                if found.node is before.node and found.index == before.index:
                    continue
                for other, t in enumerate(prepared.tensors):
                    if t is not None:
                        fresh = contents(t, self.sources[other].base)
                        if fresh.requires_grad == values[other].requires_grad:
                            values[other] = fresh
                return

    def _finish(self, prepared: PreparedCall, roots: list[Value]) -> Any:
        """Write what the call writes, and make what it returns."""
        tensors = prepared.tensors
        made: list[Any] = []
        for k, how in enumerate(self.made):
            old = self.follows[k]
            if old < 0:
                made.append(how.make(roots, made, tensors))
            else:
                made.append(following(tensors[old], roots[how.root]))
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
                check.put(key, made[r.made])
        for check, key, number in self.placed:
            check.put(key, tensors[number])
        for check, key in self.dropped:
            check.put(key, None)
        return self.output.build(made, tensors)


def fitting(
    captures: list[Captured], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[int, PreparedCall] | None:
    """The number of the first capture that a call fits, and what it is run with."""
    settings = environment.current()
    for k, captured in enumerate(captures):
        prepared = captured.match(args, kwargs, settings)
        if prepared is not None:
            return k, prepared
    return None


def groups_of(objects: list[Any]) -> list[int]:
    """The number of the first object that each is."""
    first: dict[int, int] = {}
    return [first.setdefault(id(x), k) for k, x in enumerate(objects)]
