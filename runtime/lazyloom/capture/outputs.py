"""What a captured call returns, and the tensors that it leaves elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from ..frontend import view_of_type
from ..tensor.contents import aliasing
from ..tensor.tensor import Tensor
from ..tensor.views import ViewStep
from ..trace.fed import Fed
from ..trace.graph import Value
from ..types import TensorType
from .state import IMMUTABLE
from .template import NotCapturable


class TensorOutput:
    """How to make a tensor that a call leaves behind.

    Attributes:
        root: the number of the value that it holds.
        cls, strides, offset, slow: its class, and its attributes of memory layout.
    """

    def __init__(self, tensor: Tensor, root: int) -> None:
        self.root: Final = root
        self.cls: Final[Any] = type(tensor)
        self.strides: Final = tensor.element_strides
        self.offset: Final = tensor.element_offset
        self.slow: Final = tensor.slow_path

    def make(self, values: list[Value], tensors: list[Any], sources: list[Any]) -> Any:
        tensor = self.cls.from_value(values[self.root])
        if self.slow or self.strides is not None:
            tensor.element_strides = self.strides
            tensor.element_offset = self.offset
            tensor.slow_path = self.slow
        return tensor


class Views:
    """How to make views of a frontend's class again, where the frontend knows more about them than
    a :class:`Tensor` does.

    Args:
        cls: the class of the views.
        owner: returns the tensor that has a view's storage, or None if it is unknown.
        keep: from a view and that tensor, or one that it is a part of, returns what ``make`` needs
            to know about the view; None where the view cannot be made again.
        make: from that tensor, the steps from there, the view's type and what was kept, makes the
            view.
    """

    def __init__(
        self, cls: type, owner: Callable[[Any], Any], keep: Callable[[Any, Any], Any],
        make: Callable[[Any, tuple[ViewStep, ...], TensorType, Any], Any],
    ) -> None:  # fmt: skip
        self.cls = cls
        self.owner = owner
        self.keep = keep
        self.make = make


def _keep(view: Any, owner: Any) -> Any:
    if view.alias_of is not (owner if owner.alias_of is None else owner.alias_of):
        return None
    return type(view), view.element_strides, view.element_offset, view.slow_path, view.detached


def _make(owner: Any, steps: tuple[ViewStep, ...], kind: TensorType, kept: Any) -> Any:
    cls, strides, offset, slow, detached = kept
    view: Any = view_of_type(cls, owner, steps, kind, strides, offset)
    view.slow_path, view.detached = slow, detached
    return view


_views: Final[list[Views]] = [
    Views(Tensor, lambda view: view.alias_of, _keep, _make)]


def register_views(views: Views) -> None:
    """Register how views of a frontend's class are made again."""
    _views.insert(0, views)


def views_of(tensor: Tensor) -> Views:
    """Return the registered :class:`Views` of a tensor's class."""
    return next(v for v in _views if isinstance(tensor, v.cls))


class MadeView:
    """How to make a view, or another tensor of the same memory, that a call leaves behind.

    Attributes:
        how, kept: what makes it.
        steps, type: its view steps and type.
        made, source: the number of its owner among the made tensors or the sources, or -1.
        root: the number of the value that it reads, -1 if it must read its storage again.
    """

    def __init__(
        self, view: Tensor, how: Views, kept: Any, steps: tuple[ViewStep, ...], made: int,
        source: int, root: int,
    ) -> None:  # fmt: skip
        self.how: Final = how
        self.kept: Final[Any] = kept
        self.steps: Final = steps
        self.type: Final = view.tensor_type
        self.made: Final = made
        self.source: int = source
        self.root: Final = root

    def make(self, values: list[Value], tensors: list[Any], sources: list[Any]) -> Any:
        owner: Any = tensors[self.made] if self.made >= 0 else sources[self.source]
        view: Any = self.how.make(owner, self.steps, self.type, self.kept)
        if self.root >= 0:
            read_as(view, values[self.root])
        return view


def read_as(view: Tensor, value: Value) -> None:
    """Set the value that a view reads, which is known to be what its storage gives."""
    if view.view_steps:
        state = aliasing(view)
        state.read = value
        state.version = view.version


def tensors_in(x: Any) -> list[Tensor]:
    """Return the tensors that a result contains."""
    if isinstance(x, Tensor):
        return [x]
    if isinstance(x, dict):
        return [t for item in x.values() for t in tensors_in(item)]
    if isinstance(x, (list, tuple)):
        return [t for item in x for t in tensors_in(item)]
    if _is_record(x):
        return [t for item in vars(x).values() for t in tensors_in(item)]
    return []


def _is_record(x: Any) -> bool:
    """Return True if an object is only its attributes: an instance of a data class."""
    cls = type(x)
    return "__dataclass_fields__" in cls.__dict__ and hasattr(x, "__dict__") and (
        not any(name in base.__dict__ for base in cls.__mro__ if base is not object
                for name in ("__new__", "__getattribute__", "__del__"))
        and not any(base.__dict__.get("__slots__") for base in cls.__mro__))


class Output:
    """A part of what a call returns; ``build`` makes it again."""

    def build(self, tensors: list[Any], sources: list[Any]) -> Any:
        raise AssertionError("a part of an output says how it is built")


class NewTensor(Output):
    """A tensor that the call made."""

    def __init__(self, number: int) -> None:
        self.number: Final = number

    def build(self, tensors: list[Any], sources: list[Any]) -> Any:
        return tensors[self.number]


class Known(Output):
    """A tensor from before the call: that of a source."""

    def __init__(self, number: int) -> None:
        self.number: int = number

    def build(self, tensors: list[Any], sources: list[Any]) -> Any:
        return sources[self.number]


class ConstantOutput(Output):
    """An immutable value, or an object that is the same at every call."""

    def __init__(self, value: Any) -> None:
        self.value: Final = value

    def build(self, tensors: list[Any], sources: list[Any]) -> Any:
        return self.value


class Sequence(Output):
    """A list, tuple or named tuple."""

    def __init__(self, cls: Any, parts: list[Output]) -> None:
        self.cls: Final = cls
        self.parts: Final = parts

    def build(self, tensors: list[Any], sources: list[Any]) -> Any:
        items = [part.build(tensors, sources) for part in self.parts]
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

    def build(self, tensors: list[Any], sources: list[Any]) -> Any:
        return self.cls(
            (k, part.build(tensors, sources)) for k, part in zip(self.keys, self.parts))


class Record(Output):
    """An instance of a data class."""

    def __init__(self, cls: Any, names: list[str], parts: list[Output]) -> None:
        self.cls: Final = cls
        self.names: Final = names
        self.parts: Final = parts

    def build(self, tensors: list[Any], sources: list[Any]) -> Any:
        record = object.__new__(self.cls)
        for name, part in zip(self.names, self.parts):
            record.__dict__[name] = part.build(tensors, sources)
        return record


def output_of(x: Any, place: Any, is_known: Any, seen: set[int] | None = None) -> Output:
    """Return how the result of a call is built again.

    Args:
        place: returns the part that stands for a tensor.
        is_known: returns True if the checks know an object.

        seen: the identities of containers met so far.

    Raises NotCapturable for objects of other classes.
    """
    if isinstance(x, Tensor):
        part: Output = place(x)
        return part
    seen = set() if seen is None else seen

    def parts_of(items: Iterable[Any]) -> list[Output]:
        return [output_of(item, place, is_known, seen) for item in items]

    if isinstance(x, tuple) and (type(x) is tuple or hasattr(x, "_fields")):
        return Sequence(type(x), parts_of(x))
    if is_known(x):
        return ConstantOutput(x)
    if isinstance(x, IMMUTABLE) and type(x) is not Fed:
        return ConstantOutput(x)
    if id(x) in seen:
        raise NotCapturable(f"the call returns the same {type(x).__qualname__} twice")
    seen.add(id(x))
    if type(x) is list:
        return Sequence(list, parts_of(x))
    if isinstance(x, dict) and type(x).__init__ in (dict.__init__, _ORDERED):
        return Mapping(type(x), list(x), parts_of(x.values()))
    if _is_record(x):
        return Record(type(x), list(vars(x)), parts_of(vars(x).values()))
    raise NotCapturable(
        f"the call returns a {type(x).__module__}.{type(x).__qualname__}, expected tensors, "
        "numbers, and lists, tuples, dicts and data classes of them")


def _ordered() -> Any:
    import collections

    return collections.OrderedDict.__init__


_ORDERED: Final = _ordered()
