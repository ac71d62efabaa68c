"""Checks that the host's state that a captured call depends on is as it was when recorded.

Each check holds a container and what was in it. In the usual case, the very same objects, each
costs a comparison of pointers; numbers and strings that are other objects are compared by type and
bits.
"""

from __future__ import annotations

import struct
from types import MethodType
from typing import Any, Final, final

import numpy as np

from ..extension import in_c
from ..tensor.tensor import Tensor
from ..types import TensorType
from .tensor_checks import TensorIs, pattern, shown


class Missing:
    """Stands for an attribute or a name that does not exist."""

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = Missing()


def same(a: Any, b: Any) -> bool:
    """Return True if two values are one object, or are immutable and equal in type and bits."""
    if a is b:
        return True
    if isinstance(b, Replaced):
        return b.fits(a)
    kind = type(a)
    if kind is not type(b):
        return isinstance(b, AnyNumber) and b.fits(a)
    if kind is float:
        return struct.pack("<d", a) == struct.pack("<d", b)
    if kind is complex:
        return struct.pack("<dd", a.real, a.imag) == struct.pack("<dd", b.real, b.imag)
    if kind in _PLAIN:
        return bool(a == b)
    if isinstance(a, tuple):
        if len(a) != len(b):
            return False
        return all(map(same, a, b))
    if kind is MethodType:
        return a.__self__ is b.__self__ and a.__func__ is b.__func__
    if kind is slice:
        return same(a.start, b.start) and same(a.stop, b.stop) and same(a.step, b.step)
    return False


_PLAIN: Final = frozenset({int, bool, str, bytes, range})


@final
class Replaced:
    """Stands for a tensor that each call replaces by another one.

    Attributes:
        cls, type: the tensor's.
        requires_grad: whether its contents require a gradient.
    """

    __slots__ = ("cls", "type", "requires_grad")

    def __init__(self, tensor: Tensor) -> None:
        self.cls: Final[Any] = type(tensor)
        self.type: Final[TensorType] = tensor.tensor_type
        self.requires_grad: Final[bool] = tensor.value.requires_grad

    def fits(self, x: Any) -> bool:
        return bool(
            type(x) is self.cls and x.tensor_type is self.type and not x.view_steps
            and not x.slow_path and not attributes_of(x)
            and x.value.requires_grad is self.requires_grad)

    def __repr__(self) -> str:
        return f"a tensor of type {self.type.text}"


def is_number(x: Any, wide: bool = False) -> bool:
    """Return True if ``x`` is a number that calls can be fed: a Python float.

    Where it is known to be converted to one (``wide``), NumPy's float64 is one, too.
    """
    return type(x) is float or wide and type(x) is np.float64


@final
class AnyNumber:
    """Stands for a number that calls are fed, or for a tuple with such numbers.

    Attributes:
        value: the number or tuple that was there.
        indices: the positions of the numbers in the tuple.
        wide: whether NumPy's float64 is also accepted.
    """

    __slots__ = ("value", "indices", "wide")

    def __init__(self, value: Any, indices: frozenset[int], wide: bool) -> None:
        self.value: Final[Any] = value
        self.indices: Final[frozenset[int]] = indices
        self.wide: Final[bool] = wide

    def fits(self, x: Any) -> bool:
        value = self.value
        if not self.indices:
            return is_number(x, self.wide)
        if type(x) is not tuple or len(x) != len(value):
            return False
        for k, item in enumerate(x):
            if not (is_number(item, self.wide) if k in self.indices else same(item, value[k])):
                return False
        return True

    def __repr__(self) -> str:
        return "a number" if not self.indices else f"a tuple of {len(self.value)} with numbers"


def attributes_of(x: Any) -> Any:
    """Return the ``__dict__`` of an object, or None."""
    return getattr(x, "__dict__", None)


#: kinds of :meth:`ContainerGuard.entry`, as in ``native/host_calls/guards.h``
_ITEMS: Final = 0
_NAMED: Final = 1
_NAMES: Final = 2
_OF_CLASS: Final = 3
_IN_LIST: Final = 4
_IN_CELL: Final = 5
_SLOTS: Final = 6


class ContainerGuard:
    """A container and what was in it.

    Attributes:
        path: how the function reaches it.
        keys, values: what was in it.
    """

    path: str
    keys: tuple[Any, ...]
    values: list[Any]

    def __init__(self, path: str, keys: tuple[Any, ...], values: list[Any]) -> None:
        self.path = path
        self.keys = keys
        self.values = values

    def holds(self) -> bool:
        """Return True if the container is unchanged."""
        raise AssertionError("a check says how it looks")

    def now(self) -> tuple[tuple[Any, ...], list[Any]]:
        """Return the current keys and values."""
        raise AssertionError("a check says what there is")

    def get(self, key: Any) -> Any:
        """Return the value of a key that exists."""
        keys, values = self.now()
        return values[keys.index(key)]

    def put(self, key: Any, value: Any) -> None:
        """Put a value in."""
        raise AssertionError("a check says how to put something in")

    def entry(self) -> tuple[Any, ...]:
        """Return the entry for :data:`changed`: the kind, what to compare, values, and more for
        some kinds."""
        return ()

    def name_of(self, key: Any) -> str:
        return f"{self.path}.{key}"

    def why(self) -> str:
        """Return what has changed; "" if nothing has."""
        keys, values = self.now()
        before = dict(zip(map(repr, self.keys), zip(self.keys, self.values)))
        after = dict(zip(map(repr, keys), zip(keys, values)))
        for name, (key, value) in before.items():
            if name not in after:
                return f"{self.name_of(key)} was {shown(value)} and is gone"
            if not same(after[name][1], value):
                return f"{self.name_of(key)} was {shown(value)} and is {shown(after[name][1])}"
        for name, (key, value) in after.items():
            if name not in before:
                return f"{self.name_of(key)} is new: {shown(value)}"
        return "" if self.holds() else f"{self.path} is another object or in another order"


@final
class DictItems(ContainerGuard):
    """Items of a dict, in their order."""

    items: dict[Any, Any]

    def __init__(self, path: str, items: dict[Any, Any]) -> None:
        super().__init__(path, tuple(items), list(items.values()))
        self.items = items

    def entry(self) -> tuple[Any, ...]:
        return _ITEMS, self.items, self.values, self.keys, None, None, None

    def holds(self) -> bool:
        return same_items(self.items, self.keys, self.values)

    def now(self) -> tuple[tuple[Any, ...], list[Any]]:
        return tuple(self.items), list(self.items.values())

    def get(self, key: Any) -> Any:
        return self.items[key]

    def put(self, key: Any, value: Any) -> None:
        self.items[key] = value

    def name_of(self, key: Any) -> str:
        return f"{self.path}[{key!r}]" if isinstance(key, (str, int)) else f"{self.path}[...]"


def same_items(items: dict[Any, Any], keys: tuple[Any, ...], values: list[Any]) -> bool:
    if len(items) != len(values):
        return False
    for i, (key, value) in enumerate(items.items()):
        if key is not keys[i] and not same(key, keys[i]):
            return False
        if value is not values[i] and not same(value, values[i]):
            return False
    return True


@final
class Attributes(ContainerGuard):
    """The ``__dict__`` of an object, and its class."""

    owner: Any
    cls: Any
    items: dict[Any, Any]
    ignored: frozenset[str]

    def __init__(self, path: str, owner: Any, ignored: frozenset[str]) -> None:
        self.owner = owner
        self.cls = type(owner)
        self.items = owner.__dict__
        self.ignored = ignored
        keys, values = self._kept()
        super().__init__(path, keys, values)

    def _kept(self) -> tuple[tuple[Any, ...], list[Any]]:
        keys: list[Any] = []
        values: list[Any] = []
        for key, value in self.owner.__dict__.items():
            if key not in self.ignored:
                keys.append(key)
                values.append(value)
        return tuple(keys), values

    def entry(self) -> tuple[Any, ...]:
        return (_ITEMS, self.items, self.values, self.keys, self.owner, self.cls,
                self.ignored or None)

    def holds(self) -> bool:
        owner = self.owner
        if type(owner) is not self.cls or owner.__dict__ is not self.items:
            return False
        if not self.ignored:
            return same_items(self.items, self.keys, self.values)
        i = 0
        n = len(self.values)
        for key, value in self.items.items():
            if key in self.ignored:
                continue
            if i >= n:
                return False
            if key is not self.keys[i] and not same(key, self.keys[i]):
                return False
            if value is not self.values[i] and not same(value, self.values[i]):
                return False
            i += 1
        return i == n

    def now(self) -> tuple[tuple[Any, ...], list[Any]]:
        return self._kept()

    def get(self, key: Any) -> Any:
        return self.items[key]

    def put(self, key: Any, value: Any) -> None:
        self.items[key] = value


@final
class NamedAttributes(ContainerGuard):
    """The attributes in an object's ``__dict__`` that code names, and how many it has in all."""

    owner: Any
    cls: Any
    items: dict[Any, Any]
    count: int

    def __init__(self, path: str, owner: Any, names: set[str]) -> None:
        self.owner = owner
        self.cls = type(owner)
        self.items = owner.__dict__
        self.count = len(self.items)
        keys = tuple([key for key in self.items if key in names])
        super().__init__(path, keys, [self.items[key] for key in keys])

    def entry(self) -> tuple[Any, ...]:
        return (_NAMED, self.items, self.values, self.keys, self.owner, self.cls, self.count)

    def holds(self) -> bool:
        owner = self.owner
        items = self.items
        if type(owner) is not self.cls or owner.__dict__ is not items or len(items) != self.count:
            return False
        values = self.values
        for i, key in enumerate(self.keys):
            value = items.get(key, MISSING)
            if value is not values[i] and not same(value, values[i]):
                return False
        return True

    def now(self) -> tuple[tuple[Any, ...], list[Any]]:
        items = self.owner.__dict__
        keys = tuple([key for key in self.keys if key in items])
        return keys, [items[key] for key in keys]

    def get(self, key: Any) -> Any:
        return self.items[key]

    def put(self, key: Any, value: Any) -> None:
        self.items[key] = value


@final
class Slots(ContainerGuard):
    """Attributes of an object by name."""

    owner: Any
    cls: Any

    def __init__(self, path: str, owner: Any, names: tuple[str, ...]) -> None:
        super().__init__(path, names, [getattr(owner, name, MISSING) for name in names])
        self.owner = owner
        self.cls = type(owner)

    def entry(self) -> tuple[Any, ...]:
        return _SLOTS, self.owner, self.values, self.keys, self.cls

    def holds(self) -> bool:
        owner = self.owner
        if type(owner) is not self.cls:
            return False
        values = self.values
        for i, name in enumerate(self.keys):
            value = getattr(owner, name, MISSING)
            if value is not values[i] and not same(value, values[i]):
                return False
        return True

    def now(self) -> tuple[tuple[Any, ...], list[Any]]:
        return self.keys, [getattr(self.owner, name, MISSING) for name in self.keys]

    def get(self, key: Any) -> Any:
        return getattr(self.owner, key)

    def put(self, key: Any, value: Any) -> None:
        setattr(self.owner, key, value)


@final
class NamespaceGuard(ContainerGuard):
    """Names of a namespace: globals of a function with builtins behind them, or of a class."""

    items: dict[str, Any]
    behind: dict[str, Any]

    def __init__(
        self, path: str, items: dict[str, Any], names: tuple[str, ...], behind: dict[str, Any]
    ) -> None:
        self.items = items
        self.behind = behind
        super().__init__(path, names, [self._get(name) for name in names])

    def _get(self, name: str) -> Any:
        value = self.items.get(name, MISSING)
        return self.behind.get(name, MISSING) if value is MISSING else value

    def entry(self) -> tuple[Any, ...]:
        return _NAMES, self.items, self.values, self.keys, self.behind

    def holds(self) -> bool:
        items = self.items
        values = self.values
        for i, name in enumerate(self.keys):
            value = items.get(name, MISSING)
            if value is MISSING:
                value = self.behind.get(name, MISSING)
            if value is not values[i] and not same(value, values[i]):
                return False
        return True

    def now(self) -> tuple[tuple[Any, ...], list[Any]]:
        return self.keys, [self._get(name) for name in self.keys]

    def put(self, key: Any, value: Any) -> None:
        self.items[key] = value


@final
class ClassNames(ContainerGuard):
    """What a class defines, by identity."""

    cls: Any

    def __init__(self, path: str, cls: Any) -> None:
        self.cls = cls
        keys, values = self._kept()
        super().__init__(path, keys, values)

    def _kept(self) -> tuple[tuple[Any, ...], list[Any]]:
        keys: list[Any] = []
        values: list[Any] = []
        for key, value in self.cls.__dict__.items():
            if key not in _OF_CLASSES:
                keys.append(key)
                values.append(value)
        return tuple(keys), values

    def entry(self) -> tuple[Any, ...]:
        return _OF_CLASS, self.cls, self.values, self.keys, _OF_CLASSES

    def holds(self) -> bool:
        i = 0
        n = len(self.values)
        for key, value in self.cls.__dict__.items():
            if key in _OF_CLASSES:
                continue
            if i >= n or key != self.keys[i]:
                return False
            if value is not self.values[i] and not same(value, self.values[i]):
                return False
            i += 1
        return i == n

    def now(self) -> tuple[tuple[Any, ...], list[Any]]:
        return self._kept()

    def put(self, key: Any, value: Any) -> None:
        setattr(self.cls, key, value)


#: names in a class that say nothing about what its instances do
_OF_CLASSES: Final = frozenset({
    "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__",
    "__parameters__", "__orig_bases__", "__firstlineno__", "__static_attributes__",
    "__abstractmethods__", "_abc_impl", "__slots__", "__annotate_func__"})


@final
class ListItems(ContainerGuard):
    """Items of a list or deque."""

    items: Any

    def __init__(self, path: str, items: Any) -> None:
        super().__init__(path, tuple(range(len(items))), list(items))
        self.items = items

    def entry(self) -> tuple[Any, ...]:
        return _IN_LIST, self.items, self.values

    def holds(self) -> bool:
        values = self.values
        if len(self.items) != len(values):
            return False
        for i, item in enumerate(self.items):
            if item is not values[i] and not same(item, values[i]):
                return False
        return True

    def now(self) -> tuple[tuple[Any, ...], list[Any]]:
        return tuple(range(len(self.items))), list(self.items)

    def get(self, key: Any) -> Any:
        return self.items[key]

    def put(self, key: Any, value: Any) -> None:
        self.items[key] = value

    def name_of(self, key: Any) -> str:
        return f"{self.path}[{key}]"


@final
class Cell(ContainerGuard):
    """The contents of a variable in a function's closure."""

    cell: Any
    name: str

    def __init__(self, path: str, cell: Any) -> None:
        self.cell = cell
        self.name = path
        super().__init__(f"the variable {path}", ("",), [self._get()])

    def _get(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING

    def entry(self) -> tuple[Any, ...]:
        return _IN_CELL, self.cell, self.values

    def holds(self) -> bool:
        value = self._get()
        return value is self.values[0] or same(value, self.values[0])

    def now(self) -> tuple[tuple[Any, ...], list[Any]]:
        return ("",), [self._get()]

    def put(self, key: Any, value: Any) -> None:
        self.cell.cell_contents = value

    def name_of(self, key: Any) -> str:
        return self.name


@final
class SetItems(ContainerGuard):
    """The members of a set: numbers and strings."""

    items: Any
    copy: Any

    def __init__(self, path: str, items: Any) -> None:
        self.items = items
        self.copy = frozenset(items)
        super().__init__(path, (), [])

    def holds(self) -> bool:
        return len(self.items) == len(self.copy) and bool(self.items == self.copy)

    def now(self) -> tuple[tuple[Any, ...], list[Any]]:
        return (), [] if self.holds() else [self.items]

    def why(self) -> str:
        return "" if self.holds() else f"{self.path} has other members"


@final
class WeakTarget(ContainerGuard):
    """The target of a weak reference."""

    reference: Any
    target: int

    def __init__(self, path: str, reference: Any) -> None:
        self.reference = reference
        self.target = id(reference())
        super().__init__(path, (), [])

    def holds(self) -> bool:
        return id(self.reference()) == self.target

    def now(self) -> tuple[tuple[Any, ...], list[Any]]:
        return (), []

    def why(self) -> str:
        return "" if self.holds() else f"{self.path} leads elsewhere, or nowhere"


@final
class Data(ContainerGuard):
    """The bytes of a small NumPy array."""

    array: Any
    data: bytes

    def __init__(self, path: str, array: Any) -> None:
        self.array = array
        self.data = array.tobytes()
        super().__init__(path, (), [array.shape, array.dtype, array.strides])

    def holds(self) -> bool:
        array = self.array
        return bool(
            array.shape == self.values[0] and array.dtype == self.values[1]
            and array.strides == self.values[2] and array.tobytes() == self.data)

    def now(self) -> tuple[tuple[Any, ...], list[Any]]:
        return (), []

    def why(self) -> str:
        return "" if self.holds() else f"{self.path} holds other numbers"


def place_of(check: ContainerGuard, key: Any) -> Any:
    """Return what identifies a place, also in checks of later walks."""
    for name in ("owner", "items", "cell", "cls"):
        container = getattr(check, name, None)
        if container is not None:
            return type(check).__name__, id(container), key
    return None


def moved(checks: list[ContainerGuard]) -> list[tuple[Any, Any]]:
    """Return the places that hold another tensor than before, each with its check."""
    places: list[tuple[Any, Any]] = []
    for check in checks:
        keys, values = check.now()
        if len(keys) == len(check.keys):
            for key, was, now in zip(keys, check.values, values):
                if now is not was and isinstance(now, Tensor) and (
                    isinstance(was, (Tensor, Replaced))
                ):
                    places.append((place_of(check, key), check))
    return places


def _changed(entries: tuple[Any, ...], start: int) -> int:
    """:data:`changed` without the C extension: any next check may have changed."""
    return start if start < len(entries) else -1


#: ``changed(entries, start)``: the number of the first check, from ``start`` on, in which something
#: is not the same object as before; -1 if there is none
changed: Final = in_c("changed", _changed)


@final
class Guards:
    """All checks of the state that consists of the same objects at every call."""

    __slots__ = ("checks", "entries", "tensors", "groups", "identities")

    def __init__(self, checks: list[ContainerGuard], tensors: list[TensorIs]) -> None:
        self.checks: Final[list[ContainerGuard]] = checks
        self.entries: Final[tuple[Any, ...]] = tuple([check.entry() for check in checks])
        self.tensors: Final[list[TensorIs]] = tensors
        self.identities: Final[set[int]] = {id(t.tensor) for t in tensors}
        #: which tensors share storage
        self.groups: list[int] = pattern(tensors)

    def hold(self) -> bool:
        """Return True if everything is unchanged."""
        k: int = changed(self.entries, 0)
        while k >= 0:
            # no longer the same objects, but they may be equal
            if not self.checks[k].holds():
                return False
            k = changed(self.entries, k + 1)
        shared = True
        for t in self.tensors:
            if not t.holds():
                return False
            if t.tensor.shared is not t.shared:
                shared = False
        if not shared:
            if pattern(self.tensors) != self.groups:
                return False
            for t in self.tensors:
                t.shared = t.tensor.shared
        return True

    def why(self) -> str:
        """Return the first change; "" if there is none."""
        for check in self.checks:
            reason = check.why()
            if reason:
                return reason
        for t in self.tensors:
            reason = t.why()
            if reason:
                return reason
        return "" if pattern(self.tensors) == self.groups else (
            "other tensors share their memory than did")

    def storages(self) -> list[Any]:
        return [t.shared for t in self.tensors if t.shared is not None]
