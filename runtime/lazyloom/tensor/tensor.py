"""Tensors: mutable, aliasing objects over immutable values.

Several tensors may share one :class:`Storage`; each reads it through its chain of view
steps. A write makes a new value of the whole storage and bumps its version, so the graph
stays pure, and the aliasing of every frontend's library is implemented here.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, Final, Self, cast, final

from ..compiled import ALONE, COMPILED, mypyc_attr
from ..errors import AliasError, ArgumentError, LoomError
from ..evaluate.elements import element
from ..evaluate.overwritten import Overwritten, restored, written_over
from ..trace.fed import Fed, plain
from ..trace.graph import PENDING, Node, Value, trace
from ..trace.mapping import innermost
from ..trace.recording import record_number, record_one, record_two
from ..trace.scalars import Scalar
from ..trace.source import user_site
from ..trace.switches import grad_mode, switches
from ..types import TensorType
from .inference import marked, mode
from .operators import (
    ADD,
    DIVIDE,
    FLOATS,
    GREATER,
    GREATER_EQUAL,
    INTS,
    LESS,
    LESS_EQUAL,
    MATMUL,
    MULTIPLY,
    NEGATIVE,
    SUBTRACT,
    Operators,
    operators_of,
)
from .repeated import put_repeated
from .storage import Alias, Storage, WriteLocks, deciding, keep_read, locks, number_of_lock, writers
from .views import ViewStep

_ALONE: Final[bool] = ALONE

@mypyc_attr(allow_interpreted_subclasses=True)
class Tensor:
    """A mutable n-dimensional array that may share storage with others.

    ``Tensor(value)`` owns a new storage with these contents. Frontends subclass it; what they use
    besides the attributes is in :mod:`lazyloom.frontend`.

    Attributes:
        tensor_type: shape, dtype and placement.
        shared: the storage that it shares, or may share, with others; None while nothing else
            can see its contents, which are then written fastest. Read-only.
        view_steps: how it reads its storage: one step after the other, () for all of it.
            Read-only.
        detached: whether reading it gives a value without gradient.
        slow_path: whether operators always call the general functions of the frontend's
            :class:`~lazyloom.frontend.Operators`. Frontends set it where the common case does not
            apply to the tensor.
        alias_of: the tensor that first had the storage of a view or an alias, where the frontend
            says so: ``view_of_type`` sets it and the next two, which the runtime only keeps.
        element_strides: the strides in elements that the frontend's library shows, None for
            row-major ones. They do not affect how data is laid out.
        element_offset: likewise, the position of its first element in the storage.
    """

    __slots__ = (
        "_value", "_writes", "shared", "view_steps", "tensor_type", "_alias_state", "detached",
        "slow_path", "_created", "_overwritten",
    )  # fmt: skip

    #: the contents and the number of writes while nothing shares them; then ``shared`` has both
    _value: Value | None
    _writes: int
    shared: Storage | None
    view_steps: tuple[ViewStep, ...]
    tensor_type: TensorType
    #: made when first needed
    _alias_state: Alias | None
    detached: bool
    slow_path: bool
    #: the number of the newest node when it was made; meaningless once it shares a storage
    _created: int
    #: what the contents go back to while nothing shares them; then the storage has it
    _overwritten: Overwritten | None

    def __init__(self, value: Value) -> None:
        if not isinstance(value, Value):
            raise ArgumentError(
                f"a tensor was made of a {type(value).__name__}, expected a Value; use "
                "lazyloom.from_host for host data")
        hold(self, value)

    @classmethod
    def from_value(cls, value: Value) -> Self:
        """A tensor of this class that owns a new storage with these contents."""
        self = cls.__new__(cls)
        hold(self, value)
        return self

    @property
    def _storage(self) -> Storage:
        """The storage that views of this tensor share; made on first access."""
        shared = self.shared
        while shared is None:
            value = self._value
            if value is not None:
                storage = Storage(value, self._writes, self._created, self._overwritten)
                if _ALONE:
                    _share(self, storage)
                else:
                    with deciding:
                        _share(self, storage)
            shared = self.shared
            assert shared is not None or self._value is not None
        return shared

    @property
    def alias_of(self) -> Tensor | None:
        """See the class."""
        state = self._alias_state
        return None if state is None else state.owner

    @alias_of.setter
    def alias_of(self, tensor: Tensor | None) -> None:
        if tensor is not None or self._alias_state is not None:
            aliasing(self).owner = tensor

    @property
    def element_strides(self) -> tuple[int, ...] | None:
        """See the class."""
        state = self._alias_state
        return None if state is None else state.strides

    @element_strides.setter
    def element_strides(self, strides: tuple[int, ...] | None) -> None:
        if strides is not None or self._alias_state is not None:
            aliasing(self).strides = strides

    @property
    def element_offset(self) -> int:
        """See the class."""
        state = self._alias_state
        return 0 if state is None else state.offset

    @element_offset.setter
    def element_offset(self, offset: int) -> None:
        if offset or self._alias_state is not None:
            aliasing(self).offset = offset

    @property
    def value(self) -> Value:
        """The current contents as an immutable value."""
        return current(self)

    @final
    def _tape_was_freed(self, node: Node, base: Node) -> bool:
        """Return True if a backward pass freed a node by which this view reads its storage."""
        if node.freed:
            return True
        remaining = len(self.view_steps) - 1
        while remaining and node is not base and node.tracked and node.inputs:
            before = node.inputs[0]
            if not isinstance(before, Node):
                break
            if before.freed and before is not base:
                return True
            node = before
            remaining -= 1
        return False

    @final
    def _read_through(self, parent: Tensor, steps: tuple[ViewStep, ...]) -> None:
        """Read this view of a view through the other view, so that gradients pass through that.

        This lasts as long as nothing is written; then it reads its storage anew.
        """
        version = self._storage.version
        value = current(parent)
        for step in steps:
            value = step.forward(value)
        keep_read(aliasing(self), value, version)

    @property
    def type(self) -> TensorType:
        """``tensor_type`` by a shorter name, where a frontend's class has no other ``type``."""
        return self.tensor_type

    @property
    def version(self) -> int:
        """The number of writes to the storage."""
        shared = self.shared
        return self._writes if shared is None else shared.version

    def _followed_by(self, value: Value) -> Self:
        """A tensor with a storage of its own that takes the place of this one.

        If the run that should compute ``value`` fails, it holds what this one holds, like a tensor
        that was written in place.
        """
        heir = self.from_value(value)
        old = current(self)
        shared = self.shared
        overwritten = self._overwritten if shared is None else shared.overwritten
        heir._overwritten = written_over(old, None if overwritten is None else overwritten.copy())
        return heir

    def _write(self, value: Value) -> None:
        write(self, value)

    @final
    def _refuse_outside(self) -> None:
        """Raise AliasError if this thread runs a function on placeholders and the tensor that is
        written was not made in it."""
        shared = self.shared
        mapping = innermost()
        created = self._created if shared is None else shared.created
        if mapping is not None and created < mapping.start:
            raise AliasError(
                f"a tensor of type {self.tensor_type.text} {mapping.why_unwritable()}",
                site=str(user_site()))

    def _alias(self, step: ViewStep) -> Self:
        """A view of this tensor that shares its storage."""
        type_ = step.out_type(self.tensor_type)
        view = type(self).__new__(type(self))
        set_view(view, self._storage, (*self.view_steps, step), type_)
        view.detached = self.detached
        return view

    def _detached(self) -> Self:
        """A tensor of the same storage whose value carries no gradient."""
        other = type(self).__new__(type(self))
        set_view(other, self._storage, self.view_steps, self.tensor_type)
        other.detached = True
        return other

    def _forget_gradient(self) -> None:
        """Let the contents carry no gradient from now on."""
        with write_lock(self):
            if self._value is not None:
                self._value = self._value.detach()
            elif not self.view_steps:
                self._storage.value = self._storage.value.detach()
            self.detached = True

    def read(self) -> Any:
        """The data as a fresh NumPy array; evaluates what is pending.

        Raises ExecutionError if computing it failed.
        """
        return self.value.read()

    def read_number(self) -> Any:
        """The only element as a Python number, as NumPy's ``item`` gives it; like :meth:`read`.

        Raises ArgumentError for a tensor of several elements, or of none.
        """
        if self.tensor_type.size != 1:
            raise ArgumentError(
                f"read_number: a tensor of shape {self.tensor_type.shape} was given, expected one "
                "element")
        value = current(self)
        if value.node.state == PENDING and not value.requires_grad:
            found = element(value)
            if found is not None:
                _exchange(self, value.node, found)
                value = found
        return value.read_number()

    # The operators. Frontends define what they mean with lazyloom.frontend.

    def __add__(self, other: object) -> Any:
        return _operate(self, other, ADD)

    def __radd__(self, other: object) -> Any:
        return _operate_reversed(self, other, ADD)

    def __iadd__(self, other: object) -> Any:
        result = _operate_in_place(self, other, ADD)
        if result is NotImplemented:
            # a class derived from a compiled one has this as the += of sequences too, whose result
            # Python accepts whatever it is
            return operator.add(self, other)
        return result

    def __sub__(self, other: object) -> Any:
        return _operate(self, other, SUBTRACT)

    def __rsub__(self, other: object) -> Any:
        return _operate_reversed(self, other, SUBTRACT)

    def __isub__(self, other: object) -> Any:
        return _operate_in_place(self, other, SUBTRACT)

    def __mul__(self, other: object) -> Any:
        return _operate(self, other, MULTIPLY)

    def __rmul__(self, other: object) -> Any:
        return _operate_reversed(self, other, MULTIPLY)

    def __imul__(self, other: object) -> Any:
        return _operate_in_place(self, other, MULTIPLY)

    def __truediv__(self, other: object) -> Any:
        return _operate(self, other, DIVIDE)

    def __rtruediv__(self, other: object) -> Any:
        return _operate_reversed(self, other, DIVIDE)

    def __itruediv__(self, other: object) -> Any:
        return _operate_in_place(self, other, DIVIDE)

    def __matmul__(self, other: object) -> Any:
        return _operate(self, other, MATMUL)

    def __rmatmul__(self, other: object) -> Any:
        return _operate_reversed(self, other, MATMUL)

    def __imatmul__(self, other: object) -> Any:
        return _operate_in_place(self, other, MATMUL)

    def __lt__(self, other: object) -> Any:
        return _operate(self, other, LESS)

    def __le__(self, other: object) -> Any:
        return _operate(self, other, LESS_EQUAL)

    def __gt__(self, other: object) -> Any:
        return _operate(self, other, GREATER)

    def __ge__(self, other: object) -> Any:
        return _operate(self, other, GREATER_EQUAL)

    def __neg__(self) -> Any:
        rules = operators_of(type(self))
        if rules is None:
            raise TypeError(f"bad operand type for unary -: {type(self).__name__!r}")
        spec = rules.specs[NEGATIVE][self.tensor_type.dtype.index]
        if self.slow_path or spec is None:
            return rules.general[NEGATIVE](self)
        return _wrapped(rules, record_one(spec, current(self)))


# Code that runs for every op is in functions: a method, final or not, of a class from which
# interpreted ones are derived is looked up by its name.

#: looked up once
_new: Final[Any] = Tensor.__new__


def set_view(
    tensor: Tensor, storage: Storage, steps: tuple[ViewStep, ...], type: TensorType
) -> None:
    tensor._value = None
    tensor._writes = 0
    tensor.shared = storage
    tensor.view_steps = steps
    tensor.tensor_type = type
    tensor._alias_state = None
    tensor.detached = False
    tensor.slow_path = False
    tensor._created = 0
    tensor._overwritten = None


def hold(tensor: Tensor, value: Value) -> None:
    """Let a tensor hold a value in a storage of its own, whatever it was before.

    Resets all of its attributes to those of a new tensor; other tensors of its former storage keep
    that storage. This also gives a tensor made by ``Tensor.__new__(cls)`` its contents.
    """
    tensor._value = value
    tensor._writes = 0
    tensor.shared = None
    tensor.view_steps = ()
    tensor.tensor_type = value.type
    tensor._alias_state = None
    tensor.detached = False
    tensor.slow_path = False
    tensor._created = trace.sequence if mode.threads == 0 else marked(trace.sequence)
    tensor._overwritten = None


def _exchange(tensor: Tensor, node: Node, value: Value) -> None:
    """Replace a node's value, in the tensor that holds it, by one that was looked up."""
    with deciding:
        before = tensor._value
        state = tensor._alias_state
        if before is not None:
            if before.node is node and tensor._overwritten is None:
                tensor._value = value
        elif state is not None and state.read is not None and state.read.node is node:
            before = state.read
            state.read = value
    del before  # released only now


def let_go(tensor: Tensor) -> None:
    """Release what a tensor that nobody can reach any more holds."""
    tensor._value = None
    tensor.shared = None
    tensor._alias_state = None
    tensor._overwritten = None


def _share(tensor: Tensor, storage: Storage) -> None:
    """Let a tensor share a storage made of its contents, if it still holds them.

    No other thread runs meanwhile.
    """
    value = tensor._value
    before = tensor._overwritten
    if tensor.shared is None and value is storage.value and storage.version == tensor._writes:
        tensor.shared = storage
        tensor._value = None
        tensor._overwritten = None
    del value, before  # released only now


def current(tensor: Tensor) -> Value:
    unshared = tensor._value
    if unshared is not None:
        if tensor._overwritten is not None:
            unshared = _recovered(tensor, unshared)
        return unshared.detach() if tensor.detached else unshared
    storage = tensor._storage
    if storage.overwritten is not None:
        storage.recover()
    if not tensor.view_steps:
        contents = storage.value
        return contents.detach() if tensor.detached else contents
    state = aliasing(tensor)
    # versions first: contents that are read after them are at least as new
    version = storage.version
    unchanged = state.version == version
    kept = state.read
    if unchanged and kept is not None and (
        not tensor._tape_was_freed(kept.node, storage.value.node)
    ):
        # contents whose tape a backward pass freed are read anew, so that gradients flow again
        contents = kept
    else:
        contents = storage.value
        if switches.without_grad and contents.requires_grad:
            # they are kept for readers that do record gradients
            with grad_mode(True):
                for step in tensor.view_steps:
                    contents = step.forward(contents)
        else:
            for step in tensor.view_steps:
                contents = step.forward(contents)
        keep_read(state, contents, version)
    return contents.detach() if tensor.detached else contents


def _recovered(tensor: Tensor, contents: Value) -> Value:
    """The contents of a tensor that shares nothing; if computing them failed, the previous ones."""
    overwritten = tensor._overwritten
    before = None if overwritten is None else restored(contents, overwritten)
    if before is None:
        return contents
    with write_lock(tensor):
        if tensor._value is contents:
            tensor._value = before
            tensor._writes += 1
            tensor._overwritten = None
    return current(tensor)


def aliasing(tensor: Tensor) -> Alias:
    state = tensor._alias_state
    if state is None:
        state = tensor._alias_state = Alias(None, None, 0)
    return state


def write_lock(tensor: Tensor) -> Any:
    """The lock under which a tensor is written: see :mod:`lazyloom.tensor.storage`."""
    created = created_of(tensor)
    writers.note(created)
    return locks[number_of_lock(created)]


def created_of(tensor: Tensor) -> int:
    """The number that says when the tensor's storage was made; it determines the lock."""
    shared = tensor.shared
    return tensor._created if shared is None else shared.created


def write_locks(tensors: Iterable[Tensor]) -> WriteLocks:
    """A ``with`` block that holds the locks under which several tensors are written."""
    return WriteLocks([created_of(t) for t in tensors])


def write(tensor: Tensor, value: Value) -> None:
    """Replace the contents in place; every tensor of the same storage sees it.

    It is one step for other threads. A caller that computes ``value`` from the contents takes
    :func:`write_lock` before it reads them.

    Raises ArgumentError if ``value`` does not have exactly the tensor's type, AliasError if a
    view cannot be written or the function that :func:`lazyloom.vmap` maps did not make it.
    """
    if value.type is not tensor.tensor_type:
        raise ArgumentError(
            f"a {value.type.text} was written into a tensor of type {tensor.tensor_type.text}; "
            "cast and broadcast it first")
    if tensor.detached and value.requires_grad:
        value = value.detach()
    if trace.mapping:
        tensor._refuse_outside()
    contents = tensor._value
    if _ALONE and contents is not None and writers.alone():
        overwritten = written_over(contents, tensor._overwritten)
        if not writers.several and _write_own(tensor, contents, value, overwritten):
            return
    lock = write_lock(tensor)
    if COMPILED:
        # no signal arrives in between
        lock.acquire()
        try:
            _write(tensor, value)
        finally:
            lock.release()
    else:
        with lock:
            _write(tensor, value)


def _write(tensor: Tensor, value: Value) -> None:
    """:func:`write` for a value of the tensor's type, by a thread that holds the lock."""
    contents = tensor._value
    if contents is not None:
        overwritten = written_over(contents, tensor._overwritten)
        if _ALONE:
            written = _write_own(tensor, contents, value, overwritten)
        else:
            with deciding:
                written = _write_own(tensor, contents, value, overwritten)
        if written:
            return
        # meanwhile, a view of it was made
    storage = tensor._storage
    if not storage.writable:
        raise AliasError(
            f"a tensor of type {tensor.tensor_type.text} is read-only; copy it to change it")
    if not tensor.view_steps:
        storage.replace(value)
        return
    if storage.overwritten is not None:
        storage.recover()
    bases = [storage.value]
    repeats = tensor.view_steps[-1].repeats
    for step in tensor.view_steps[:-1]:
        repeats = repeats or step.repeats
        bases.append(step.forward(bases[-1]))
    if repeats:
        # an element may read as what was written to another element of the same place
        storage.value = put_repeated(tensor.view_steps, bases, value)
        storage.version += 1
        return
    new = value
    for step, base in zip(reversed(tensor.view_steps), reversed(bases), strict=True):
        new = step.put(base, new)
    storage.replace(new)
    keep_read(aliasing(tensor), value, storage.version)


def _write_own(
    tensor: Tensor, contents: Value, value: Value, overwritten: Overwritten | None
) -> bool:
    """Overwrite a tensor that shares nothing, if it still holds the value ``contents``.

    No other thread runs meanwhile.
    """
    if tensor._value is not contents:
        return False
    before = tensor._overwritten
    tensor._overwritten = overwritten
    tensor._value = value
    tensor._writes += 1
    del before  # released only now
    return True


def _wrapped(rules: Operators, value: Value) -> Any:
    tensor: Tensor = _new(rules.result if value.node.types[0].shape else rules.result_0d)
    hold(tensor, value)
    return tensor


def _short(rules: Operators, a: Tensor, b: object, number: int, reverse: bool) -> Value | None:
    """The result of an operator in the common case; None where the frontend has to decide."""
    if a.slow_path:
        return None
    index = a.tensor_type.dtype.index
    spec = rules.specs[number][index]
    if spec is None:
        return None
    try:
        if isinstance(b, Tensor):
            if b.slow_path or b.tensor_type.dtype is not a.tensor_type.dtype or (
                type(b) is not type(a) and operators_of(type(b)) is not rules
            ):
                return None
            return record_two(spec, current(a), current(b))
        kind = type(b)
        if kind is float:
            if rules.numbers[number][index] & FLOATS:
                return record_number(
                    spec, current(a), Scalar(cast(float, b), a.tensor_type.dtype), reverse)
        elif kind is int:
            if rules.numbers[number][index] & INTS:
                return record_number(
                    spec, current(a), Scalar(float(cast(int, b)), a.tensor_type.dtype), reverse)
        elif kind is Fed and rules.numbers[number][index] & FLOATS:
            return record_number(
                spec, current(a), Scalar(cast(Any, b), a.tensor_type.dtype), reverse)
    except (LoomError, OverflowError):
        # the general function raises the error of the frontend's library
        pass
    return None


def _operate(a: Tensor, b: object, number: int) -> Any:
    rules = operators_of(type(a))
    if rules is None:
        return NotImplemented
    value = _short(rules, a, b, number, False)
    if value is None:
        if type(b) is Fed:
            b = plain(b)
        return rules.general[number](a, b)
    return _wrapped(rules, value)


def _operate_reversed(a: Tensor, b: object, number: int) -> Any:
    """``b`` operator ``a``, where ``b`` is not a tensor or does not implement it."""
    rules = operators_of(type(a))
    if rules is None:
        return NotImplemented
    if not isinstance(b, Tensor):
        value = _short(rules, a, b, number, True)
        if value is not None:
            return _wrapped(rules, value)
    if type(b) is Fed:
        b = plain(b)
    return rules.general[number](b, a)


def _operate_in_place(a: Tensor, b: object, number: int) -> Any:
    rules = operators_of(type(a))
    if rules is None:
        return NotImplemented
    contents = a._value
    if rules.short_in_place and contents is not None:
        if _ALONE and writers.alone():
            # if another thread has requested a lock before the write, or the contents have changed,
            # the operation is repeated under the lock
            value = _short(rules, a, b, number, False)
            if value is None or value.node.types[0] is not a.tensor_type:
                return rules.general_in_place[number](a, plain(b) if type(b) is Fed else b)
            if not (trace.mapping or a.detached):
                overwritten = written_over(contents, a._overwritten)
                if not writers.several and _write_own(a, contents, value, overwritten):
                    return a
        lock = write_lock(a)
        if COMPILED:
            lock.acquire()
            try:
                written = _short_in_place(rules, a, b, number)
            finally:
                lock.release()
        else:
            with lock:
                written = _short_in_place(rules, a, b, number)
        if written:
            return a
    if type(b) is Fed:
        b = plain(b)
    return rules.general_in_place[number](a, b)


def _short_in_place(rules: Operators, a: Tensor, b: object, number: int) -> bool:
    """Run an augmented assignment under the lock in the common case; return False if it is not."""
    value = _short(rules, a, b, number, False)
    if value is None or value.node.types[0] is not a.tensor_type:
        return False
    if trace.mapping:
        a._refuse_outside()
    _write(a, value.detach() if a.detached and value.requires_grad else value)
    return True
