"""Hooks on tensors: functions of their gradients, called in a backward pass."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import lazyloom
from lazyloom import Value
from lazyloom.errors import type_name
from lazyloom.frontend import write_lock

from .._core import record
from .._hooks import RemovableHandle
from .._tensor import Tensor, operand

_wrap = Tensor.from_value


def accumulated(before: Tensor | None, gradient: Value, create_graph: bool) -> Tensor:
    """A gradient added to what was there before, in place unless the pass is recorded."""
    if before is None:
        return _wrap(gradient)
    if create_graph:
        return _wrap(record("add", [operand(before), gradient]))
    with write_lock(before):
        return before._assign(record("add", [operand(before), gradient]))


class NodeHook:
    """A hook of a node of the graph: called after those of the tensor that the node made.

    Attributes:
        after: it sees what the node passes on, after all hooks that may change it.
    """

    __slots__ = ("hook", "after")

    def __init__(self, hook: Callable[[Tensor], Any], after: bool = False) -> None:
        self.hook = hook
        self.after = after

    def __call__(self, tensor: Tensor) -> Any:
        return self.hook(tensor)


def stage_of(hook: Any) -> int:
    """What hooks are called in the order of."""
    return 0 if type(hook) is not NodeHook else 2 if hook.after else 1


class _Owner(weakref.ref):  # type: ignore[type-arg]
    """A reference to the tensor of a :class:`Watch`, whose hooks the graph keeps as it goes."""

    __slots__ = ("watch",)
    watch: weakref.ref[Watch]

    def parted(self) -> None:
        watch = self.watch()
        if watch is not None:
            watches.leave(watch)


class Watch:
    """The hooks and the retained gradient of a non-leaf tensor, which holds it.

    A hook often names its tensor: were it held by anything else, neither would ever go. So one
    whose tensor was written in place since is held by the next one.
    """

    __slots__ = ("place", "owner", "grad", "retain", "hooks", "lock", "before", "__weakref__")

    def __init__(self, value: Value, owner: Tensor) -> None:
        self.place = lazyloom.Place(value)
        self.owner = _Owner(owner, _Owner.parted)
        self.owner.watch = weakref.ref(self)
        self.grad: Tensor | None = None
        self.retain = False
        self.hooks: dict[int, Callable[[Tensor], Any]] = {}
        self.lock = threading.RLock()  # held while a gradient is added
        self.before: Watch | None = None

    def wanted(self) -> bool:
        """Whether a gradient can still come by: through the tensor, or what was made of it."""
        owner = self.owner()
        return (owner is not None and owner._watch is self) or self.place.used

    def arrived(self, cotangent: Value, create_graph: bool) -> Value:
        """What goes on in place of the cotangent of the value."""
        shown = conjugated(cotangent)
        hooks = in_order(self.hooks)
        of_node = 0
        while of_node < len(hooks) and not stage_of(hooks[of_node]):
            of_node += 1
        gradient = _run(hooks[:of_node], shown)
        if self.retain:
            with self.lock:
                self.grad = accumulated(self.grad, gradient, create_graph)
        gradient = _run(hooks[of_node:], gradient)
        return cotangent if gradient is shown else conjugated(gradient)


class Watches:
    """All hooks on tensors that are no leaves: of living ones, and of those whose graph lives."""

    def __init__(self) -> None:
        self._living: dict[int, weakref.ref[Watch]] = {}
        self._left: set[Watch] = set()

    def add(self, watch: Watch) -> None:
        number, living = id(watch), self._living
        living[number] = weakref.ref(watch, lambda _: living.pop(number, None))

    def leave(self, watch: Watch) -> None:
        """Its tensor goes, and its gradient with it; hooks stay as long as the graph does."""
        watch.retain, watch.grad = False, None
        if watch.hooks and watch.place.used:
            self._left.add(watch)

    def discard(self, watch: Watch) -> None:
        self._left.discard(watch)
        self._living.pop(id(watch), None)

    def __len__(self) -> int:
        return len(self._living)

    def __iter__(self) -> Iterator[Watch]:
        # of a copy: a collection while they are listed takes away those that are gone
        for reference in list(self._living.copy().values()):
            watch = reference()
            if watch is not None:
                yield watch


watches = Watches()


def drop_watches() -> None:
    """Forget the hooks of graphs that are gone."""
    for w in [w for w in watches if not w.wanted()]:
        watches.discard(w)


def observers(create_graph: bool) -> dict[Value, Callable[[Value], Value]]:
    """What a backward pass calls with the cotangents of the tensors that have hooks."""
    drop_watches()
    for w in tuple(watches):
        tensor = w.owner() if w.retain else None
        if tensor is not None and tensor._watch is w:
            watching(tensor)
    found: dict[Any, tuple[Value, list[Watch]]] = {}
    for w in tuple(watches):
        value = w.place.value() if w.retain or w.hooks else None
        if value is not None:
            found.setdefault((value.node, value.index), (value, []))[1].append(w)

    def calling(several: list[Watch]) -> Callable[[Value], Value]:
        def observe(cotangent: Value) -> Value:
            for w in several:
                cotangent = w.arrived(cotangent, create_graph)
            return cotangent

        return observe

    return {value: calling(several) for value, several in found.values()}


def conjugated(v: Any) -> Any:
    """The runtime's cotangent of a complex value as PyTorch's gradient, and back."""
    return record("conj", [v]) if v is not None and v.dtype.is_complex else v


def in_order(hooks: dict[int, Any]) -> list[Any]:
    """Hooks in the order in which they are called."""
    return sorted(hooks.values(), key=stage_of)


def run_hooks(hooks: dict[int, Any] | None, gradient: Value) -> Value:
    """The gradient that hooks, one after the other, make of one."""
    return _run(in_order(hooks), gradient) if hooks else gradient


def _run(hooks: list[Any], gradient: Value) -> Value:
    for hook in hooks:
        changed = hook(_wrap(gradient))
        if changed is None:
            continue
        if not isinstance(changed, Tensor):
            raise TypeError(
                f"a hook returned a {type_name(changed)}, expected None or the gradient to "
                "go on with")
        after = operand(changed)
        if not after.type.agrees(gradient.type):
            raise RuntimeError(
                f"hook has changed the gradient from {gradient.type.text} to {after.type.text}, "
                "expected one of the same size and dtype")
        gradient = after
    return gradient


def watching(self: Tensor) -> Watch:
    """The tensor's hooks, made when first asked for."""
    value = operand(self)
    old = self._watch
    if old is None or old.place.node is not value.node:
        self._watch = made = Watch(value, self)
        if old is not None:
            if old.retain:
                # written in place since: the gradient kept is that of the newest contents
                made.retain, old.retain = True, False
            while old is not None and not old.place.used:
                old = old.before
            made.before = old
        drop_watches()
        watches.add(made)
    watch: Watch = self._watch
    return watch


def hooks_of(self: Tensor) -> dict[int, Any]:
    """The hooks on the gradient of a tensor that requires one."""
    return watching(self).hooks if self._leaf is None else self._leaf.hook_table()


def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call ``hook(gradient)`` when this tensor's gradient is computed; it may return another.

    On a leaf it runs for each gradient before accumulation.
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    hooks = hooks_of(self)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call ``hook(tensor)`` after a gradient was added to this leaf's ``.grad``."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._leaf is None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self._leaf.after is None:
        self._leaf.after = {}
    handle = RemovableHandle(self._leaf.after)
    self._leaf.after[handle.id] = (hook, weakref.ref(self))
    return handle


def retain_grad(self: Tensor) -> None:
    """Let ``.grad`` of this non-leaf be filled by backward, too."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._leaf is None:
        watching(self).retain = True


def retains_grad(self: Tensor) -> bool:
    """Whether ``retain_grad`` was called."""
    return self._leaf is None and self._watch is not None and bool(self._watch.retain)


