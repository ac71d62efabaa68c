"""Optimizers whose step is one recorded op for all parameters of a group.

An op takes and gives the parameters of one dtype that were always updated together: their
gradients, their state, and the state's counters (``step`` and the like), which they share.
Hyperparameters travel as run-time scalars that are never part of a program's structure, not
even as 0 or 1 (``Scalar(..., bake=False)``), so a schedule may take any values without a
compile. Nothing is read: what depends on the number of the step is computed by the op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lazyloom
from lazyloom import Scalar, Value
from lazyloom.dtypes import DType, float64
from lazyloom.frontend import following, storage_of

from .. import _dtypes
from .._core import cast, record
from .._functions.creation import full_value
from .._grad_mode import enable_grad
from .._tensor import Tensor
from .optimizer import Optimizer


def hyper(number: Any) -> Any:
    """A hyperparameter as a run-time number, or a tensor of one element as a value."""
    if isinstance(number, Tensor):
        value = cast(number._operand(), float64)
        return value if not value.shape else record("reshape", [value], {"shape": ()})
    return Scalar(float(number), float64, bake=False)


def check(name: str, value: Any, valid: Any) -> None:
    """Raise ValueError for an invalid hyperparameter."""
    if not valid:
        raise ValueError(f"Invalid {name}: {value}")


def check_rate(lr: Any, message: str = "Invalid learning rate: {}") -> None:
    """Raise ValueError for a learning rate that is negative, or a tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(message.format(lr))


def check_flags(foreach: Any, fused: Any, differentiable: Any) -> None:
    """Raise RuntimeError for ways of stepping that exclude each other; else all step alike."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def filled(p: Tensor, number: Any) -> Tensor:
    """State of a parameter's shape, a boundary: the first step has the structure of others."""
    made: Tensor = Tensor.from_value(full_value(p.tensor_type.shape, number, p.dtype))
    return made


def counter(number: float) -> Tensor:
    """A number that counts steps, in float32 or a wider default dtype."""
    wide = _dtypes.get_default_dtype() is _dtypes.float64
    made: Tensor = Tensor.from_value(
        full_value((), number, _dtypes.float64 if wide else _dtypes.float32))
    return made


class Batch:
    """Parameters of one group that are updated by one op, with gradients and state."""

    __slots__ = ("kind", "params", "grads", "states")

    def __init__(self, kind: DType) -> None:
        self.kind = kind
        self.params: list[Tensor] = []
        self.grads: list[Value] = []
        self.states: list[dict[str, Any]] = []


class RecordedOptimizer(Optimizer):
    """See the module. A subclass names its state and says what its op is given."""

    #: state that counts: 0-d tensors, shared by the parameters that are updated together, with
    #: what they start from
    counters: dict[str, float] = {"step": 0.0}
    #: a parameter of each op of the last step
    _watched: Sequence[Tensor] = ()
    #: whether steps are dispatched one by one
    _apart = False
    #: set by who goes on with what a step records, and then calls :meth:`dispatch`
    held = False

    def _names(self, group: dict[str, Any]) -> Sequence[str]:
        """The state of a parameter's shape, in the op's order."""
        raise NotImplementedError(f"{type(self).__name__} names no state")

    def _update(self, batch: Batch, group: dict[str, Any]) -> None:
        """Record the op of some parameters; usually one call of :meth:`_record`."""
        raise NotImplementedError(f"{type(self).__name__} does not define an update")

    def _start_counter(self, name: str, group: dict[str, Any]) -> Tensor:
        return counter(self.counters[name])

    def _start(self, p: Tensor, name: str, group: dict[str, Any]) -> Tensor:
        """The state of that name before a parameter's first step."""
        return filled(p, 0)

    def _key(self, p: Tensor, state: dict[str, Any]) -> Any:
        """What parameters of one op have in common, beside dtype and counters."""
        return None

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient.

        ``closure`` computes the loss again (with gradients) and returns it; so does step.
        """
        if not self._apart and any(p.value.is_pending for p in self._watched):
            # nothing was read since the last step, nor will be in a loop: see dispatch()
            self._apart = True
        with lazyloom.grad_mode(bool(self.defaults.get("differentiable"))):
            loss = None
            if closure is not None:
                with enable_grad():
                    loss = closure()
            watched = []
            for group in self.param_groups:
                for batch in self._batches(group):
                    self._update(batch, group)
                    watched.append(batch.params[0])
            self._watched = watched
        if self._apart and not self.held:
            self.dispatch()
        return loss

    def dispatch(self) -> None:
        """Hand the step to XLA if it belongs to a loop that does not read at every step.

        Recorded on and on, the steps between two reads would be one program, which takes long to
        compile; the values are the same. Without ``differentiable``, that is.
        """
        if self._apart and not self.defaults.get("differentiable"):
            lazyloom.sync(*[p.value for p in self._watched])

    def prepare(self) -> None:
        """Make the state that the next step starts from, of parameters that have a gradient."""
        for group in self.param_groups:
            self._batches(group)

    def selectable(self) -> bool:
        """Whether the next step can be undone by putting all tensors back as :meth:`prepare` left
        them."""
        return True

    def _batches(self, group: dict[str, Any]) -> list[Batch]:
        """The parameters with a gradient, those together that one op can take."""
        batches: dict[Any, Batch] = {}
        fresh: dict[str, Tensor] = {}
        names: Sequence[str] | None = None
        counters = tuple(self.counters)
        states = self.state
        params = group["params"]
        # one that shares its memory with another is updated after it, by an op of its own
        repeated = len({id(storage_of(p)) for p in params}) != len(params)
        differentiable = self.defaults.get("differentiable")
        times: dict[int, int] = {}
        turn = 0
        for p in params:
            leaf = p._leaf
            grad = p.grad if leaf is None else leaf.grad
            if grad is None:
                continue
            kind = p.tensor_type.dtype
            value = grad._operand() if differentiable else grad.value
            if value.type.dtype is not kind:
                value = cast(value, kind)
            state = states[p]
            if not state:
                if names is None:
                    names = self._names(group)
                for name in counters:
                    if name not in fresh:
                        fresh[name] = self._start_counter(name, group)
                    state[name] = fresh[name]
                for name in names:
                    state[name] = self._start(p, name, group)
            if repeated:
                place = id(storage_of(p))
                times[place] = turn = times.get(place, 0) + 1
            key = (kind, self._key(p, state), turn,
                   *[id(state[name]) for name in counters])
            batch = batches.get(key)
            if batch is None:
                batch = batches[key] = Batch(kind)
            batch.params.append(p)
            batch.grads.append(value)
            batch.states.append(state)
        return list(batches.values())

    def _record(
        self, batch: Batch, op: str, numbers: Sequence[Any], names: Sequence[str],
        attributes: dict[str, Any],
    ) -> None:
        """Record the op for a batch and store its results."""
        kind, params, states = batch.kind, batch.params, batch.states
        counters = tuple(self.counters)
        operands: list[Any] = [states[0][name]._operand() for name in counters]
        operands += [hyper(number) for number in numbers]
        operands += [p._operand() for p in params]
        operands += batch.grads
        for name in names:
            for state in states:
                value = state[name]._operand()
                operands.append(value if value.type.dtype is kind else cast(value, kind))
        found = record(op, operands, attributes)
        results = iter(found if type(found) is tuple else (found,))
        for name in counters:
            counted = following(states[0][name], next(results))
            for state in states:
                state[name] = counted
        write = Tensor._assign if lazyloom.grad_enabled() else Tensor._update
        for p in params:
            write(p, next(results))
        for name in names:
            for state in states:
                tensor, value = state[name], next(results)
                if tensor.tensor_type.dtype is kind:
                    write(tensor, value)
                else:
                    state[name] = Tensor.from_value(value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        known = dict(state.get("defaults") or self.defaults)
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in known.items():
                if name != "differentiable":  # the base class adds it to everyone's defaults
                    group.setdefault(name, value)
            self._join_counters(group)

    def _join_counters(self, group: dict[str, Any]) -> None:
        """Let the group's parameters share counters that are equal; loading made them several."""
        known: dict[Any, Tensor] = {}
        for p in group["params"]:
            state = self.state.get(p)
            for name in self.counters if state else ():
                held = state.get(name)  # type: ignore[union-attr]
                if held is None:
                    continue
                number = float(held)
                kind = held.dtype if isinstance(held, Tensor) else None
                key = (name, number, kind)
                if key not in known:
                    known[key] = held if isinstance(held, Tensor) else counter(number)
                state[name] = known[key]  # type: ignore[index]
