"""What tensors hold: mutable, aliasing contents over immutable values.

Several tensors may share one :class:`Storage`; each reads it through its chain of view
steps. A write makes a new value of the whole storage and bumps its version, so the graph
stays pure, and the aliasing of every frontend's library is implemented here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Self, final

from ..compiled import ALONE, COMPILED, mypyc_attr
from ..errors import AliasError, ArgumentError
from ..evaluate.elements import has_data
from ..evaluate.overwritten import Overwritten, restored, written_over
from ..trace.graph import PENDING, Node, Value, trace
from ..trace.mapping import innermost
from ..trace.source import user_site
from ..trace.switches import grad_mode, switches
from ..types import TensorType
from .elements import place_below
from .inference import marked, mode
from .later import Later, settled, value_of
from .moving import as_type
from .repeated import put_repeated
from .storage import Alias, Storage, WriteLocks, deciding, keep_read, locks, number_of_lock, writers
from .views import ViewStep

_ALONE: Final[bool] = ALONE


@mypyc_attr(allow_interpreted_subclasses=True)
class Contents:
    """The contents of a :class:`~lazyloom.tensor.tensor.Tensor`, and how it shares them.

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
        "slow_path", "_created", "_overwritten", "_later",
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
    #: the number that it is, if the host has that; until an op takes it, it has no value then. It
    #: shares nothing
    _later: Later | None

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
            else:
                record_later(self)
            shared = self.shared
            assert shared is not None or self._value is not None
        return shared

    @property
    def alias_of(self) -> Contents | None:
        """See the class."""
        state = self._alias_state
        return None if state is None else state.owner

    @alias_of.setter
    def alias_of(self, tensor: Contents | None) -> None:
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
    def _read_through(self, parent: Contents, steps: tuple[ViewStep, ...]) -> None:
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


# Code that runs for every op is in functions: a method, final or not, of a class from which
# interpreted ones are derived is looked up by its name.

def set_view(
    tensor: Contents, storage: Storage, steps: tuple[ViewStep, ...], type: TensorType
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
    tensor._later = None


def hold(tensor: Contents, value: Value) -> None:
    """Let a tensor hold a value in a storage of its own, whatever it was before.

    Resets all of its attributes to those of a new tensor; other tensors of its former storage keep
    that storage. This also gives a tensor made by ``cls.__new__(cls)`` its contents.
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
    tensor._later = None


def hold_later(tensor: Contents, later: Later) -> None:
    """Let a new tensor be a number that the host has."""
    tensor._value = None
    tensor._writes = 0
    tensor.shared = None
    tensor.view_steps = ()
    tensor.tensor_type = later.type
    tensor._alias_state = None
    tensor.detached = False
    tensor.slow_path = False
    tensor._created = trace.sequence if mode.threads == 0 else marked(trace.sequence)
    tensor._overwritten = None
    tensor._later = later


def element_source(tensor: Contents, place: int) -> tuple[Value, int] | None:
    """The data in which a tensor's element at ``place`` can be looked up, and its position there.

    None if it has to be computed. Both positions count in row-major order.
    """
    if tensor.view_steps and tensor._value is None:
        storage = tensor._storage
        if storage.overwritten is not None:
            storage.recover()
        whole = storage.value
        if has_data(whole):
            place = place_below(tensor.view_steps, whole.type.shape, place)
            return None if place < 0 else (whole, place)
    whole = current(tensor)
    return (whole, place) if has_data(whole) else None


def record_later(tensor: Contents) -> None:
    """Let a tensor that is a number of the host's, if it still is one, hold it as a value."""
    later = tensor._later
    if later is not None:
        value = value_of(later)
        if _ALONE:
            _became(tensor, value)
        else:
            with deciding:
                _became(tensor, value)


def was_read(tensor: Contents, later: Later) -> None:
    """Let a tensor whose number was read, and which an op has taken, be that number alone."""
    value = tensor._value
    if value is not None and value.node.state == PENDING:
        leaf = settled(later)
        if leaf is not None:
            exchange(tensor, value.node, leaf)


def _became(tensor: Contents, value: Value) -> None:
    if tensor._later is not None and tensor._value is None and tensor.shared is None:
        tensor._value = value


def exchange(tensor: Contents, node: Node, value: Value) -> None:
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


def let_go(tensor: Contents) -> None:
    """Release what a tensor that nobody can reach any more holds."""
    tensor._value = None
    tensor.shared = None
    tensor._later = None
    tensor._alias_state = None
    tensor._overwritten = None


def _share(tensor: Contents, storage: Storage) -> None:
    """Let a tensor share a storage made of its contents, if it still holds them.

    No other thread runs meanwhile.
    """
    value = tensor._value
    before = tensor._overwritten
    if tensor.shared is None and value is storage.value and storage.version == tensor._writes:
        tensor.shared = storage
        tensor._value = None
        tensor._overwritten = None
        number = tensor._later
        tensor._later = None
        del number
    del value, before  # released only now


def current(tensor: Contents) -> Value:
    unshared = tensor._value
    if unshared is not None:
        if tensor._overwritten is not None:
            unshared = _recovered(tensor, unshared)
        return unshared.detach() if tensor.detached else unshared
    if tensor._later is not None:
        record_later(tensor)
        return current(tensor)
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


def _recovered(tensor: Contents, contents: Value) -> Value:
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


def aliasing(tensor: Contents) -> Alias:
    state = tensor._alias_state
    if state is None:
        state = tensor._alias_state = Alias(None, None, 0)
    return state


def write_lock(tensor: Contents) -> Any:
    """The lock under which a tensor is written: see :mod:`lazyloom.tensor.storage`."""
    created = created_of(tensor)
    writers.note(created)
    return locks[number_of_lock(created)]


def created_of(tensor: Contents) -> int:
    """The number that says when the tensor's storage was made; it determines the lock."""
    shared = tensor.shared
    return tensor._created if shared is None else shared.created


def write_locks(tensors: Iterable[Contents]) -> WriteLocks:
    """A ``with`` block that holds the locks under which several tensors are written."""
    return WriteLocks([created_of(t) for t in tensors])


def write(tensor: Contents, value: Value) -> None:
    """Replace the contents in place; every tensor of the same storage sees it.

    It is one step for other threads. A caller that computes ``value`` from the contents takes
    :func:`write_lock` before it reads them.

    Raises ArgumentError if ``value`` does not have exactly the tensor's type, AliasError if a
    view cannot be written or the function that :func:`lazyloom.vmap` maps did not make it.
    """
    if value.type is not tensor.tensor_type:
        moved = as_type(value, tensor.tensor_type)
        if moved is None:
            raise ArgumentError(
                f"a {value.type.text} was written into a tensor of type "
                f"{tensor.tensor_type.text}; cast and broadcast it first")
        value = moved
    if tensor.detached and value.requires_grad:
        value = value.detach()
    if trace.mapping:
        tensor._refuse_outside()
    contents = tensor._value
    if _ALONE and contents is not None and writers.alone():
        overwritten = written_over(contents, tensor._overwritten)
        if not writers.several and write_own(tensor, contents, value, overwritten):
            return
    lock = write_lock(tensor)
    if COMPILED:
        # no signal arrives in between
        lock.acquire()
        try:
            write_locked(tensor, value)
        finally:
            lock.release()
    else:
        with lock:
            write_locked(tensor, value)


def write_locked(tensor: Contents, value: Value) -> None:
    """:func:`write` for a value of the tensor's type, by a thread that holds the lock."""
    contents = tensor._value
    if contents is not None:
        overwritten = written_over(contents, tensor._overwritten)
        if _ALONE:
            written = write_own(tensor, contents, value, overwritten)
        else:
            with deciding:
                written = write_own(tensor, contents, value, overwritten)
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


def write_own(
    tensor: Contents, contents: Value, value: Value, overwritten: Overwritten | None
) -> bool:
    """Overwrite a tensor that shares nothing, if it still holds the value ``contents``.

    No other thread runs meanwhile.
    """
    if tensor._value is not contents:
        return False
    before = tensor._overwritten
    number = tensor._later
    tensor._overwritten = overwritten
    tensor._value = value
    tensor._later = None
    tensor._writes += 1
    del before, number  # released only now
    return True


