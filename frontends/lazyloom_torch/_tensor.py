"""The Tensor class: gradients, aliasing and conversion.

The functions that compute are attached by :mod:`lazyloom_torch._methods`.

How gradients meet mutation. The storage of a leaf that requires a gradient holds a
*leaf value* (``Value.as_leaf``), so views of it are differentiable through the
runtime's view chain. What is written under ``no_grad`` or through a detached alias is
data only: a leaf's new contents become a leaf value again, and a non-leaf's keep the
place on the tape of what they replace (op ``straight_through``), as in PyTorch.
An alias that has a history of its own (``x.detach().requires_grad_()``) keeps its value
in ``_own``, with the version of the storage for which it holds.
"""

from __future__ import annotations

from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

import lazyloom
from lazyloom import Value, frontend
from lazyloom.frontend import ALONE, detached_view, make_on, reread, storage_of, view_of_type
from lazyloom.frontend import write as write
from lazyloom.frontend import write_lock as write_lock

from . import _dtypes
from ._copies import attributes, reduced, shallow_copy
from ._core import axis
from ._dlpack import exported, own_value, to_dlpack
from ._dtypes import CPU, Size, dtype
from ._errors import as_torch, not_a_tensor
from ._formats import strided
from ._inference import check_requiring, check_write, version_of
from ._inference import seen as inference
from ._leaf import Leaf as Leaf
from ._leaf import Token as Token
from ._memory import (
    check_alone,
    check_gradient,
    deep_copy,
    recorded,
    replace_alias,
    requiring,
    requiring_too,
    still_requiring,
    take,
)
from ._strides import is_contiguous, row_major, seen

_new = lazyloom.Tensor.__new__


if TYPE_CHECKING:  # what _methods attaches
    from ._attached import Attached as _Base
else:
    _Base = lazyloom.Tensor


class Tensor(_Base):
    """A multi-dimensional array that is computed when it is needed, with gradients.

    ``Tensor(data)`` makes a float32 copy of nested lists or an array, as in PyTorch;
    use :func:`torch.tensor` to keep the dtype.
    """

    _leaf: Leaf | None = None
    # Views and detached aliases name in ``alias_of`` the tensor whose storage they share.
    _own: tuple[int, Value] | None = None  # a detached alias's own differentiable contents
    # the tensor with _own of which this is a view, and by which steps
    _parent: tuple[Tensor, tuple[Any, ...]] | None = None
    __array_priority__ = 1000  # NumPy's scalars and arrays leave operators to the tensor
    _watch: Any = None  # hooks and retained gradient of a non-leaf
    _assigned: Tensor | None = None  # the gradient given to a tensor that collects none
    _of_several: str | None = None  # which function gave this view together with others
    _without_grad = ""  # of a view made under no_grad: what requires a gradient below it
    _inactive: Leaf | None = None  # what _leaf was, while no gradient is required

    def __init__(self, *data: Any, device: Any = None, **options: Any) -> None:
        if getattr(self, "view_steps", None) is not None:
            return  # what a subclass's __new__ gave: it has its contents
        if options:
            raise TypeError(f"Tensor() takes data and device, not {', '.join(options)}")
        _dtypes.check_device(device)
        if len(data) == 1 and isinstance(data[0], Value):
            super().__init__(data[0])
            return
        default = _dtypes.get_default_dtype().lazy.numpy
        if data and all(isinstance(d, (int, np.integer)) and type(d) is not bool for d in data):
            array = np.zeros(tuple(int(d) for d in data), default)
        elif len(data) == 1 and isinstance(data[0], Size):
            array = np.zeros(tuple(data[0]), default)
        elif len(data) == 1:
            array = np.array(to_array(data[0]), default)
        elif not data:
            array = np.zeros((0,), default)
        else:
            raise TypeError(f"Tensor() takes sizes or one sequence, not {data!r}")
        value = lazyloom.from_host(array)
        super().__init__(value if device is None else make_on(value, _dtypes.placed_on(device)))

    # -- contents -------------------------------------------------------------------------

    def _operand(self) -> Value:
        """The value to record with; a leaf's is one that the tape knows."""
        own = self._own
        if own is None:
            return self.value
        version = self.version
        if own[0] == version:
            return own[1]
        # it is kept for readers that do record gradients
        with lazyloom.grad_mode(True):
            value = self._read_again(own[1])
        self._own = (version, value)
        return value

    def _read_again(self, before: Value) -> Value:
        """The contents of an alias with a history of its own, after the storage was written."""
        if self._leaf is not None:
            return self.value.as_leaf(self._leaf.token)
        if self._parent is not None:
            parent, steps = self._parent
            value = parent._operand()
            for step in steps:
                value = step.forward(value)
            return value
        # written through another tensor of the storage: the data is new, the history its own
        return recorded("straight_through", [before, self.value.detach()])

    def _keep_own(self, own: tuple[int, Value] | None) -> None:
        """Set ``_own``; a tensor with one takes the general way of the operators."""
        self._own = own
        self.slow_path = own is not None or self._reordered()

    def _reordered(self) -> bool:
        """Whether what is computed of each element has other strides than row-major ones."""
        found = self.element_strides
        return found is not None and seen(self.tensor_type.shape, found)[1]

    def _lay(self, strides: tuple[int, ...] | None, offset: int) -> None:
        """Set the strides and the offset; a tensor whose results are to be laid out as it is takes
        the general way of the operators."""
        self.element_strides, self.element_offset = strides, offset
        self.slow_path = self._own is not None or self._reordered()

    def _assign(self, value: Value, repeated: bool = False) -> Tensor:
        """Replace the contents in place.

        Raises RuntimeError for a leaf that requires grad, or a view of one, while
        gradients are recorded, and where several elements are one place in memory unless
        that is said to be no harm (``repeated``).
        """
        if inference.mode:
            check_write(self)
        try:
            with write_lock(self):
                try:
                    self._replace(value)
                except lazyloom.errors.AliasError:
                    places = zip(self.element_strides or (), self.tensor_type.shape)
                    if not repeated and any(s == 0 and d > 1 for s, d in places):
                        raise
                    frontend.strides_for_broadcasts(self)
                    self._replace(value)
        except lazyloom.errors.LoomError as error:
            raise as_torch(error) from None
        return self

    def _laid(self, strides: tuple[int, ...] | None) -> Tensor:
        """This tensor, a result that nothing shares yet, with the strides found for it."""
        if strides is not None:
            self.element_strides = strides
            self.slow_path = True
        return self

    def _update(self, value: Value) -> None:
        """:meth:`_assign` for an optimizer, while no gradients are recorded."""
        leaf = self._leaf
        if leaf is None:
            if self.shared is None and value.type is self.tensor_type and (
                not self.value.requires_grad
            ):
                write(self, value)
                return
        elif self._own is None and not self.view_steps and value.type is self.tensor_type:
            storage = storage_of(self)
            if storage.writable:
                with storage.lock:
                    storage.replace(value.as_leaf(leaf.token))
                return
        self._assign(value)

    @staticmethod
    def _bare() -> Tensor:
        """A tensor that holds nothing yet."""
        made: Tensor = _new(Tensor)
        return made

    def _root(self) -> Tensor:
        """The tensor whose storage this one shares."""
        owner: Any = self.alias_of
        return self if owner is None else owner

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a differentiable view of, None for an alias or an owner."""
        owner: Any = self.alias_of
        return None if self.detached else owner

    @property
    def _is_alias(self) -> bool:
        """Whether it shares its storage but not its history."""
        return self.detached and self.alias_of is not None

    def _top(self) -> tuple[Tensor, tuple[Any, ...]]:
        """The alias with a history of its own that this is a view of, and the steps from there."""
        top, steps = self, ()
        while top._parent is not None:
            parent, own = top._parent
            top, steps = parent, (*own, *steps)
        return top, steps

    def _has_history_of(self, other: Tensor) -> bool:
        """Whether gradients take this tensor for the other one, which reads the same elements."""
        if self.detached is not other.detached:
            return False
        return self._own is None is other._own or self._top()[0] is other._top()[0]

    def _check_no_leaf(self) -> None:
        """Raise RuntimeError where a write in place would be one to a leaf that requires grad."""
        if not lazyloom.grad_enabled():
            return
        root = self if self.detached else self._root()
        if root._leaf is not None or self._top()[0]._leaf is not None:
            what = "a leaf Variable" if self._leaf is not None else "a view of a leaf Variable"
            raise RuntimeError(
                f"{what} that requires grad is being used in an in-place operation; do it under "
                "torch.no_grad() or on a clone()")

    def _replace(self, value: Value) -> None:
        owner: Any = self.alias_of
        alias = owner is not None and self.detached
        tracking = lazyloom.grad_enabled()
        if tracking and (self._without_grad or self._of_several is not None):
            check_alone(self, value)
        if tracking and (alias or (self if owner is None else owner)._leaf is not None):
            self._check_no_leaf()
        shared = self.shared  # a view always has it: no call
        old = storage_of(self).value if shared is None else shared.value
        if alias:
            replace_alias(self, value, old, *self._top(), tracking)
        elif not tracking:
            self._write_plain(value.detach(), old)
        else:
            write(self, value)
            if old.requires_grad or value.requires_grad:
                storage = storage_of(self)
                if not value.requires_grad:
                    reread(self)  # a part of what requires a gradient requires one
                if not (storage.value.requires_grad or self.detached):
                    storage.value = (
                        still_requiring(old, storage.value) if old.requires_grad
                        else requiring_too(storage.value, value))
                    reread(self)

    def _write_plain(self, value: Value, old: Value) -> None:
        """Write data without gradient; what the storage held keeps its place on the tape."""
        storage = storage_of(self)
        with lazyloom.grad_mode(False):
            write(self, value)
        if not old.requires_grad:
            return
        root = self._root()
        if root._leaf is not None:
            storage.value = storage.value.detach().as_leaf(root._leaf.token)
        else:
            storage.value = recorded("straight_through", [old, storage.value])
        reread(self)  # what was written, without gradient

    def _share(self, step: Any, strides: tuple[int, ...] | None, offset: int) -> Tensor:
        """A view of this tensor by one step; its strides, and its offset in the storage."""
        try:
            kind = step.out_type(self.tensor_type)
        except lazyloom.errors.LoomError as error:
            raise as_torch(error) from None
        reordered = False
        if strides is not None:
            strides, reordered = seen(kind.shape, strides)
        return self._view((step,), kind, strides, offset, reordered)

    def _view(self, steps: tuple[Any, ...], kind: lazyloom.TensorType,
              strides: tuple[int, ...] | None, offset: int, reordered: bool) -> Tensor:  # fmt: skip
        """A view of this tensor: same storage, gradients as the grad mode has it.

        ``reordered`` is what :meth:`_reordered` finds for these strides.
        """
        made: Tensor = view_of_type(Tensor, self, steps, kind, strides, offset)
        if reordered:
            made.slow_path = True
        if self._of_several is not None:
            made._of_several = self._of_several
        storage: Any = made.shared
        if self.detached and self.alias_of is not None:
            if self._without_grad or not lazyloom.grad_enabled():
                if self._without_grad or self._own is not None:
                    made._without_grad = self._without_grad or requiring(self)
            else:
                # the alias may get a history of its own yet
                made._parent = (self, steps)
                made._keep_own((-1, storage.value))
        elif storage.value.requires_grad:
            if not lazyloom.grad_enabled():
                made.detached, made._without_grad = True, requiring(self._root())
            elif self.view_steps:
                frontend.read_through(made, self, steps)
        return made

    # -- gradients ------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor."""
        if self._leaf is not None:
            return True
        return bool(self._operand().requires_grad)

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.requires_grad_(flag)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Make this a leaf that collects a gradient, or stop it from being one.

        Raises RuntimeError for integers, and for switching a non-leaf off.
        """
        if requires_grad == self.requires_grad:
            return self
        if not self.is_leaf:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach().")
        if requires_grad:
            check_requiring(self)
            if not self.tensor_type.dtype.is_inexact:
                raise RuntimeError(
                    "only Tensors of floating point and complex dtype can require gradients; this "
                    f"one has {self.dtype!r}")
            self._make_leaf()
        elif self._leaf is not None:
            self._leaf.inactive = True
            self._leaf, self._inactive = None, self._leaf
            self._keep_own(None)
            if not self._is_alias:
                self._detach_storage()
        return self

    def _detach_storage(self) -> None:
        """Let the storage hold the same data without gradient."""
        storage = storage_of(self)
        with storage.lock:
            storage.value = storage.value.detach()
            storage.version += 1

    def _make_leaf(self) -> None:
        leaf = self._inactive
        if leaf is None:
            leaf = Leaf(self)
            leaf.grad = self._assigned
        leaf.inactive = False
        self._leaf, self._inactive = leaf, None
        alone = self.shared is None
        storage = storage_of(self)
        if self.alias_of is None:
            with storage.lock:
                storage.value = storage.value.as_leaf(leaf.token)
                if not alone:
                    storage.version += 1  # views have read it without gradient
            return
        self.detached = True
        self._keep_own((storage.version, self.value.as_leaf(leaf.token)))

    @property
    def is_leaf(self) -> bool:
        """True unless the tensor was computed from one that requires a gradient."""
        return self._leaf is not None or not self._operand().requires_grad

    @property
    def grad(self) -> Tensor | None:
        """The gradient that :meth:`backward` accumulated, or None."""
        leaf = self._leaf or self._inactive
        if leaf is not None:
            return leaf.grad
        return self._watch.grad if self._watch is not None else self._assigned

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise not_a_tensor(value, "grad: ")
            check_gradient(self, value)
        leaf = self._leaf or self._inactive
        if leaf is not None:
            leaf.grad = value
        elif self._watch is not None:
            self._watch.grad = value
        else:
            self._assigned = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def detach(self) -> Tensor:
        """The same storage, without gradient history."""
        made: Tensor = detached_view(self)
        made.__class__ = Tensor
        made.alias_of = self._root()
        if self.element_strides is not None or self.element_offset:
            made._lay(self.element_strides, self.element_offset)
        return made

    def detach_(self) -> Tensor:
        """Forget the gradient history of this tensor itself; it becomes a leaf."""
        if self._base is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self._leaf = self._watch = self._parent = None
        self._keep_own(None)
        if not self._is_alias:
            self._detach_storage()
        return self

    @property
    def data(self) -> Tensor:
        """The same storage, without gradient history."""
        return self.detach()

    @data.setter
    def data(self, other: Tensor) -> None:
        take(self, other)

    # -- shape and type -------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The size of each dimension; known before anything runs."""
        return Size(self.tensor_type.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one dimension of it."""
        shape = self.tensor_type.shape
        return Size(shape) if dim is None else shape[axis(dim, len(shape))]

    def dim(self) -> int:
        """The number of dimensions."""
        return len(self.tensor_type.shape)

    ndim = property(dim)

    def numel(self) -> int:
        """The number of elements."""
        return int(self.tensor_type.size)

    ndimension, nelement = dim, numel

    def element_size(self) -> int:
        """The size of an element in bytes."""
        return int(self.tensor_type.dtype.itemsize)

    itemsize = property(element_size)

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return int(self.tensor_type.nbytes)

    @property
    def dtype(self) -> dtype:
        """The dtype of the elements."""
        return _dtypes.of(self.tensor_type.dtype)

    @property
    def device(self) -> _dtypes.device:
        """The device of the data."""
        return CPU if self.tensor_type.placement.is_default else _dtypes.device_of(self)

    is_cpu = True
    is_cuda = False
    is_xla = False
    is_sparse = False
    _is_dtensor = False  # whether it is one of torch.distributed.tensor
    is_quantized = False
    is_meta = False
    layout = strided

    _version = property(version_of)

    def is_floating_point(self) -> bool:
        """Whether the dtype is floating."""
        return bool(self.tensor_type.dtype.is_floating)

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return bool(self.tensor_type.dtype.is_complex)

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers."""
        return self.tensor_type.dtype.kind not in "bu"

    def stride(self, dim: int | None = None) -> Any:
        """The strides in elements that PyTorch would give, or one of them."""
        found = self.element_strides
        if found is None:
            found = row_major(self.tensor_type.shape)
        return found if dim is None else found[axis(dim, self.ndim)]

    def storage_offset(self) -> int:
        """The position of the first element in the storage."""
        return self.element_offset

    def is_nonzero(self) -> bool:
        """Whether the only element is not zero; reads it."""
        return bool(self)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in the order of the dimensions."""
        return is_contiguous(self.tensor_type.shape, self.element_strides)

    # -- to the host ----------------------------------------------------------------------

    def item(self) -> Any:
        """The only element, as a Python number. Raises RuntimeError for several."""
        if self.tensor_type.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.tensor_type.size} elements cannot be converted to Scalar")
        found = self.read_number()
        return float(found) if self.tensor_type.dtype.is_floating else found

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        value = self.value
        found = frontend.look(value)
        if found.dtype.kind == "V":
            found = found.astype(np.float64)
        return found.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """A NumPy array of the data, which share no memory with any tensor.

        Of a temporary (``f(x).numpy()``) it is the tensor's own memory, or else a copy. Raises
        RuntimeError if gradients are recorded for the tensor.
        """
        if not force and lazyloom.grad_enabled() and self.requires_grad:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead.")
        if self.tensor_type.dtype.name == "bfloat16":
            raise TypeError("NumPy has no bfloat16: use tensor.float().numpy()")
        references = getrefcount(self)
        if references != ALONE or type(self) is not Tensor:
            return self.read()
        return frontend.to_host(self, references)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.numpy()
        return found if dtype is None else found.astype(dtype, copy=False)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: bool | None = None) -> Any:  # fmt: skip
        return to_dlpack(self, stream, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __bool__(self) -> bool:
        if self.tensor_type.size != 1:
            many = "no values" if self.tensor_type.size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
        return bool(self.item())

    def _only(self) -> Any:
        if self.tensor_type.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def _real_only(self) -> Any:
        found = self._only()
        if isinstance(found, complex):
            if found.imag:
                raise RuntimeError(f"{found} has an imaginary part; take .real first")
            return found.real
        return found

    def __float__(self) -> float:
        kind = self.tensor_type
        if kind.size == 1 and kind.dtype.is_floating:
            return float(self.read_number())
        return float(self._real_only())

    def __int__(self) -> int:
        return int(self._real_only())

    def __complex__(self) -> complex:
        return complex(self._only())

    def __index__(self) -> int:
        if self.tensor_type.dtype.kind not in "iub" or self.tensor_type.size != 1:
            raise TypeError(
                "only integer tensors of a single element can be converted to an index")
        return int(self._only())

    def __len__(self) -> int:
        if not self.tensor_type.shape:
            raise TypeError("len() of a 0-d tensor")
        return int(self.tensor_type.shape[0])

    def __iter__(self) -> Any:
        if not self.tensor_type.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        if not isinstance(element, (Tensor, int, float, complex, np.generic)):
            raise RuntimeError(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                f"{type(element)}.")
        return bool((self == element).any())

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        from ._repr import tensor_text

        return tensor_text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows; it reads what :func:`repr` does."""
        return frontend.as_html(repr(self), {
            "shape": str(list(self.tensor_type.shape)), "dtype": str(self.dtype),
            "device": str(self.device)})

    def __format__(self, spec: str) -> str:
        if not self.tensor_type.shape and (spec or type(self) is Tensor):
            return format(self.item(), spec)  # f"{loss}" is the number, as PyTorch's
        return object.__format__(self, spec) if spec else repr(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduced(self)

    def __copy__(self) -> Tensor:
        """Another tensor on the same memory; a copy of it if this one requires grad."""
        if type(self) is Tensor and not attributes(self) and not self.requires_grad:
            return self.detach()
        return shallow_copy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) in memo:
            found: Tensor = memo[id(self)]
            return found
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol; use detach() first")
        memo[id(self)] = made = deep_copy(self, memo)
        if self._leaf is not None:
            made._make_leaf()
            if self._leaf.grad is not None:
                made.grad = self._leaf.grad.__deepcopy__(memo)
        for name, value in self.__dict__.items():
            if not name.startswith("_"):
                setattr(made, name, value)
        return made


def to_array(data: Any) -> Any:
    """Nested lists, tensors, arrays or numbers as something NumPy takes."""
    if isinstance(data, Tensor):
        return data.read()
    if isinstance(data, (list, tuple)):
        return [d._only() if isinstance(d, Tensor) else to_array(d) for d in data]
    if isinstance(data, lazyloom.Tensor) or exported(data):
        return Tensor.from_value(own_value(data)).read()
    return data


def wrap(value: Any) -> Any:
    """A Value as a Tensor, a tuple of them as a tuple."""
    if type(value) is tuple:
        return tuple(Tensor.from_value(v) for v in value)
    return Tensor.from_value(value)


def operand(x: Any) -> Value:
    """The value of a Tensor to record with. Raises TypeError for anything else."""
    if isinstance(x, Tensor):
        return x._operand() if x.slow_path else x.value
    raise not_a_tensor(x)
