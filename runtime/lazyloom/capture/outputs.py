"""What a captured call returns, and the tensors that it leaves elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from ..frontend import view_of_type
from ..tensor.tensor import Tensor, aliasing
from ..tensor.views import ViewStep
from ..trace.fed import Fed
from ..trace.graph import Value
from ..types import TensorType
from .state import IMMUTABLE
from .template import NotCapturable


class TensorOutput:
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

    def make(self, values: list[Value], tensors: list[Any], known: list[Any]) -> Any:
        made = self.cls.from_value(values[self.root])
        if self.slow or self.strides is not None:
            made.element_strides = self.strides
            made.element_offset = self.offset
            made.slow_path = self.slow
        return made


class Views:
    """How views of a frontend's class are made again whose own notes on them say more than a
    :class:`Tensor` does.

    Args:
        cls: their class.
        owner: of a view, the tensor that has the storage, None where it cannot be told.
        keep: of a view and that tensor, or one that it is a part of, what ``make`` needs to know
            of the view; None where it cannot be made again.
        make: of that tensor, the steps from there, the view's type and what was kept, the view.
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
    made: Any = view_of_type(cls, owner, steps, kind, strides, offset)
    made.slow_path, made.detached = slow, detached
    return made


_views: Final[list[Views]] = [
    Views(Tensor, lambda view: view.alias_of, _keep, _make)]


def register_views(views: Views) -> None:
    """Say how views of a frontend's class are made again."""
    _views.insert(0, views)


def views_of(tensor: Tensor) -> Views:
    """How views of a tensor's class are made again."""
    return next(v for v in _views if isinstance(tensor, v.cls))


class MadeView:
    """How a view, or another tensor of the same memory, is made that a call leaves behind.

    Attributes:
        how, kept: what makes it.
        steps, type: of it.
        made, source: the number of what it is a view of among what was made or the sources, or -1.
        root: the number of the value that it reads, -1 if it is to read that anew.
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

    def make(self, values: list[Value], made: list[Any], known: list[Any]) -> Any:
        owner: Any = made[self.made] if self.made >= 0 else known[self.source]
        view: Any = self.how.make(owner, self.steps, self.type, self.kept)
        if self.root >= 0:
            read_as(view, values[self.root])
        return view


def read_as(view: Tensor, value: Value) -> None:
    """Let a view read a value that is known to be what it reads of its storage."""
    if view.view_steps:
        state = aliasing(view)
        state.read = value
        state.version = view.version


def tensors_in(x: Any) -> list[Tensor]:
    """The tensors that a result consists of."""
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
    """Whether an object is no more than its attributes: an instance of a data class."""
    cls = type(x)
    return "__dataclass_fields__" in cls.__dict__ and hasattr(x, "__dict__") and (
        not any(name in base.__dict__ for base in cls.__mro__ if base is not object
                for name in ("__new__", "__getattribute__", "__del__"))
        and not any(base.__dict__.get("__slots__") for base in cls.__mro__))


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


class ConstantOutput(Output):
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


class Record(Output):
    """An instance of a data class."""

    def __init__(self, cls: Any, names: list[str], parts: list[Output]) -> None:
        self.cls: Final = cls
        self.names: Final = names
        self.parts: Final = parts

    def build(self, tensors: list[Any], known: list[Any]) -> Any:
        made = object.__new__(self.cls)
        for name, part in zip(self.names, self.parts):
            made.__dict__[name] = part.build(tensors, known)
        return made


def output_of(x: Any, place: Any, is_known: Any, seen: set[int] | None = None) -> Output:
    """How what a call returned is built again.

    Args:
        place: of a tensor, the part that stands for it.
        is_known: tells whether an object is one that the checks know.

        seen: the identities of containers met so far.

    Raises NotCapturable for objects of other classes.
    """
    if isinstance(x, Tensor):
        found: Output = place(x)
        return found
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
