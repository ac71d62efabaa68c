"""Tensors: mutable, aliasing objects over immutable values.

Several tensors may share one :class:`Storage`; each reads it through its chain of view
steps. A write makes a new value of the whole storage and bumps its version, so the graph
stays pure and every frontend gets the aliasing of its library from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from .dtypes import DType, as_dtype
from .errors import AliasError, ArgumentError, LoomError
from .graph import Value, _as_list, _place, record
from .ops.spec import OpDef, lookup
from .scalars import Scalar
from .source import user_site
from .types import TensorType
from .views import ViewStep


class Storage:
    """What tensors that alias each other share.

    Attributes:
        value: the current contents.
        version: number of writes so far.
        writable: False makes writes an AliasError (memory shared with the outside).
    """

    __slots__ = ("value", "version", "writable")

    def __init__(self, value: Value) -> None:
        self.value = value
        self.version = 0
        self.writable = True


class Tensor:
    """A mutable n-dimensional array that may share storage with others.

    Frontends subclass it. ``Tensor(value)`` owns a new storage with that contents.
    """

    __slots__ = ("_storage", "_steps", "_type", "_cached", "_cached_version", "_no_gradient")

    _storage: Storage
    _steps: tuple[ViewStep, ...]
    _type: TensorType
    _cached: Value | None
    _cached_version: int
    _no_gradient: bool

    def __init__(self, value: Value) -> None:
        if not isinstance(value, Value):
            raise ArgumentError(
                f"a tensor was made of a {type(value).__name__}, expected a Value; use "
                "lazyloom.from_host for host data")
        self._set(Storage(value), (), value.type)

    def _set(self, storage: Storage, steps: tuple[ViewStep, ...], type: TensorType) -> None:
        self._storage = storage
        self._steps = steps
        self._type = type
        self._cached = None
        self._cached_version = -1
        self._no_gradient = False

    @classmethod
    def _wrap(cls, value: Value) -> Self:
        """A tensor of this class that owns a new storage with that contents."""
        self = cls.__new__(cls)
        self._set(Storage(value), (), value.type)
        return self

    @property
    def value(self) -> Value:
        """The current contents as an immutable value."""
        storage = self._storage
        if not self._steps:
            found = storage.value
        elif self._cached is not None and self._cached_version == storage.version:
            found = self._cached
        else:
            found = storage.value
            for step in self._steps:
                found = step.forward(found)
            self._cached = found
            self._cached_version = storage.version
        return found.detach() if self._no_gradient else found

    @property
    def type(self) -> TensorType:
        """Shape, dtype and placement."""
        return self._type

    @property
    def version(self) -> int:
        """How often the storage was written."""
        return self._storage.version

    @property
    def _is_view(self) -> bool:
        return bool(self._steps)

    @property
    def _base_storage(self) -> Storage:
        return self._storage

    def _write(self, value: Value) -> None:
        """Replace the contents in place; every tensor of the same storage sees it.

        ``value`` has exactly this tensor's shape and dtype. Raises ArgumentError otherwise,
        AliasError where a view cannot be written.
        """
        if value.type is not self._type:
            raise ArgumentError(
                f"a {value.type.text} was written into a tensor of type {self._type.text}; cast "
                "and broadcast it first")
        storage = self._storage
        if not storage.writable:
            raise AliasError(
                f"a tensor of type {self._type.text} is read-only; copy it to change it")
        if self._no_gradient and value.requires_grad:
            value = value.detach()
        if not self._steps:
            storage.value = value
            storage.version += 1
            return
        bases = [storage.value]
        for step in self._steps[:-1]:
            bases.append(step.forward(bases[-1]))
        new = value
        for step, base in zip(reversed(self._steps), reversed(bases), strict=True):
            new = step.put(base, new)
        storage.value = new
        storage.version += 1
        self._cached = value
        self._cached_version = storage.version

    def _alias(self, step: ViewStep) -> Self:
        """A view of this tensor that shares its storage."""
        type_ = step.out_type(self._type)
        view = type(self).__new__(type(self))
        view._set(self._storage, (*self._steps, step), type_)
        view._no_gradient = self._no_gradient
        return view

    def _same_place(self, other: Tensor) -> bool:
        """Whether both read the same part of the same storage in the same order."""
        return self._storage is other._storage and self._steps == other._steps

    def _detached(self) -> Self:
        """A tensor of the same storage whose value carries no gradient."""
        other = type(self).__new__(type(self))
        other._set(self._storage, self._steps, self._type)
        other._no_gradient = True
        return other

    def _forget_gradient(self) -> None:
        """From now on the contents carry no gradient."""
        if not self._steps:
            self._storage.value = self._storage.value.detach()
        self._no_gradient = True

    def read(self) -> Any:
        """The data as a fresh NumPy array; evaluates what is pending.

        Raises ExecutionError if computing it failed.
        """
        return self.value.read()


_NO_ATTRIBUTES: Final[dict[str, Any]] = {}


def apply(
    op: str | OpDef, operands: Sequence[Any], attributes: Mapping[str, Any] | None = None
) -> Any:
    """Record one operation on tensors.

    Args:
        op: the op, or its name; see ``docs/ops.md``.
        operands: tensors of any frontend, values, scalars, None for an absent optional
            operand, or Python numbers, which take the dtype of the op's other operands.
        attributes: the op's attributes.

    Returns:
        a tensor of the class of the first tensor among the operands, or a tuple of them.

    Raises:
        UnknownOpError, ArgumentError, ShapeError, DTypeError: for this call, at once.
    """
    try:
        found = op if isinstance(op, OpDef) else lookup(op)
    except LoomError as error:
        _place(error, str(op))
        raise
    if not isinstance(operands, (list, tuple)):
        operands = _as_list(found, operands)
    cls: type[Tensor] | None = None
    shared: DType | None = None
    prepared: list[Any] = []
    for i, x in enumerate(operands):
        if isinstance(x, Tensor):
            if cls is None:
                cls = type(x)
            x = x.value
        if shared is None and isinstance(x, (Value, Scalar)) and _class_of(found, i) == "T":
            shared = x.type.dtype
        prepared.append(x)
    for i, x in enumerate(prepared):
        if isinstance(x, (bool, int, float, complex)):
            dtype = _scalar_dtype(found, i, x, shared)
            try:
                # positions differ from run to run of a loop
                prepared[i] = Scalar(x, dtype, bake=_class_of(found, i) != "index")
            except ArgumentError as error:
                raise ArgumentError(
                    f"{found.name}: operand {found.operand_name(i)!r}: {error}", op=found.name,
                    site=str(user_site())) from None
    result = record(found, prepared, attributes)
    wrap = (cls or Tensor)._wrap
    if isinstance(result, tuple):
        return tuple([wrap(v) for v in result])
    return wrap(result)


def _class_of(op: OpDef, position: int) -> str:
    if not op.operands:
        return ""
    return op.operands[min(position, len(op.operands) - 1)].classes


def _scalar_dtype(op: OpDef, position: int, number: Any, shared: DType | None) -> DType:
    classes = _class_of(op, position)
    if classes == "T":
        if shared is None:
            shared = as_dtype(type(number))
        fits = (
            shared.is_complex
            or (shared.is_floating and not isinstance(number, complex))
            or isinstance(number, bool)
            or (isinstance(number, int) and shared.is_integer and _in_range(number, shared))
        )
        if not fits:
            raise ArgumentError(
                f"{op.name}: operand {op.operand_name(position)!r} is the "
                f"{type(number).__name__} {number!r}, expected a number that {shared.name} holds; "
                "cast the tensor first", op=op.name, site=str(user_site()))
        return shared
    if classes == "index":
        return as_dtype("int64")
    return as_dtype(type(number))


def _in_range(number: int, dtype: DType) -> bool:
    bits = 8 * dtype.itemsize
    if dtype.kind == "u":
        return 0 <= number < 1 << bits
    return -(1 << bits - 1) <= number < 1 << bits - 1
