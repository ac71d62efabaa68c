"""What a captured call returns, and the tensors that it leaves elsewhere."""

from __future__ import annotations

from typing import Any, Final

from ..tensor.tensor import Tensor
from ..trace.graph import Value
from .state import IMMUTABLE
from .template import NotCapturable


class Made:
    """How a tensor is made that a call leaves behind.

    Attributes:
        root: the number of the value that it holds.
        cls, strides, offset, slow: of it.
    """

    def __init__(self, tensor: Tensor, root: int) -> None:
        self.root: Final = root
        self.cls: Final[Any] = type(tensor)
        self.strides: Final = tensor.element_strides
        self.offset: Final = tensor.element_offset
        self.slow: Final = tensor.slow_path

    def make(self, values: list[Value]) -> Any:
        made = self.cls.from_value(values[self.root])
        if self.slow or self.strides is not None:
            made.element_strides = self.strides
            made.element_offset = self.offset
            made.slow_path = self.slow
        return made


class Output:
    """A part of what a call returns: ``build`` gives it again."""

    def build(self, tensors: list[Any], known: list[Any]) -> Any:
        raise AssertionError("a part of an output says how it is built")


class NewTensor(Output):
    """A tensor that the call made."""

    def __init__(self, number: int) -> None:
        self.number: Final = number

    def build(self, tensors: list[Any], known: list[Any]) -> Any:
        return tensors[self.number]


class Known(Output):
    """A tensor that was there before: that of a source."""

    def __init__(self, number: int) -> None:
        self.number: int = number

    def build(self, tensors: list[Any], known: list[Any]) -> Any:
        return known[self.number]


class Constant(Output):
    """An immutable value, or an object that is the same at every call."""

    def __init__(self, value: Any) -> None:
        self.value: Final = value

    def build(self, tensors: list[Any], known: list[Any]) -> Any:
        return self.value


class Sequence(Output):
    """A list, tuple or named tuple."""

    def __init__(self, cls: Any, parts: list[Output]) -> None:
        self.cls: Final = cls
        self.parts: Final = parts

    def build(self, tensors: list[Any], known: list[Any]) -> Any:
        items = [part.build(tensors, known) for part in self.parts]
        if self.cls is list:
            return items
        if self.cls is tuple:
            return tuple(items)
        return self.cls(*items) if hasattr(self.cls, "_fields") else self.cls(items)


class Mapping(Output):
    """A dict or an ordered dict."""

    def __init__(self, cls: Any, keys: list[Any], parts: list[Output]) -> None:
        self.cls: Final = cls
        self.keys: Final = keys
        self.parts: Final = parts

    def build(self, tensors: list[Any], known: list[Any]) -> Any:
        return self.cls(
            (k, part.build(tensors, known)) for k, part in zip(self.keys, self.parts))


def output_of(x: Any, place: Any, is_known: Any) -> Output:
    """How what a call returned is built again.

    Args:
        place: of a tensor, the part that stands for it.
        is_known: tells whether an object is one that the checks know.

    Raises NotCapturable for objects of other classes.
    """
    if isinstance(x, Tensor):
        found: Output = place(x)
        return found
    if isinstance(x, tuple) and (type(x) is tuple or hasattr(x, "_fields")):
        return Sequence(type(x), [output_of(item, place, is_known) for item in x])
    if is_known(x):
        return Constant(x)
    if type(x) is list:
        return Sequence(list, [output_of(item, place, is_known) for item in x])
    if isinstance(x, dict) and type(x).__init__ in (dict.__init__, _ORDERED):
        return Mapping(type(x), list(x), [output_of(v, place, is_known) for v in x.values()])
    if isinstance(x, IMMUTABLE):
        return Constant(x)
    raise NotCapturable(
        f"the call returns a {type(x).__module__}.{type(x).__qualname__}, expected tensors, "
        "numbers, and lists, tuples and dicts of them")


def _ordered() -> Any:
    import collections

    return collections.OrderedDict.__init__


_ORDERED: Final = _ordered()
