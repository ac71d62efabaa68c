"""Optimizers whose step is one recorded op for all parameters of a group.

An op takes and gives the parameters of one dtype that were always updated together: their
gradients, their state, and the state's counters (``step`` and the like), which they share.
Hyperparameters travel as run-time scalars that are never part of a program's structure, not
even as 0 or 1 (``Scalar(..., bake=False)``), so a schedule may take any values without a
compile. Nothing is read: what depends on the number of the step is computed by the op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import is_, itemgetter
from typing import Any

import lazyloom
from lazyloom import Scalar
from lazyloom.dtypes import DType, float64
from lazyloom.frontend import (
    Update,
    fed_items,
    following,
    number_of,
    same_objects,
    storage_of,
    write_locks,
)

from .. import _dtypes
from .._core import cast, record, spec
from .._divided import divided
from .._functions.creation import full_value
from .._grad_mode import enable_grad
from .._placing import put_beside
from .._tensor import Tensor
from .optimizer import Optimizer


def hyper(number: Any) -> Any:
    """A hyperparameter as a run-time number, or a tensor of one element as a value."""
    if isinstance(number, Tensor):
        value = cast(number._operand(), float64)
        return value if not value.shape else record("reshape", [value], {"shape": ()})
    return Scalar(number_of(number), float64, bake=False)


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
    made: Tensor = Tensor.from_value(
        put_beside(full_value(p.tensor_type.shape, number, p.dtype), p))
    return made


def counter(number: float) -> Tensor:
    """A number that counts steps, in float32 or a wider default dtype."""
    wide = _dtypes.get_default_dtype() is _dtypes.float64
    made: Tensor = Tensor.from_value(
        full_value((), number, _dtypes.float64 if wide else _dtypes.float32))
    return made


class Recorded:
    """The op that a batch was updated by, kept for its next update.

    Attributes:
        op, names, attributes: what :meth:`RecordedOptimizer._record` was given.
        update: the op with parameters and state; its entries are this state's.
        numbers: the hyperparameters, () where they may change in place.
        scalars: those as operands.
    """

    __slots__ = ("op", "names", "attributes", "update", "numbers", "scalars")

    def __init__(
        self, op: str, names: Sequence[str], attributes: dict[str, Any], update: Update
    ) -> None:
        self.op = op
        self.names = tuple(names)
        self.attributes = attributes
        self.update = update
        self.numbers: Sequence[Any] = ()
        self.scalars: list[Any] = []


class Batch:
    """Parameters of one group that are updated by one op, with gradients and state."""

    __slots__ = ("kind", "params", "grads", "states", "recorded")

    def __init__(self, kind: DType) -> None:
        self.kind = kind
        self.params: list[Tensor] = []
        self.grads: list[Any] = []
        self.states: list[dict[str, Any]] = []
        self.recorded: Recorded | None = None


#: kinds of hyperparameters that do not change in place
_PLAIN = (float, int, bool, str, type(None))


def _is_plain(given: Any) -> bool:
    if type(given) is tuple:
        return all(type(x) in _PLAIN for x in given)
    return type(given) in _PLAIN


class Kept:
    """The batches of a group's last step, for the next one if the same have a gradient then.

    Attributes:
        group, params, leaves: the group, its parameters and what the tape knows them by.
        batches: with the leaves whose gradients they take.
        idle: the parameters that had no gradient.
        settings: the group's entries that the batches were last updated by, None where that
            was the first time or they may change in place.
    """

    __slots__ = ("group", "params", "leaves", "batches", "idle", "settings")

    def __init__(self, group: dict[str, Any], batches: list[Batch]) -> None:
        self.group = group
        self.params: list[Tensor] = list(group["params"])
        self.leaves = [p._leaf for p in self.params]
        self.batches = [(b, [p._leaf for p in b.params]) for b in batches]
        taken = {id(p) for b in batches for p in b.params}
        self.idle = [p for p in self.params if id(p) not in taken]
        self.settings: list[Any] | None = None

    def again(self, group: dict[str, Any]) -> bool:
        """Give the batches the gradients of this step; False where they may be others."""
        if group is not self.group or not same_objects(group["params"], self.params) or (
            [p._leaf for p in self.params] != self.leaves
        ):
            return False
        for p in self.idle:
            if p.grad is not None:
                return False
        for p in self.params:
            if p.slow_path and p._own is not None:
                return False
        for batch, leaves in self.batches:
            batch.grads = [leaf.grad for leaf in leaves]  # type: ignore[union-attr]
            for grad in batch.grads:
                if grad is None:
                    return False
        return True

    def updated(self) -> None:
        """The batches were updated by what the group says."""
        self.settings = None
        if all(_is_plain(value) for name, value in self.group.items()
               if name not in ("params", "param_names")):
            self.settings = list(self.group.values())


class RecordedOptimizer(Optimizer):
    """See the module. A subclass names its state and says what its op is given."""

    #: state that counts: 0-d tensors, shared by the parameters that are updated together, with
    #: what they start from
    counters: dict[str, float] = {"step": 0.0}
    #: a parameter of each op of the last step
    _watched: Sequence[Tensor] = ()
    #: whether steps are dispatched one by one
    _apart = False
    #: whether the gradients of the last step were forgotten right after it, and whether the
    #: dispatch of a step waits for that: they are none of the program's results then
    _forgets = False
    _due = False
    #: set by who goes on with what a step records, and then calls :meth:`dispatch`
    held = False
    #: of each group, what the last step left for the next one
    _kept: Sequence[Kept | None] = ()
    #: what steps for parameters that are divided among processes
    divided: Any = None
    #: whether an update looks at more than one element at a time
    _of_whole = False
    #: the state as that step left it: the parameters, and what there is of each
    _kept_state: tuple[list[Any], list[Any]] = ([], [])

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
        if self.divided is not None:
            return self.divided.step(closure)
        differentiable = bool(self.defaults.get("differentiable"))
        with lazyloom.grad_mode(differentiable):
            loss = None
            if closure is not None:
                with enable_grad():
                    loss = closure()
            watched: list[Tensor] = []
            groups = self._groups()
            fed = groups is not self.param_groups
            kept = () if fed else self._still_kept()
            found: list[Kept | None] = []
            for number, group in enumerate(groups):
                before = kept[number] if number < len(kept) else None
                if before is None or not before.again(group):
                    found.append(self._step_anew(group, watched))
                    continue
                settings = before.settings
                same = settings is not None and same_objects(group.values(), settings)
                for batch, _ in before.batches:
                    if not same or not self._repeat(batch):
                        batch.grads = [cast(grad.value, batch.kind) for grad in batch.grads]
                        self._update(batch, group)
                        same = False
                    batch.grads = []  # kept, they would be computed for nobody
                    watched.append(batch.params[0])
                if not same:
                    before.updated()
                    if any(batch.recorded is None for batch, _ in before.batches):
                        before = None
                found.append(before)
            self._watched = watched
            if fed or not same_objects(found, kept):
                self._kept = [] if differentiable or fed else found
                self._kept_state = list(self.state), list(self.state.values())
        if self._apart and not self.held:
            if self._due:
                # nobody forgot them after the last step, and nobody may after this one
                self._forgets = False
            self._due = self._forgets
            if not self._due:
                self.dispatch()
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, or make them zeros."""
        if self.divided is not None:
            self.divided.zero_grad(set_to_none)
            return
        if not self._apart:
            Optimizer.zero_grad(self, set_to_none)
            return
        self._forgets = lazyloom.last_sequence() == self._ended
        Optimizer.zero_grad(self, set_to_none)
        if self._due:
            self._due = False
            self.dispatch()

    def _begin(self) -> None:
        if not self._apart:
            for p in self._watched:
                if p.value.is_pending:
                    # nothing was read since the last step, nor will be in a loop: see dispatch()
                    self._apart = True

    def _divide(self) -> None:
        if self.divided is None:
            self.divided = divided["optimizer"](self, self._of_whole)

    def _groups(self) -> list[dict[str, Any]]:
        """The groups; in a captured call those whose numbers note what they are used for."""
        return fed_items(self.param_groups)

    def _step_anew(self, group: dict[str, Any], watched: list[Tensor]) -> Kept | None:
        """Update a group's parameters without what an earlier step kept."""
        batches = self._batches(group)
        for batch in batches:
            self._update(batch, group)
            batch.grads = []
            watched.append(batch.params[0])
        if batches and all(b.recorded is not None for b in batches) and all(
            p._leaf is not None for b in batches for p in b.params
        ):
            return Kept(group, batches)
        return None

    def _still_kept(self) -> Sequence[Kept | None]:
        """What the last step kept, if the state is what it left."""
        params, states = self._kept_state
        state = self.state
        if same_objects(state, params) and same_objects(state.values(), states):
            return self._kept
        return ()

    def dispatch(self) -> None:
        """Hand the step to XLA if it belongs to a loop that does not read at every step.

        Recorded on and on, the steps between two reads would be one program, which takes long to
        compile; the values are the same. Without ``differentiable``, that is.
        """
        if self._apart and not self.defaults.get("differentiable"):
            lazyloom.sync(*[p.value for p in self._watched])

    def prepare(self) -> None:
        """Make the state that the next step starts from, of parameters that have a gradient."""
        for group in self._groups():
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
        if batch.recorded is not None and self._record_again(
            batch, batch.recorded, op, numbers, names, attributes
        ):
            return
        batch.recorded = None
        held = [state[name] for name in names for state in batch.states]
        with write_locks([*batch.params, *held]):
            self._record_anew(batch, op, numbers, names, attributes)

    def _record_anew(
        self, batch: Batch, op: str, numbers: Sequence[Any], names: Sequence[str],
        attributes: dict[str, Any],
    ) -> None:
        """:meth:`_record` without what an earlier step kept, under the locks of what it writes."""
        kind, params, states = batch.kind, batch.params, batch.states
        counters = tuple(self.counters)
        operands: list[Any] = [states[0][name]._operand() for name in counters]
        operands += [hyper(number) for number in numbers]
        operands += [p._operand() for p in params]
        operands += [cast(grad, kind) for grad in batch.grads]
        for name in names:
            for state in states:
                operands.append(cast(state[name]._operand(), kind))
        found = record(op, operands, attributes)
        values = found if type(found) is tuple else (found,)
        results = iter(values)
        for name in counters:
            counted = following(states[0][name], next(results))
            for state in states:
                state[name] = counted
        differentiable = lazyloom.grad_enabled()
        write = Tensor._assign if differentiable else Tensor._update
        there = True
        for p in params:
            value = next(results)
            there = there and value.type is p.tensor_type
            write(p, value)
        for name in names:
            for state in states:
                tensor, value = state[name], next(results)
                there = there and value.type is tensor.tensor_type
                if tensor.tensor_type.dtype is kind:
                    write(tensor, value)
                else:
                    state[name] = Tensor.from_value(value)
        # one that lies elsewhere was moved to where the tensor is, or divided as that is
        if not differentiable and there:
            self._remember(batch, operands, op, names, attributes)

    def _remember(
        self, batch: Batch, operands: list[Any], op: str, names: Sequence[str],
        attributes: dict[str, Any],
    ) -> None:
        """Keep the op of a batch, if its next update can be recorded by a look at it."""
        kind, params, states = batch.kind, batch.params, batch.states
        held = [(state, name, state[name]) for name in names for state in states]
        tensors = [tensor for _, _, tensor in held]
        if any(t.tensor_type.dtype is not kind for t in tensors) or any(
            not isinstance(value, (bool, str)) for value in attributes.values()
        ):
            return
        ready = spec(op, len(operands), attributes)
        counters = [None] * len(self.counters)
        numbers = [None] * (len(operands) - len(counters) - 2 * len(params) - len(tensors))
        update = Update(
            ready, [*counters, *numbers, *params, *([None] * len(params)), *tensors],
            [x.type for x in operands], [*counters, *params, *tensors],
            [*counters, *[None if p._leaf is None else p._leaf.token for p in params],
             *([None] * len(tensors))], held)
        if update.matches():
            batch.recorded = Recorded(op, names, attributes, update)

    def _record_again(
        self, batch: Batch, last: Recorded, op: str, numbers: Sequence[Any],
        names: Sequence[str], attributes: dict[str, Any],
    ) -> bool:
        """:meth:`_record` for a batch whose last update differs in numbers and gradients alone.

        Whether it was; otherwise nothing is recorded.
        """
        if op != last.op or attributes != last.attributes or tuple(names) != last.names:
            return False
        if not same_objects(numbers, last.numbers):
            last.scalars = [hyper(number) for number in numbers]
            # what is no plain number may change in place
            last.numbers = list(numbers) if all(_is_plain(n) for n in numbers) else ()
        done = self._repeat(batch)
        if not last.numbers:
            last.scalars = []  # kept, they would be computed for nobody
        return done

    def _repeat(self, batch: Batch) -> bool:
        """Record a batch's last op again, with the numbers of then; False where it was not."""
        last = batch.recorded
        if last is None:
            return False
        given: list[Any] = []
        states = batch.states
        for name in self.counters:
            count = states[0].get(name)
            if not all(map(is_, map(itemgetter(name), states), repeat(count))):
                return False
            given.append(count)
        found = last.update.record([*given, *last.scalars, *batch.grads])
        if found is None:
            return False
        for name, count, value in zip(self.counters, given, found, strict=True):
            counted = following(count, value)
            for state in states:
                state[name] = counted
        return True

    def __setstate__(self, state: dict[str, Any]) -> None:
        known = dict(state.get("defaults") or self.defaults)
        super().__setstate__(state)
        self._kept, self._kept_state = (), ([], [])
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
