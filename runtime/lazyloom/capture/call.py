"""The recording of a call for capture."""

from __future__ import annotations

import gc
from collections.abc import Callable
from threading import get_ident
from types import CodeType, MethodType
from typing import Any

from ..evaluate.evaluate import evaluate
from ..evaluate.reading import blind, held_back, reads_of
from ..tensor.contents import created_of, write_lock
from ..tensor.storage import OtherWriters, number_of_lock
from ..tensor.tensor import Tensor
from ..trace import graph
from ..trace.graph import PENDING, Node, Value
from ..trace.source import Site
from . import environment
from .arguments import Argument, argument_of
from .captured import (
    ARGUMENT,
    FIXED,
    KEY,
    SLOT,
    Captured,
    CapturedSource,
    Rebound,
    contents,
    groups_of,
)
from .guards import (
    ContainerGuard,
    Guards,
    Replaced,
    attributes_of,
    place_of,
    same,
)
from .left import Left, tensor_arguments
from .numbers import NumberPlace, NumbersOfCall, group_checks
from .outputs import Known, NewTensor, Output, output_of
from .recipe import REASON
from .state import Code, Snapshot, Walk
from .template import (
    SOURCE,
    Draw,
    NotCapturable,
    Ref,
    Root,
    Template,
    left_behind,
    settle_all,
    template_of,
)
from .tensor_checks import TensorIs, shown
from .watch import Watch, is_borrowed


class Recording:
    """One call that is recorded while it is watched.

    Attributes:
        others: the writes of other threads meanwhile; a context entered around :meth:`run` and
            :meth:`captured`.
    """

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        code: Code, stable: bool, wanted: list[NumberPlace], moving: set[Any],
    ) -> None:  # fmt: skip
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.code = code
        self.stable = stable
        self.wanted = wanted
        self.moving = moving
        self.fed: NumbersOfCall | None = None
        #: why the wanted numbers were not fed
        self.not_fed = ""
        self.watch = Watch()
        self.others = OtherWriters()
        self.problem: NotCapturable | None = None
        self.result: Any = None

    def run(self) -> Any:
        """Call the function; return its result, or raise what it raises."""
        me = get_ident()
        try:
            self._look_before()
        except NotCapturable as problem:
            self.problem = problem
        held_back.add(me)
        if self.stable and self.problem is None:
            blind.add(me)
            if self.wanted:
                self.fed = NumbersOfCall(
                    self.wanted, self.before, self.code, self.function, self.args, self.kwargs,
                    self.given, self.named)
        args, kwargs = self.args, self.kwargs
        if self.fed is not None:
            args, kwargs = self.fed.args, self.fed.kwargs
        try:
            if self.fed is not None:
                self.fed.begin()
            with self.watch:
                self.result = self.function(*args, **kwargs)
        finally:
            held_back.discard(me)
            blind.discard(me)
            reads_of.pop(me, None)
            if self.fed is not None:
                self.fed.end()
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
        # arguments first: a tensor that is both counts as an argument
        self.known: list[tuple[CapturedSource, Tensor]] = [
            (CapturedSource(ARGUMENT, k, x), x) for k, x in enumerate(self.tensors)]
        arguments = {id(x) for x in self.tensors}
        self.paths: dict[int, str] = {}
        for t, path in self.before.tensors.values():
            self.paths[id(t)] = path
            if id(t) not in arguments:
                self.known.append((CapturedSource(FIXED, 0, t), t))
            else:
                raise NotCapturable(f"{path} is also an argument", None, True)
        extra = [(CapturedSource(s.kind, s.number, t, base=True), t) for s, t in self.known
                 if t.view_steps and t.shared is not None]
        self.known += extra
        for _, t in self.known:
            with write_lock(t):
                pass  # a thread that was about to write has finished; later ones are seen
        self.held = [contents(t, s.base) for s, t in self.known]
        for v in self.held:
            if v.node.state == PENDING:
                evaluate(v.node, REASON)
        self.versions = [t.version for _, t in self.known]
        self.start = graph.last_sequence()
        self.mine = {id(t): k for k, (s, t) in enumerate(self.known) if not s.base}

    def captured(self) -> Captured | None:
        """Return the call as one that can run again; None if another must be recorded first.

        Raises NotCapturable.
        """
        watch = self.watch
        fresh = watch.code.seen - self.code.seen
        self.code.seen |= watch.code.seen
        self.code.names |= watch.code.names
        self.code.imports |= watch.code.imports
        self.code.library |= watch.code.library
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
        try:
            captured = self._build()
        except NotCapturable:
            if self._disturbed():
                return None
            raise
        return None if self._disturbed() else captured

    def _disturbed(self) -> bool:
        """Return True if another thread wrote a tensor of this call while it was recorded.

        Every run would repeat what the call recorded for that write.
        """
        return any(number_of_lock(created_of(t)) in self.others.numbers for _, t in self.known)

    def _check_reached(self) -> None:
        """Raise NotCapturable if a function ran that the walk did not reach."""
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
        captured = Captured()
        settle_all()
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

        arguments = tensor_arguments([*self.given, *self.named.values()])
        left_tensors = Left([(t, s.base) for s, t in self.known], arguments, self.result, root)
        self.alive = left_tensors.alive
        rebound, gone = self._compare(after, left_tensors.replacement)
        left_tensors.gone = gone
        elsewhere = dict(gone)
        written: list[tuple[int, int]] = []
        stored: set[int] = set()
        for k, (s, t) in enumerate(self.known):
            if t.view_steps and not s.base:
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
            return NewTensor(left_tensors.number_of(t))

        used: set[int] = left_tensors.used
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
        template = self._template(captured, roots, sources, draws, kept)
        captured.template = template
        leak = left_behind(self.start, roots + left_tensors.values, get_ident())
        if leak is not None:
            gc.collect()
            leak = left_behind(self.start, roots + left_tensors.values, get_ident())
        if leak is not None:
            raise NotCapturable("a tensor that it makes is kept where that cannot be seen",
                                leak.site, True)  # fmt: skip
        self._check_draws(captured)
        # the sources that are used, of all that could be
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
        used.update(k for _, _, k in self.placed)
        for a, b in equal:
            if a in used or b in used:
                used.update((a, b))
        order = sorted(used)
        renumber = {old: new_number for new_number, old in enumerate(order)}
        anywhere = self._anywhere(gone)
        slot_of = self._places_of(gone)
        for check, i, key, t in anywhere:
            slot_of[self.mine[id(t)]] = [(check, key)]
            self.slots.append((check, i))
            elsewhere[id(t)] = self.mine[id(t)]
        for k in order:
            if k >= count:
                source = CapturedSource(KEY, k - count)
            else:
                source, t = self.known[k]
                if k in slot_of:
                    check, name = slot_of[k][0]
                    source = CapturedSource(SLOT, 0, None, check, name)
                    source.also = slot_of[k][1:]
                source.requires_grad = self.held[k].requires_grad
                if source.base and source.kind == ARGUMENT:
                    arguments[source.number].steps = t.view_steps
            captured.sources.append(source)
        for k, r_number in written:
            source = captured.sources[renumber[k]]
            source.written = r_number
            source.writes = max(1, self.known[k][1].version - self.versions[k])
        _renumber(template, renumber)
        _renumber_output(output, renumber)
        captured.indices = template.indices()
        captured.equal = [(renumber[a], renumber[b]) for a, b in equal
                       if a in renumber and b in renumber]
        captured.made = left_tensors.made
        left_tensors.renumber(renumber)
        captured.output = output
        captured.rebound = [
            Rebound(places, made_number, renumber.get(old, -1))
            for places, made_number, old in rebound]
        taken = {r.made: r.old for r in captured.rebound}
        captured.follows = [taken.get(k, -1) for k in range(len(captured.made))]
        captured.dropped = self.dropped
        captured.placed = [(check, key, renumber[k]) for check, key, k in self.placed]
        captured.slot_groups = groups_of([
            self.known[k][1] for k in order if k < count and k in slot_of])
        captured.groups = group_checks(self.before)
        captured.settings = self.settings
        captured.args = self.given
        captured.kwargs = self.named
        captured.guards = self._guards(elsewhere)
        captured.arg_groups = self._groups(captured.guards)
        for check, key, tensor in self.stayed:
            check.put(key, tensor)
        return captured

    def _template(
        self, captured: Captured, roots: list[Value], sources: dict[tuple[Node, int], int],
        draws: dict[tuple[Node, int], tuple[int, int]], kept: set[tuple[Node, int]],
    ) -> Template:
        numbers = self.fed
        if numbers is not None and numbers.places:
            self.not_fed = numbers.why_not(self.watch.operators)
            if not self.not_fed:
                template = template_of(roots, self.start, sources, draws, kept,
                                       numbers.number_of(len(self.generators)))  # fmt: skip
                self.not_fed = numbers.feeding.spoiled
                if not self.not_fed:
                    captured.numbers = numbers.finish()
                    return template
        return template_of(roots, self.start, sources, draws, kept)

    def _groups(self, guards: Guards) -> list[int]:
        captured = Captured()
        captured.guards = guards
        groups: list[int] = []
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
            groups.append(number)
        return groups

    def _compare_arguments(self) -> None:
        """Raise NotCapturable if the call changed a container among its arguments."""
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
    ) -> tuple[list[Any], dict[int, int]]:
        """Return what the call changed: places with new tensors, and the tensors they replaced."""
        self.stayed: list[tuple[ContainerGuard, Any, Tensor]] = []
        by_tensor: dict[int, list[tuple[ContainerGuard, Any]]] = {}
        created: dict[int, Tensor] = {}
        old_of: dict[int, int] = {}
        self.placed: list[tuple[ContainerGuard, Any, int]] = []
        self.dropped: list[tuple[ContainerGuard, Any]] = []
        gone: dict[int, int] = {}
        before = self.before
        for path, check in before.checks.items():
            keys, values = check.now()
            if isinstance(check, ContainerGuard) and not check.keys and not check.values:
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
                if (a is None or isinstance(a, Tensor)) and isinstance(b, Tensor) and (
                    id(b) in self.mine
                ):
                    self.placed.append((check, keys[i], self.mine[id(b)]))
                    continue
                if isinstance(a, Tensor) and isinstance(b, Tensor) and a.shared is not None and (
                    a.shared is b.shared and not a.view_steps and not b.view_steps
                    and type(a) is type(b)
                    and (a.detached == b.detached or not a.value.requires_grad)
                    and not attributes_of(a) and not attributes_of(b) and id(a) in self.mine
                ):
                    # a new tensor of the same memory: the old one serves as well
                    self.stayed.append((check, keys[i], a))
                    continue
                if a is None and self._is_new(b):
                    if attributes_of(b) or b.view_steps or b.slow_path:
                        raise NotCapturable(
                            f"{check.name_of(keys[i])} becomes {shown(b)} with attributes or of "
                            "another tensor's memory", None, True)
                    by_tensor.setdefault(id(b), []).append((check, keys[i]))
                    created[id(b)] = b
                    if old_of.setdefault(id(b), 0):
                        raise NotCapturable(
                            f"{check.name_of(keys[i])} takes the place of several tensors")
                    continue
                if b is None and isinstance(a, Tensor) and id(a) in self.mine and not (
                    attributes_of(a) or a.view_steps or a.slow_path
                ):
                    self.dropped.append((check, keys[i]))
                    gone[id(a)] = self.mine[id(a)]
                    continue
                if isinstance(a, Tensor) and self._is_new(b):
                    if attributes_of(a) or a.view_steps or a.slow_path or b.slow_path or (
                        type(a) is not type(b) or a.tensor_type is not b.tensor_type
                    ):
                        raise NotCapturable(
                            f"{check.name_of(keys[i])} was {shown(a)} and is another kind of "
                            "tensor afterwards", None, True)
                    by_tensor.setdefault(id(b), []).append((check, keys[i]))
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
        self.slots: list[tuple[ContainerGuard, int]] = []
        for key, places in by_tensor.items():
            if not old_of[key]:
                rebound.append((places, new(created[key]), -1))
                continue
            old = self.mine[old_of[key]]
            gone[old_of[key]] = old
            rebound.append((places, new(created[key]), old))
        return rebound, gone

    def _places_of(self, gone: dict[int, int]) -> dict[int, list[tuple[ContainerGuard, Any]]]:
        """Return all places of the tensors that others have replaced, by their numbers.

        Raises NotCapturable where one is reached in a way that no check can follow.
        """
        places: dict[int, list[tuple[ContainerGuard, Any]]] = {}
        for check in self.before.checks.values():
            for i, (key, t) in enumerate(zip(check.keys, check.values)):
                if id(t) in gone:
                    places.setdefault(gone[id(t)], []).append((check, key))
                    self.slots.append((check, i))
        again = self.before.again
        for identity, k in gone.items():
            if len(places.get(k, ())) != 1 + again.get(identity, 0):
                raise NotCapturable(
                    f"{self.paths[identity]} becomes another tensor, and the one that it was is "
                    "part of something that does not change", None, True)
        return places

    def _is_new(self, x: Any) -> bool:
        """Return True if an object is a tensor that did not exist before the call."""
        return isinstance(x, Tensor) and id(x) not in self.before.tensors and not any(
            x is t for t in self.tensors)

    def _anywhere(self, gone: dict[int, int]) -> list[tuple[ContainerGuard, int, Any, Tensor]]:
        """Return the places whose tensor changed since an earlier capture, which each call must
        read: (check, position, key, tensor)."""
        moved: list[tuple[ContainerGuard, int, Any, Tensor]] = []
        if not self.moving:
            return moved
        arguments = {id(t) for t in self.tensors}
        storages: dict[int, int] = {}
        for s, t in self.known:
            if t.shared is not None and not s.base:
                storages[id(t.shared)] = storages.get(id(t.shared), 0) + 1
        for check in self.before.checks.values():
            for i, (key, t) in enumerate(zip(check.keys, check.values)):
                if isinstance(t, Tensor) and place_of(check, key) in self.moving and (
                    id(t) in self.mine and id(t) not in gone and id(t) not in arguments
                    and id(t) not in self.before.again
                    and (t.shared is None or storages[id(t.shared)] == 1)
                    and not (attributes_of(t) or t.view_steps or t.slow_path)
                ):
                    moved.append((check, i, key, t))
        return moved

    def _guards(self, gone: dict[int, int]) -> Guards:
        checks: list[ContainerGuard] = []
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

    def _check_draws(self, captured: Captured) -> None:
        for (g, how), key, number in zip(self.generators, self.keys, self.numbers):
            drawn = how.number(g) - number
            again = how.key(g)
            if drawn < 0 or again.node is not key.node:
                raise NotCapturable("it seeds a generator of random numbers")
            captured.generators.append((g, how, drawn))
        for operands in captured.template.operands:
            for item in operands:
                if isinstance(item, Draw) and not (
                    0 <= item.offset < captured.generators[item.generator][2]
                ):
                    raise NotCapturable("it draws random numbers again that were drawn before it")

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
    if isinstance(function, MethodType):
        names = names[1:]
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
        output.number = numbers[output.number]
    for part in getattr(output, "parts", ()):
        _renumber_output(part, numbers)

