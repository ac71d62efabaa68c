"""The parameters of a module that are gathered together, before its forward pass and after."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import lazyloom
from lazyloom import Value

from .. import _ends
from .._leaf import Leaf
from .._processes.groups import ProcessGroup
from .._processes.pending import pending
from .._tensor import Tensor, operand
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .gathering import Gathered, Plan, Regathering
from .parameters import Meshes, Sharded
from .policies import MixedPrecisionPolicy


class _Forward(threading.local):
    """The states whose modules' forward passes this thread is in, the outermost first."""

    running: tuple[State, ...] = ()


_forward: Final = _Forward()
#: states that keep whole parameters, at most until the end of the backward pass
_keeping: Final[weakref.WeakSet[State]] = weakref.WeakSet()


class State:
    """What ``fully_shard`` knows of a module.

    Args:
        modules: those whose parameters these are; more than one for a list.
        params: the parameters.
        meshes: the processes.
        policy: the dtypes.
        reshards: whether whole parameters go after the forward pass; None for those of all
            modules but the outermost. A number: among how many processes they are divided then.

    Raises ValueError for a number that does not divide that of the processes.
    """

    def __init__(
        self, modules: Sequence[Module], params: Sequence[Sharded], meshes: Meshes,
        policy: MixedPrecisionPolicy, reshards: bool | int | None,
    ) -> None:
        self.modules = list(modules)
        self.params = list(params)
        self.meshes = meshes
        self.policy = policy
        self.reshards, self._fewer = _resharding(reshards, meshes)
        self.casts_root_inputs = False
        self.plan = Plan(
            [p.divided for p in params], meshes.shards, meshes.place, meshes.copies,
            policy.param_dtype, policy.reduce_dtype)
        self._users = 0
        self._begun = False
        self._placed = False
        self._asked = False
        #: the DTensors that modules have while whole parameters are not in their place
        self._parts: list[Any] = []
        #: whole parameters to write to, and their versions
        self._summoned: list[tuple[Any, int]] = []
        #: whole parameters, while modules have them
        self._wholes: list[Tensor] = []
        #: what gathers them once more
        self._again: Regathering | None = None
        #: whether no other state's modules were running when these began
        self._outermost = False

    # -- whole parameters ------------------------------------------------------------------

    def reshard_after_forward(self, reshards: bool | int) -> None:
        """Whether whole parameters go after the forward pass from now on; as ``reshards`` of it."""
        self.reshards, self._fewer = _resharding(reshards, self.meshes)

    def _stays(self) -> bool:
        """Whether whole parameters outlast the forward pass."""
        return self._outermost if self.reshards is None else not self.reshards

    def _frees(self) -> bool:
        return not self._stays()

    def _place(self, before: Value | None = None) -> None:
        if self._placed or not self.params:
            return
        parts = [p.held for p in self.params]
        locals_ = [p.local(held) for p, held in zip(self.params, parts, strict=True)]
        if not self._begun:
            # what fills the parts is no part of the first step, which has the structure of others
            self._begun = True
            values = [t.value for t in locals_ if t.value.is_pending]
            if values:
                lazyloom.sync(*values)
        fewer = self._fewer if before is not None or self._frees() else None
        self._again = Regathering(self.plan, self._frees, before, fewer)
        found = Gathered.apply(self.plan, self._reduced, self._again, *locals_)
        self._wholes = [p.as_whole(w) for p, w in zip(self.params, found, strict=True)]
        for p, whole in zip(self.params, self._wholes, strict=True):
            p.put(whole)
        self._parts = parts
        self._placed = True
        _keeping.add(self)

    def _remove(self) -> None:
        if self._placed:
            for p, part in zip(self.params, self._parts, strict=True):
                p.put(part)
            self._parts, self._placed = [], False
        self._wholes, self._again = [], None
        _keeping.discard(self)

    def unshard(self) -> None:
        """Let the module have whole parameters until :meth:`reshard`, or its passes are over."""
        self._place()
        self._asked = True

    def reshard(self) -> None:
        """Let the module have the parts again."""
        self._asked = False
        if not self._users:
            self._remove()

    def summon(self, with_grads: bool) -> None:
        """Let the module have whole parameters that are its own to write to.

        Raises AssertionError in a forward pass of the module.
        """
        if self._users:
            raise AssertionError("Cannot manually unshard parameters during forward/backward")
        self._remove()
        self._parts = [p.held for p in self.params]
        locals_ = [p.local(held) for p, held in zip(self.params, self._parts, strict=True)]
        plan = Plan(self.plan.divided, self.plan.shards, self.plan.place, self.plan.copies)
        found = Gathered.apply(plan, None, None, *locals_)
        grads: Any = [None] * len(locals_)
        if with_grads:
            some = [t.grad is not None for t in locals_]
            held = Gathered.apply(plan, None, None, *[
                t.detach() * 0 if t.grad is None else t.grad for t in locals_])
            grads = [g if is_there else None for g, is_there in zip(held, some, strict=True)]
        self._summoned = []
        for p, local, whole, grad in zip(self.params, locals_, found, grads, strict=True):
            made = Parameter(whole, local.requires_grad)
            made.grad = grad
            p.put(made if p.inner is None else p.as_whole(made))
            self._summoned.append((made, made.version))
        if self.meshes.mesh.size() > 1:
            pending.hand_over_all()
        self._asked = True

    def dismiss(self, writeback: bool) -> None:
        """Let the module have the parts again, with what was written to whole parameters."""
        for p, part, (whole, version) in zip(
                self.params, self._parts, self._summoned, strict=True):
            p.put(part)
            if writeback and whole.version != version:
                begin, extent = p.divided.of(self.meshes.place)
                new = whole.detach().narrow(p.divided.dim, begin, extent).clone()
                p.local(part)._update(new.value)
        self._parts, self._summoned, self._asked = [], [], False

    def _reduced(self) -> None:
        """Gradients of the parts were recorded: they are handed over after the next step."""
        if self.meshes.mesh.size() > 1 and self.plan.reduces:
            parts = self._parts if self._placed else [p.held for p in self.params]
            pending.add(p.local(h) for p, h in zip(self.params, parts, strict=True))

    def end_pass(self) -> None:
        """The backward pass is over."""
        self._asked = False
        if not self._users:
            self._remove()

    # -- forward passes --------------------------------------------------------------------

    @contextmanager
    def running(self, given: Any = ()) -> Any:
        """A forward pass of the module with these arguments."""
        before = _forward.running
        if not before and lazyloom.grad_enabled() and self.meshes.mesh.size() > 1:
            pending.hand_over()  # a step that no optimizer has ended
        self._outermost = outermost = not before
        self._place(_first_value(given) if self._frees() else None)
        self._users += 1
        _forward.running = (*before, self)
        try:
            yield outermost
        finally:
            _forward.running = before
            self._users -= 1
            if not self._users and not (self._asked and self._stays()):
                self.reshard()

    def _renewed(self, wholes: list[Tensor], values: list[Value]) -> list[Tensor]:
        """Whole parameters with values that were gathered once more; gradients reach the first."""
        locals_ = [_local(w) for w in wholes]
        made = lazyloom.custom(values, [operand(t) for t in locals_],
                               lambda result_of, cotangents: cotangents, name="GatheredBackward")
        return [p.as_whole(Tensor.from_value(v)) for p, v in zip(self.params, made, strict=True)]

    @contextmanager
    def with_wholes(self, wholes: list[Tensor], again: Regathering | None) -> Any:
        """The module with the whole parameters of an earlier forward pass."""
        before = [p.held for p in self.params]
        gather = None if again is None else again()
        if gather is not None:
            wholes = self._renewed(wholes, gather(None))
        for p, whole in zip(self.params, wholes, strict=False):
            p.put(whole)
        self._users += 1
        running, _forward.running = _forward.running, (*_forward.running, self)
        try:
            yield
        finally:
            _forward.running = running
            self._users -= 1
            for p, held in zip(self.params, before, strict=True):
                p.put(held)


def _resharding(given: bool | int | None, meshes: Meshes) -> tuple[bool | None, Any]:
    """Whether whole parameters go; and the group they are divided among, if it is a smaller one."""
    if given is None or isinstance(given, bool):
        return given, None
    count = meshes.count
    if not isinstance(given, int) or given < 1 or count % given:
        raise ValueError(
            "If passing reshard_after_forward as an integer, it should be a factor of "
            f"{count}, the number of processes that parameters are divided among, not {given!r}")
    if given in (1, count):
        return given != 1, None
    whole = meshes.shards
    begin = whole.rank() // given * given
    return True, ProcessGroup(
        whole.ranks[begin : begin + given], f"{whole.group_name}/{begin}+{given}", whole.backend,
        whole.timeout, "reshard_after_forward")


def _first_value(given: Any) -> Value | None:
    """What the first tensor among arguments holds."""
    for x in lazyloom.tree_flatten(given, Tensor)[0]:
        if isinstance(x, Tensor):
            return operand(_local(x))
    return None


def _local(whole: Any) -> Tensor:
    found: Tensor = getattr(whole, "_local_tensor", whole)
    return found


def _end_pass(leaves: list[Leaf]) -> None:
    for state in list(_keeping):
        state.end_pass()


_ends.after_pass.append(_end_pass)


def _around() -> Callable[[], Any]:
    """The forward passes that this thread is in, for what is computed of them again later."""
    states = [(state, state._wholes, state._again) for state in _forward.running]

    @contextmanager
    def again() -> Any:
        with ExitStack() as stack:
            for state, wholes, source in states:
                stack.enter_context(state.with_wholes(wholes, source))
            yield

    return again


_ends.again.append(_around)
