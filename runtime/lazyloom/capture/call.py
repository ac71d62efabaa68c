"""Recording a call so that it can run again, and running it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from threading import get_ident
from types import CodeType
from typing import Any, Final

from ..evaluate.evaluate import blind, evaluate, held_back
from ..frontend import following, write
from ..interrupts import Deferred
from ..tensor.tensor import Tensor
from ..trace import graph
from ..trace.graph import PENDING, Node, Value
from ..trace.source import Site, user_site
from . import environment
from .arguments import TENSOR, Argument, argument_of
from .guards import Check, Guards, Replaced, TensorIs, attributes_of, same, shown
from .outputs import Known, Made, NewTensor, Output, output_of
from .recipe import REASON, Recipe, buffer_of, run_nodes
from .state import Code, Snapshot, Walk
from .template import CONSTANT, SOURCE, NotCapturable, Ref, Root, Template, left_behind, template_of
from .watch import Watch, is_borrowed

#: which tensor a source is
ARGUMENT: Final = 0
FIXED: Final = 1
SLOT: Final = 2
KEY: Final = 3
#: draws are counted modulo one more than this
_ROUND: Final = 0xFFFFFFFF


class Source:
    """A tensor, or the key of a generator, whose contents a captured call uses.

    Attributes:
        kind: ARGUMENT (by number), FIXED (the tensor), SLOT (of a check, by key) or KEY.
        base: the contents are those of the storage that the tensor is a view of.
        requires_grad: of the contents.
        written: the number of the root that it is overwritten with, -1 for none.
        writes: how many writes that stands for.
    """

    __slots__ = ("kind", "number", "tensor", "check", "key", "base", "requires_grad", "written",
                 "writes")

    def __init__(self, kind: int, number: int = 0, tensor: Any = None, check: Any = None,
                 key: Any = None, base: bool = False) -> None:  # fmt: skip
        self.kind = kind
        self.number = number
        self.tensor = tensor
        self.check: Check | None = check
        self.key = key
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


class Prepared:
    """A call that fits a capture: its tensors and their contents."""

    __slots__ = ("tensors", "values", "numbers")

    def __init__(self, tensors: list[Any], values: list[Value], numbers: list[int]) -> None:
        self.tensors = tensors
        self.values = values
        self.numbers = numbers


class Rebound:
    """Places in which each call puts a new tensor.

    Attributes:
        places: (check, key) of each.
        made: how the tensor is made.
        source: the number of the source that stood there.
    """

    def __init__(self, places: list[tuple[Check, Any]], made: int, old: int) -> None:
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
        self.sources: list[Source] = []
        #: sources whose contents were one value
        self.equal: list[tuple[int, int]] = []
        self.slot_groups: list[int] = []
        self.generators: list[tuple[Any, Any, int]] = []
        self.template: Template = Template()
        self.made: list[Made] = []
        self.rebound: list[Rebound] = []
        self.output: Output = Output()
        self.recipe: Recipe | None = None
        self.name = ""

    # -- whether a call fits ----------------------------------------------------------------

    def match(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], settings: tuple[Any, ...]
    ) -> Prepared | None:
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
        return self._fetch(given)

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

    def _fetch(self, given: list[Tensor]) -> Prepared | None:
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
                keys, found = check.now()
                t = found[keys.index(source.key)]
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
        if self.rebound and groups_of(slots) != self.slot_groups:
            return None
        for generator, how, draws in self.generators:
            # where the count comes round the generator takes another key
            if (how.number(generator) & _ROUND) + draws >= _ROUND:
                return None
        numbers: list[int] = []
        for generator, how, draws in self.generators:
            numbers.append(how.advance(generator, draws))
        return Prepared(tensors, values, numbers)

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
        return found or "tensors share memory, require gradients or hold one value otherwise"

    # -- running ------------------------------------------------------------------------------

    def run(self, prepared: Prepared) -> Any:
        """Do what the recorded call did; what it returns."""
        template = self.template
        values = prepared.values
        if template.live or not template.shells:
            with Deferred():
                roots = template.record(values, prepared.numbers)
                return self._finish(prepared, roots)
        dispatch(values)
        with Deferred():
            recipe = self.recipe
            if recipe is not None:
                fed = recipe.prepare(values, prepared.numbers, user_site())
                if fed is not None:
                    values.clear()
                    roots = fed.values
                    fed.values = []
                    try:
                        result = self._finish(prepared, roots)
                        roots.clear()
                        prepared.tensors.clear()
                    except BaseException:
                        fed.undo()
                        raise
                    fed.run()
                    return result
            buffers = {(SOURCE, k): buffer_of(v) for k, v in enumerate(values)}
            for k, v in enumerate(template.constants):
                buffers[(CONSTANT, k)] = buffer_of(v)
            roots = template.record(values, prepared.numbers)
            values.clear()
            nodes = [v.node for v in roots]
            result = self._finish(prepared, roots)
            roots.clear()
            prepared.tensors.clear()
        plan = run_nodes(nodes, user_site())
        if plan is not None and not template.fallible:
            found = Recipe(template, plan)
            if found.complete(buffers, plan):
                self.recipe = found
        return result

    def _finish(self, prepared: Prepared, roots: list[Value]) -> Any:
        """Write what the call writes, and make what it returns."""
        tensors = prepared.tensors
        made: list[Any] = []
        rebound = {r.made: r for r in self.rebound}
        for k, how in enumerate(self.made):
            place = rebound.get(k)
            if place is None:
                made.append(how.make(roots))
            else:
                made.append(following(tensors[place.old], roots[how.root]))
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
        return self.output.build(made, tensors)


def groups_of(objects: list[Any]) -> list[int]:
    """The number of the first object that each is."""
    first: dict[int, int] = {}
    return [first.setdefault(id(x), k) for k, x in enumerate(objects)]


class Recording:
    """One call that is recorded under watch."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        code: Code, stable: bool,
    ) -> None:  # fmt: skip
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.code = code
        self.stable = stable
        self.watch = Watch()
        self.problem: NotCapturable | None = None
        self.result: Any = None

    def run(self) -> Any:
        """Call the function; its result, or what it raises."""
        me = get_ident()
        try:
            self._look_before()
        except NotCapturable as problem:
            self.problem = problem
        held_back.add(me)
        if self.stable and self.problem is None:
            blind.add(me)
        try:
            with self.watch:
                self.result = self.function(*self.args, **self.kwargs)
        finally:
            held_back.discard(me)
            blind.discard(me)
        return self.result

    def _walk(self) -> Snapshot:
        roots: list[tuple[str, Any]] = [("the function", self.function)]
        roots += self.objects
        return Walk(self.code).run(roots)

    def _look_before(self) -> None:
        self.tensors: list[Tensor] = []
        self.objects: list[tuple[str, Any]] = []
        names = _argument_names(self.function, len(self.args))
        self.given = [argument_of(name, x, self.tensors, self.objects)
                      for name, x in zip(names, self.args)]
        self.named = {k: argument_of(k, x, self.tensors, self.objects)
                      for k, x in self.kwargs.items()}
        self.settings = environment.current()
        self.before = self._walk()
        generators: dict[int, Any] = {
            id(g): g for g in environment.shared_generators() + self.before.generators}
        self.generators = [(g, environment.kind_of(g)) for g in generators.values()]
        self.keys = [how.key(g) for g, how in self.generators]
        self.numbers = [how.number(g) for g, how in self.generators]
        # arguments first: a tensor that is both is what this call was given
        self.known: list[tuple[Source, Tensor]] = [
            (Source(ARGUMENT, k, x), x) for k, x in enumerate(self.tensors)]
        held = {id(x) for x in self.tensors}
        self.paths: dict[int, str] = {}
        for t, path in self.before.tensors.values():
            self.paths[id(t)] = path
            if id(t) not in held:
                self.known.append((Source(FIXED, 0, t), t))
            else:
                raise NotCapturable(f"{path} is also an argument", None, True)
        extra = [(Source(s.kind, s.number, t, base=True), t) for s, t in self.known
                 if t.view_steps and t.shared is not None]
        self.known += extra
        self.held = [contents(t, s.base) for s, t in self.known]
        for v in self.held:
            if v.node.state == PENDING:
                evaluate(v.node, REASON)
        self.versions = [t.version for _, t in self.known]
        self.start = graph.last_sequence()
        self.mine = {id(t): k for k, (s, t) in enumerate(self.known) if not s.base}

    def captured(self) -> Captured | None:
        """The call as one that can run again; None where another one has to be recorded first.

        Raises NotCapturable.
        """
        watch = self.watch
        fresh = watch.code.seen - self.code.seen
        self.code.seen |= watch.code.seen
        self.code.names |= watch.code.names
        self.code.imports |= watch.code.imports
        if watch.code.dynamic and not self.code.dynamic:
            self.code.dynamic = True
            self.stable = False
        for key, (namespace, names) in watch.code.globals.items():
            self.code.globals.setdefault(key, (namespace, set()))[1].update(names)
        if watch.read is not None:
            raise NotCapturable("it reads a tensor's data", watch.read)
        if watch.impure is not None:
            raise NotCapturable(*watch.impure)
        if self.problem is not None:
            raise self.problem
        if fresh or not self.stable:
            return None
        self._check_reached()
        if self.before.opaque:
            path, x = self.before.opaque[0]
            raise NotCapturable(
                f"{path} is a {type(x).__module__}.{type(x).__qualname__}, whose state cannot be "
                "watched")
        for path, x in self.objects:
            if isinstance(x, Tensor) and not x.view_steps and attributes_of(x) is None:
                raise NotCapturable(f"{path} cannot be watched")
        return self._build()

    def _check_reached(self) -> None:
        """Raise NotCapturable where a function ran that the walk did not come to."""
        inside = {c for code in self.watch.code.seen for c in code.co_consts
                  if isinstance(c, CodeType)}
        for code in self.watch.code.seen:
            if code in self.before.functions or code in inside or (
                is_borrowed(code.co_filename) and not code.co_freevars
            ):
                continue
            raise NotCapturable(
                f"{code.co_name} runs, and it is not known what leads to it", Site(code, 0))

    def _build(self) -> Captured:
        found = Captured()
        after = self._walk()
        if not same(environment.current(), self.settings):
            raise NotCapturable("it changes a setting, such as the grad mode")
        self._compare_arguments()
        roots: list[Value] = []
        numbers: dict[tuple[Node, int, bool], int] = {}

        def root(v: Value) -> int:
            key = (v.node, v.index, v.requires_grad)
            if key not in numbers:
                numbers[key] = len(roots)
                roots.append(v)
            return numbers[key]

        made: list[Made] = []
        made_of: dict[int, int] = {}
        storages: set[int] = {id(t.shared) for _, t in self.known if t.shared is not None}
        self.alive: list[Any] = []

        def new(t: Tensor) -> int:
            number = made_of.get(id(t))
            if number is None:
                number = made_of[id(t)] = len(made)
                if t.slow_path and hasattr(t, "_info"):
                    raise NotCapturable("it makes an array that is laid out by columns")
                if attributes_of(t):
                    names = ", ".join(attributes_of(t))
                    raise NotCapturable(f"it makes a tensor that has {names} of its own")
                if t.shared is not None:
                    if id(t.shared) in storages:
                        raise NotCapturable(
                            "it returns or keeps a view of a tensor from before, or two tensors "
                            "that share memory")
                    storages.add(id(t.shared))
                self.alive.append(t)
                made.append(Made(t, root(t.value)))
            return number

        rebound, replaced, gone = self._compare(after, new)
        written: list[tuple[int, int]] = []
        stored: set[int] = set()
        for k, (s, t) in enumerate(self.known):
            if t.view_steps and not s.base or id(t) in gone:
                continue
            if t.shared is not None:
                if id(t.shared) in stored:
                    continue
                stored.add(id(t.shared))
            now = t.shared.value if t.shared is not None else t.value
            old = self.held[k]
            if now.node is not old.node or now.index != old.index:
                if s.base and now.requires_grad:
                    raise NotCapturable("it writes to a view through which gradients flow")
                written.append((k, root(now)))
        known_ids = self.mine

        def place(t: Tensor) -> Output:
            number = known_ids.get(id(t))
            if number is not None and id(t) not in gone:
                used.add(number)
                return Known(number)
            return NewTensor(new(t))

        used: set[int] = set()
        output = output_of(self.result, place, lambda x: self._is_known(x))
        sources: dict[tuple[Node, int], int] = {}
        equal: list[tuple[int, int]] = []
        for k, v in enumerate(self.held):
            first = sources.setdefault((v.node, v.index), k)
            if first != k:
                equal.append((first, k))
        draws: dict[tuple[Node, int], tuple[int, int]] = {}
        count = len(self.held)
        for k, key in enumerate(self.keys):
            if (key.node, key.index) not in sources:
                sources[(key.node, key.index)] = count + k
            draws[(key.node, key.index)] = (k, self.numbers[k])
        kept = {(v.node, v.index) for v in self.before.values}
        template = template_of(roots, self.start, sources, draws, kept)
        leak = left_behind(self.start, roots, get_ident())
        if leak is not None:
            gc.collect()
            leak = left_behind(self.start, roots, get_ident())
        if leak is not None:
            raise NotCapturable("a tensor that it makes is kept where that cannot be seen",
                                leak.site, True)  # fmt: skip
        self._check_draws(found)
        # of all that could be used, what is
        for operands in template.operands:
            for item in operands:
                if getattr(item, "kind", None) == SOURCE:
                    used.add(item.number)
        for r in template.roots:
            if r.ref.kind == SOURCE:
                used.add(r.ref.number)
        for k, _ in written:
            used.add(k)
        for k in gone.values():
            used.add(k)
        for a, b in equal:
            if a in used or b in used:
                used.update((a, b))
        order = sorted(used)
        renumber = {old: new_number for new_number, old in enumerate(order)}
        slot_of = {k: places for places, k in replaced}
        for k in order:
            if k >= count:
                source = Source(KEY, k - count)
            else:
                source, t = self.known[k]
                if k in slot_of:
                    check, name = slot_of[k][0]
                    source = Source(SLOT, 0, None, check, name)
                source.requires_grad = self.held[k].requires_grad
                if source.base and source.kind == ARGUMENT:
                    self._all_arguments()[source.number].steps = t.view_steps
            found.sources.append(source)
        for k, r_number in written:
            source = found.sources[renumber[k]]
            source.written = r_number
            source.writes = max(1, self.known[k][1].version - self.versions[k])
        _renumber(template, renumber)
        _renumber_output(output, renumber)
        found.equal = [(renumber[a], renumber[b]) for a, b in equal
                       if a in renumber and b in renumber]
        found.template = template
        found.made = made
        found.output = output
        found.rebound = [
            Rebound(places, made_number, renumber[old]) for places, made_number, old in rebound]
        found.slot_groups = groups_of([
            self.known[k][1] for k in order if k < count and k in slot_of])
        found.settings = self.settings
        found.args = self.given
        found.kwargs = self.named
        found.guards = self._guards(after, gone)
        found.arg_groups = self._groups(found.guards)
        for check, key, tensor in self.stayed:
            check.put(key, tensor)
        return found

    def _all_arguments(self) -> list[Argument]:
        """The tensors among the arguments, in the order of ``self.tensors``."""
        found: list[Argument] = []

        def visit(a: Argument) -> None:
            if a.kind == TENSOR:
                found.append(a)
            for part in a.parts:
                visit(part)

        for a in [*self.given, *self.named.values()]:
            visit(a)
        return found

    def _groups(self, guards: Guards) -> list[int]:
        captured = Captured()
        captured.guards = guards
        found: list[int] = []
        storages = guards.storages()
        for k, t in enumerate(self.tensors):
            number = k
            for j in range(k):
                other = self.tensors[j]
                if other is t or t.shared is not None and other.shared is t.shared:
                    number = j
                    break
            if t.shared is not None and number == k:
                for j, shared in enumerate(storages):
                    if shared is t.shared:
                        number = -1 - j
                        break
            found.append(number)
        return found

    def _compare_arguments(self) -> None:
        """Raise NotCapturable where the call changed a container that it was given."""
        tensors: list[Tensor] = []
        objects: list[tuple[str, Any]] = []
        for argument, x in [*zip(self.given, self.args),
                            *[(a, self.kwargs[k]) for k, a in self.named.items()]]:  # fmt: skip
            now = argument_of(argument.path, x, tensors, objects)
            _compare_argument(argument, now)
        if len(tensors) != len(self.tensors) or any(
            a is not b for a, b in zip(tensors, self.tensors)
        ):
            raise NotCapturable("it puts other tensors into what it was given")

    def _compare(
        self, after: Snapshot, new: Callable[[Tensor], int]
    ) -> tuple[list[Any], list[Any], dict[int, int]]:
        """What the call changed: places with new tensors, and the tensors that stood there."""
        self.stayed: list[tuple[Check, Any, Tensor]] = []
        by_tensor: dict[int, list[tuple[Check, int, Any]]] = {}
        created: dict[int, Tensor] = {}
        old_of: dict[int, int] = {}
        before = self.before
        for path, check in before.checks.items():
            keys, values = check.now()
            if isinstance(check, Check) and not check.keys and not check.values:
                why = check.why()
                if why:
                    raise NotCapturable(f"it changes {path}", None, True)
                continue
            if len(keys) != len(check.keys) or not all(map(same, keys, check.keys)):
                raise NotCapturable(
                    f"it changes the host's state: {check.why() or path}", None, True)
            for i, (a, b) in enumerate(zip(check.values, values)):
                if a is b or same(b, a):
                    continue
                if isinstance(a, Tensor) and isinstance(b, Tensor) and a.shared is not None and (
                    a.shared is b.shared and not a.view_steps and not b.view_steps
                    and type(a) is type(b) and not attributes_of(a) and not attributes_of(b)
                    and id(a) in self.mine
                ):
                    # another tensor of the same memory: the one that was there does as well
                    self.stayed.append((check, keys[i], a))
                    continue
                if isinstance(a, Tensor) and isinstance(b, Tensor) and (
                    id(b) not in before.tensors and id(b) not in {id(t) for t in self.tensors}
                ):
                    if attributes_of(a) or a.view_steps or a.slow_path or b.slow_path or (
                        type(a) is not type(b) or a.tensor_type is not b.tensor_type
                    ):
                        raise NotCapturable(
                            f"{check.name_of(keys[i])} was {shown(a)} and is another kind of "
                            "tensor afterwards", None, True)
                    by_tensor.setdefault(id(b), []).append((check, i, keys[i]))
                    created[id(b)] = b
                    if old_of.setdefault(id(b), id(a)) != id(a):
                        raise NotCapturable(
                            f"{check.name_of(keys[i])} takes the place of several tensors")
                    continue
                raise NotCapturable(
                    f"it changes the host's state: {check.name_of(keys[i])} was {shown(a)} and is "
                    f"{shown(b)}", None, True)
        missing = [p for p in after.checks if p not in before.checks]
        if missing and not created and not self.stayed:
            raise NotCapturable(f"it makes the host's state grow: {missing[0]}", None, True)
        rebound: list[Any] = []
        replaced: list[Any] = []
        gone: dict[int, int] = {}
        self.slots: list[tuple[Check, int]] = []
        for key, places in by_tensor.items():
            old = self.mine[old_of[key]]
            gone[old_of[key]] = old
            rebound.append(([(c, k) for c, _, k in places], new(created[key]), old))
            replaced.append(([(c, k) for c, _, k in places], old))
            self.slots += [(c, i) for c, i, _ in places]
        return rebound, replaced, gone

    def _guards(self, after: Snapshot, gone: dict[int, int]) -> Guards:
        checks: list[Check] = []
        for check in self.before.checks.values():
            owner = getattr(check, "owner", None)
            if owner is not None and id(owner) in gone:
                continue
            checks.append(check)
        for check, i in self.slots:
            check.values[i] = Replaced(check.values[i])
        tensors = [TensorIs(path, t) for t, path in self.before.tensors.values()
                   if id(t) not in gone]  # fmt: skip
        return Guards(checks, tensors)

    def _check_draws(self, found: Captured) -> None:
        for (g, how), key, number in zip(self.generators, self.keys, self.numbers):
            drawn = how.number(g) - number
            again = how.key(g)
            if drawn < 0 or again.node is not key.node:
                raise NotCapturable("it seeds a generator of random numbers")
            found.generators.append((g, how, drawn))

    def _is_known(self, x: Any) -> bool:
        return any(x is o for _, o in self.objects) or any(
            x is getattr(c, "owner", None) or x is getattr(c, "items", None)
            for c in self.before.checks.values())


def _compare_argument(before: Argument, now: Argument) -> None:
    if before.kind != now.kind or len(before.parts) != len(now.parts) or (
        not all(map(same, before.keys, now.keys))
    ) or not (before.value is now.value or same(before.value, now.value)):
        raise NotCapturable(f"it changes {before.path}, which it was given")
    for a, b in zip(before.parts, now.parts):
        _compare_argument(a, b)


def _argument_names(function: Any, count: int) -> list[str]:
    code = getattr(function, "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code is not None else []
    return [names[i] if i < len(names) else f"argument {i}" for i in range(count)]


def _renumber(template: Template, numbers: dict[int, int]) -> None:
    def renumbered(ref: Any) -> Any:
        if isinstance(ref, Ref) and ref.kind == SOURCE:
            return Ref(SOURCE, numbers[ref.number], ref.index, ref.flows)
        return ref

    template.operands = [[renumbered(item) for item in items] for items in template.operands]
    template.roots = [
        Root(renumbered(r.ref), r.requires_grad, r.token, r.live) for r in template.roots]


def _renumber_output(output: Output, numbers: dict[int, int]) -> None:
    if isinstance(output, Known):
        output.number = numbers[output.number]  # type: ignore[misc]
    for part in getattr(output, "parts", ()):
        _renumber_output(part, numbers)

