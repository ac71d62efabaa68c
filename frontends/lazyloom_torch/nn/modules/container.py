"""Containers of modules and parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections import abc as container_abcs
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from lazyloom.errors import type_name

from ..._tensor import Tensor
from ..parameter import Parameter
from .module import Module


def _position(index: Any, size: int) -> int:
    i = operator.index(index)
    if not -size <= i < size:
        raise IndexError(f"index {i} is out of range")
    return i % size


class Container(Module):
    """A module with the given modules as children."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Positions(Module):
    """Members by position, each of them an attribute."""

    def _names(self) -> list[str]:
        """The attributes that hold the members, in order."""
        return list(self._modules)

    def _members(self) -> Iterable[Any]:
        return self._modules.values()

    def __len__(self) -> int:
        return len(self._names())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members())

    def __getitem__(self, index: Any) -> Any:
        members = list(self._members())
        if isinstance(index, slice):
            return type(self)(members[index])
        return members[_position(index, len(members))]

    def __setitem__(self, index: int, value: Any) -> None:
        names = self._names()
        setattr(self, names[_position(index, len(names))], value)

    def append(self, module: Any) -> Self:
        """Add a member at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add members at the end. Raises TypeError for what is no iterable, or a tensor."""
        if not isinstance(values, container_abcs.Iterable) or isinstance(values, Tensor):
            raise TypeError(f"{type(self).__name__}.extend should be called with an iterable, but "
                            f"got {type_name(values)}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)


class _Modules(_Positions):
    """Modules by position, whose names are their positions once one was put in or taken out."""

    def _renumber(self, modules: Iterable[Module]) -> None:
        kept = list(modules)
        self._modules.clear()
        for m in kept:
            self.append(m)

    def __delitem__(self, index: Any) -> None:
        kept = list(self)
        if not isinstance(index, slice):
            index = _position(index, len(kept))
        del kept[index]
        self._renumber(kept)

    def pop(self, key: Any) -> Module:
        """Remove a module, and return it."""
        found: Module = self[key]
        del self[key]
        return found

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before a position, as a list does."""
        self.append(module)  # which refuses what is no module
        *kept, added = self
        kept.insert(index, added)
        self._renumber(kept)


def _only_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError("add operator supports only objects of Sequential class, but "
                         f"{type(other)} is given.")


class Sequential(_Modules):
    """Modules applied one after another; takes modules, or one ordered dict of them."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else (
            (str(i), m) for i, m in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):  # the part keeps the names
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return super().__getitem__(index)

    def __add__(self, other: Sequential) -> Sequential:
        _only_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Iterable[Any]) -> Self:
        _only_sequential(other)
        return self.extend(other)

    def __mul__(self, other: int) -> Sequential:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return Sequential(*list(self) * other)

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        self._renumber(self * other)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Add a module before a position. Raises AssertionError for what is none, IndexError."""
        count = len(self)
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        super().insert(index, module)
        return self


class ModuleList(_Modules):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        """Modules that look alike, one after another, are shown once, with their count."""
        texts = [repr(m) for m in self]
        if not texts:
            return self._get_name() + "()"
        runs: list[list[Any]] = []
        for i, text in enumerate(texts):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = []
        for first, last, text in runs:
            line = f"({first}): {text}" if first == last else (
                f"({first}-{last}): {last - first + 1} x {text}")
            lines.append(line.replace("\n", "\n  "))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class _Keys(Module):
    """Members by key."""

    def _table(self) -> dict[str, Any]:
        """A dict with the keys, in order."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._table())

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __contains__(self, key: object) -> bool:
        return key in self._table()

    def __getitem__(self, key: str) -> Any:
        raise NotImplementedError

    def __delitem__(self, key: str) -> None:
        del self._table()[key]

    def keys(self) -> Any:
        """The keys."""
        return self._table().keys()

    def pop(self, key: str) -> Any:
        """Remove a key, and return its value."""
        found = self[key]
        del self[key]
        return found

    def clear(self) -> None:
        """Remove everything."""
        for key in list(self):
            del self[key]


class ModuleDict(_Keys):
    """A dict of modules."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(() if modules is None else modules)

    def _table(self) -> dict[str, Any]:
        return self._modules

    def __getitem__(self, key: str) -> Module:
        found: Module = self._modules[key]
        return found

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def items(self) -> Any:
        """Pairs of name and module."""
        return self._modules.items()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping, or of pairs."""
        for name, m in _pairs(modules, "ModuleDict"):
            self[name] = m


def _pairs(given: Any, kind: str) -> Iterator[tuple[str, Any]]:
    """The pairs of a mapping, or of an iterable of them."""
    if not isinstance(given, container_abcs.Iterable):
        raise TypeError(f"{kind}.update should be called with an iterable of key/value pairs, but "
                        f"got {type_name(given)}")
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        yield from given.items()
        return
    for i, pair in enumerate(given):
        if not isinstance(pair, container_abcs.Iterable):
            raise TypeError(f"{kind} update sequence element #{i} should be Iterable; is "
                            f"{type_name(pair)}")
        if len(pair) != 2:  # type: ignore[arg-type]
            raise ValueError(f"{kind} update sequence element #{i} has length "
                             f"{len(pair)}; 2 is required")  # type: ignore[arg-type]
        name, value = pair
        yield name, value


def _as_parameter(value: Any) -> Any:
    plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    return Parameter(value) if plain else value


def _text(value: Any, dtype_first: bool) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type_name(value)}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    what = repr(value.dtype) if dtype_first else value.type()
    return f"{kind} containing: [{what} of size {'x'.join(map(str, value.size()))}]"


class ParameterList(_Positions):
    """A list of parameters; tensors are made parameters, other objects are kept as they are."""

    _size = 0

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    def _names(self) -> list[str]:
        return [str(i) for i in range(self._size)]

    def _members(self) -> Iterable[Any]:
        return [getattr(self, name) for name in self._names()]

    def __len__(self) -> int:
        return self._size

    def __setitem__(self, index: int, value: Any) -> None:
        super().__setitem__(index, _as_parameter(value))

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({i}): {_text(p, True)}" for i, p in enumerate(self))


class ParameterDict(_Keys):
    """A dict of parameters; tensors are made parameters, other objects are kept as they are."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update(() if parameters is None else parameters)

    def _table(self) -> dict[str, Any]:
        return self._keys

    @staticmethod
    def _name(key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type "
                f"is '{type_name(key)}'). Open an issue on github if you need non-string keys.")
        return key

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, self._name(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[self._name(key)] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        delattr(self, key)

    def copy(self) -> ParameterDict:
        """Another dict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is given the default if it has none."""
        if key in self._keys:
            return self[key]
        self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Remove the last key; it and its value."""
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or a default."""
        return getattr(self, key) if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Another dict with these keys, all with one value."""
        return ParameterDict((k, default) for k in keys)

    def values(self) -> Iterator[Any]:
        """The values."""
        return (self[k] for k in self._keys)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Pairs of key and value."""
        return ((k, self[k]) for k in self._keys)

    def update(self, parameters: Any) -> None:
        """Add the values of a mapping, or of pairs; those of a plain dict sorted by name."""
        pairs = _pairs(parameters, "ParameterDict")
        plain = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        for name, p in sorted(pairs, key=lambda pair: pair[0]) if plain else pairs:
            self[name] = p

    def __or__(self, other: ParameterDict) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"  ({k}): {_text(p, False)}" for k, p in self.items())


__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
