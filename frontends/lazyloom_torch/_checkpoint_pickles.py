"""Pickles of checkpoints: written as PyTorch writes them, read without executing anything.

Reading interprets the few opcodes that data needs (:func:`read_data`); it calls nothing but the
functions of :mod:`lazyloom_torch._checkpoint_objects` and what the user has allowed.
"""

from __future__ import annotations

import pickle
import pickletools
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from lazyloom.frontend import storage_of

from . import _checkpoint_objects as objects
from . import _dtypes
from ._strides import row_major
from ._tensor import Tensor
from .nn.parameter import Parameter


class _Global:
    """Something that is saved as a name."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:  # the pickler wants what it calls to be callable
        raise TypeError(f"{self.module}.{self.name} is a name in a file")


class _Reference:
    """A storage that is saved beside the pickle: which one, and its type."""

    def __init__(self, kind: str, key: str, numel: int) -> None:
        self.kind, self.key, self.numel = kind, key, numel


_NAMES: dict[str, _Global] = {}


def _named(module: str, name: str) -> _Global:
    return _NAMES.setdefault(f"{module}.{name}", _Global(module, name))


#: the one in Python, of which typeshed does not say what can be overridden
_Base: Any = pickle._Pickler


class Pickler(_Base):  # type: ignore[misc]
    """Writes an object as ``torch.save`` does.

    The arrays of the storages that its tensors use are collected in ``storages`` by key, and the
    devices of those that are on another than the default one in ``devices``.
    """

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=2)
        self.storages: dict[str, np.ndarray] = {}
        self.devices: dict[str, str] = {}
        self._keys: dict[int, tuple[str, Any]] = {}

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, _Reference):
            return "storage", _named(*obj.kind.rsplit(".", 1)), obj.key, "cpu", obj.numel
        return None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, _Global):
            return obj.name
        if isinstance(obj, _dtypes.dtype):
            return obj.name
        if isinstance(obj, Tensor):
            # one that is divided is its part and how it lies
            return NotImplemented if obj._is_dtensor else self._tensor(obj)
        if isinstance(obj, _dtypes.Size):
            return _named("torch", "Size"), (tuple(obj),)
        if isinstance(obj, _dtypes.device):
            return _named("torch", "device"), (str(obj),)
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if isinstance(obj, _dtypes.dtype):
            module, name = "torch", obj.name
        elif isinstance(obj, _Global):
            module, name = obj.module, obj.name
        elif obj is Tensor:
            module, name = "torch", "Tensor"
        elif obj is Parameter:
            module, name = "torch.nn.parameter", "Parameter"
        else:
            super().save_global(obj, name)
            return
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def _tensor(self, x: Tensor) -> tuple[Any, ...]:
        if isinstance(x, Parameter):
            return _named("torch._utils", "_rebuild_parameter"), (
                x.detach(), x.requires_grad, OrderedDict())
        key, held, stride, offset = self._stored(x)
        kind = x.dtype.name
        if kind in objects.STORAGE_OF:
            storage = _Reference(f"torch.{objects.STORAGE_OF[kind]}", key, held.size)
            return _named("torch._utils", "_rebuild_tensor_v2"), (
                storage, offset, tuple(x.shape), stride, x.requires_grad, OrderedDict())
        storage = _Reference("torch.storage.UntypedStorage", key, held.nbytes)
        return _named("torch._utils", "_rebuild_tensor_v3"), (
            storage, offset, tuple(x.shape), stride, x.requires_grad, OrderedDict(), x.dtype)

    def _stored(self, x: Tensor) -> tuple[str, np.ndarray, tuple[int, ...], int]:
        """The key and the array of the storage, and the tensor's place in it."""
        storage = storage_of(x)
        whole = row_major(x.tensor_type.shape)
        if not x.view_steps:
            key, held = self._key(storage, x.read)
            return key, held, whole, 0
        if storage.value.type.dtype is x.tensor_type.dtype:
            key, held = self._key(storage, Tensor.from_value(storage.value).read)
            stride, offset = x.stride(), x.storage_offset()
            found = _strided(held.reshape(-1), x.tensor_type.shape, stride, offset)
            # a view whose strides we do not know to be PyTorch's is saved as a copy
            if found is not None and found.tobytes() == x.read().tobytes():
                return key, held, stride, offset
        key, held = self._key(x, x.read)
        return key, held, whole, 0

    def _key(self, owner: Any, read: Callable[[], np.ndarray]) -> tuple[str, np.ndarray]:
        found = self._keys.get(id(owner))
        if found is None:
            key = str(len(self.storages))
            self.storages[key] = np.ascontiguousarray(read())
            location = _dtypes.location_of(owner.value.type)
            if location != "cpu":
                self.devices[key] = location
            # the owner is kept: another object must not get its id
            found = self._keys[id(owner)] = (key, owner)
        return found[0], self.storages[found[0]]


def _strided(flat: np.ndarray, shape: tuple[int, ...], stride: tuple[int, ...], offset: int
             ) -> np.ndarray | None:  # fmt: skip
    """A strided view of an array, or None if it does not fit."""
    if 0 in shape:
        return np.zeros(shape, flat.dtype)
    if offset + sum((d - 1) * s for d, s in zip(shape, stride)) >= flat.size:
        return None
    step = flat.itemsize
    return np.lib.stride_tricks.as_strided(
        flat[offset:], shape, tuple(s * step for s in stride), writeable=False)


# -- reading --------------------------------------------------------------------------------

Load = Callable[[Any], Any]

_MARK = object()


def _found(module: str, name: str) -> Any:
    """What a name in a file stands for. Raises UnpicklingError for one that is not allowed."""
    full = f"{module}.{name}"
    known = objects.allowed.get(full, objects.KNOWN.get(full))
    if known is None:
        raise pickle.UnpicklingError(
            f"load: the file names {full}, which is no plain data, and nothing is executed. If "
            "you trust the file, allow the name by torch.serialization.add_safe_globals([...]), "
            "or load with weights_only=False, which can execute code from the file")
    return known


class _Machine:
    """The stack machine of a pickle, for data only."""

    def __init__(self, load_storage: Load) -> None:
        self.load_storage = load_storage
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def _since_mark(self) -> list[Any]:
        stack = self.stack
        at = len(stack) - 1
        while stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise IndexError("no mark")
        items = stack[at + 1:]
        del stack[at:]
        return items

    def _call(self, function: Any, args: Any) -> Any:
        may = function in objects.CALLABLE or any(
            function is f for f in objects.allowed.values())
        if not may or not isinstance(args, tuple):
            raise pickle.UnpicklingError(f"load: the file calls {function!r}, which is not allowed")
        return function(*args)

    def _build(self, state: Any) -> None:
        target = self.stack[-1]
        if isinstance(target, objects.NumpyArray):
            self._replace(target, target.filled(state))
        elif isinstance(target, np.dtype):
            order: Any = state[1] if isinstance(state, tuple) and len(state) > 1 else "|"
            self._replace(target, target.newbyteorder(order) if order in "<>" else target)
        elif type(target) in (OrderedDict, Counter):
            target.__dict__.update(state)
        elif any(type(target) is kind for kind in objects.allowed.values()):
            if hasattr(target, "__setstate__"):
                target.__setstate__(state)
            else:
                target.__dict__.update(state)
        elif not isinstance(target, Tensor):  # a tensor's own attributes are left out
            raise pickle.UnpicklingError(
                f"load: the file sets the state of a {type(target).__name__}, not allowed")

    def _replace(self, old: Any, new: Any) -> None:
        self.stack[-1] = new
        for key, value in self.memo.items():
            if value is old:
                self.memo[key] = new

    def step(self, name: str, arg: Any) -> None:
        stack = self.stack
        if name in _PUSHES:
            stack.append(arg)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memo[int(arg)] = stack[-1]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self.memo[int(arg)])
        elif name == "MARK":
            stack.append(_MARK)
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            n = int(name[-1])
            made = tuple(stack[-n:])
            del stack[-n:]
            stack.append(made)
        elif name == "TUPLE":
            stack.append(tuple(self._since_mark()))
        elif name == "LIST":
            stack.append(self._since_mark())
        elif name == "DICT":
            items = self._since_mark()
            stack.append(dict(zip(items[::2], items[1::2])))
        elif name == "APPEND":
            item = stack.pop()
            self._list().append(item)
        elif name == "APPENDS":
            items = self._since_mark()
            self._list().extend(items)
        elif name == "ADDITEMS":
            items = self._since_mark()
            if type(stack[-1]) is not set:
                raise TypeError("items for what is no set")
            stack[-1].update(items)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            self._dict()[key] = value
        elif name == "SETITEMS":
            items = self._since_mark()
            self._dict().update(zip(items[::2], items[1::2]))
        elif name == "GLOBAL":
            stack.append(_found(*arg.split(" ", 1)))
        elif name == "STACK_GLOBAL":
            last, module = stack.pop(), stack.pop()
            stack.append(_found(str(module), str(last)))
        elif name == "REDUCE":
            args, function = stack.pop(), stack.pop()
            stack.append(self._call(function, args))
        elif name == "NEWOBJ":
            args, kind = stack.pop(), stack.pop()
            if kind not in objects.NEW and not any(kind is f for f in objects.allowed.values()):
                raise pickle.UnpicklingError(f"load: the file makes a {kind!r}, not allowed")
            stack.append(kind.__new__(kind, *args))
        elif name == "BUILD":
            self._build(stack.pop())
        elif name == "BINPERSID":
            stack.append(self.load_storage(stack.pop()))
        elif name not in ("PROTO", "FRAME"):
            raise pickle.UnpicklingError(f"load: the file has the opcode {name}, not allowed")

    def _list(self) -> Any:
        if type(self.stack[-1]) is not list:
            raise TypeError("items for what is no list")
        return self.stack[-1]

    def _dict(self) -> Any:
        if type(self.stack[-1]) not in (dict, OrderedDict, Counter):
            raise TypeError("items for what is no dict")
        return self.stack[-1]


_PUSHES = frozenset(
    """BININT BININT1 BININT2 INT LONG LONG1 LONG4 FLOAT BINFLOAT UNICODE BINUNICODE
    SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8 STRING BINSTRING
    SHORT_BINSTRING""".split())
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False,
    "EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple, "EMPTY_SET": set,
}


def read_data(stream: Any, load_storage: Load) -> Any:
    """The object of one pickle, which may hold only data; the stream is left behind it.

    Raises UnpicklingError for what is not allowed, ValueError for a damaged pickle.
    """
    machine = _Machine(load_storage)
    try:
        for opcode, arg, _ in pickletools.genops(stream):
            if opcode.name == "STOP":
                break
            machine.step(opcode.name, arg)
        (found,) = machine.stack
        return found
    except pickle.UnpicklingError:
        raise
    except (IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if str(error).startswith("load: "):
            raise
        raise ValueError(f"load: the file's pickle is damaged ({error!r})") from error


class _Trusting(pickle.Unpickler):
    """Reads a pickle as Python does: what it names is imported and called."""

    def __init__(self, stream: Any, load_storage: Load) -> None:
        super().__init__(stream, encoding="utf-8")
        self._load_storage = load_storage

    def persistent_load(self, given: Any) -> Any:
        return self._load_storage(given)

    def find_class(self, module: str, name: str) -> Any:
        if not module.startswith("numpy"):
            known = objects.KNOWN.get(f"{module}.{name}")
            if known is not None:
                return known
        if module == "torch" or module.startswith("torch."):
            here = "lazyloom_torch" + module[len("torch"):]
            found = sys.modules.get(here)
            if found is not None and hasattr(found, name):
                return getattr(found, name)
        return super().find_class(module, name)


def read_anything(stream: Any, load_storage: Load) -> Any:
    """The object of one pickle, executing what it says."""
    return _Trusting(stream, load_storage).load()
