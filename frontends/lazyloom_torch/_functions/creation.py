"""Creation: from data, constant, ranges, and ``*_like``.

Results of these functions are boundaries (``lazyloom.source``): they belong to no
training step, so a loop's first iteration has the structure of all later ones.
"""

from __future__ import annotations

import functools
import importlib
import math
from sys import getrefcount
from typing import Any

import numpy as np

import lazyloom
from lazyloom.dtypes import bfloat16 as _lz_bfloat16
from lazyloom.errors import type_name

from .. import _dtypes
from .._core import cast, check_shape, record, scalar, shape_of, source
from .._dtypes import CPU, dtype
from .._elementwise import alike
from .._errors import SparseOperandError, TorchArgumentError, not_a_tensor
from .._formats import strided
from .._interchange import from_dlpack, is_foreign, own_copy
from .._placing import beside, chosen, current, put
from .._promotion import is_number, number_dtype, promote_types
from .._registry import declare
from .._tensor import Tensor, operand


def finish(value: Any, requires_grad: bool = False, device: Any = CPU) -> Tensor:
    """A new Value as a leaf Tensor, on a device: the thread's default one where it is None."""
    if device is not CPU and (device is not None or chosen):
        value = put(value, device)
    made: Tensor = Tensor.from_value(value)
    if requires_grad:
        if not made.tensor_type.dtype.is_inexact:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients")
        made._make_leaf()
    return made


def has_dtype(data: Any) -> bool:
    """Whether it becomes an array of a NumPy dtype of its own, as a Series of pandas does."""
    return isinstance(getattr(data, "dtype", None), np.dtype) and hasattr(data, "__array__") or (
        hasattr(data, "dtypes") and hasattr(data, "__array__"))


def _host_dtype(array: np.ndarray, data: Any) -> dtype:
    """The dtype PyTorch infers: arrays and tensors keep theirs, Python floats get the default."""
    if isinstance(data, (np.ndarray, np.generic)) or has_dtype(data):
        return _dtypes.of(lazyloom.dtypes.as_dtype(array.dtype))
    kind = array.dtype.kind
    if kind == "f":
        return _dtypes.get_default_dtype()
    if kind == "c":
        return _dtypes.get_default_dtype().to_complex()
    return _dtypes.bool_ if kind == "b" else _dtypes.int64


def _plain(data: Any, found: set[dtype]) -> Any:
    """Nested lists with the numbers of tensors of one element, whatever their shape.

    What has a dtype of its own, and numbers beside it, are entered in ``found``.
    """
    kinds = set(map(type, data))
    if kinds <= _NUMBERS:
        found.update(number_dtype(k(0)) for k in kinds)
        return data
    made = []
    for d in data:
        if isinstance(d, (list, tuple)):
            made.append(_plain(d, found))
            continue
        if is_foreign(d):
            own = own_copy(d)
            found.add(own.dtype)
            d = own._only() if own.tensor_type.size == 1 else own.read()
        elif isinstance(d, Tensor):
            if d.dtype.category < 2 and d.tensor_type.size != 1:
                d.__index__()  # raises
            found.add(d.dtype)
            d = d._only()
        elif isinstance(d, (np.ndarray, np.generic)) or has_dtype(d):
            if np.dtype(getattr(d, "dtype", object)).kind in "biufc":
                found.add(_dtypes.of(lazyloom.dtypes.as_dtype(d.dtype)))
        elif isinstance(d, (int, float, complex)):
            found.add(number_dtype(d))
        made.append(d)
    return made


_NUMBERS = {bool, int, float, complex}


def _uninferred(data: Any, array: np.ndarray) -> Exception:
    """The error for data that are no numbers."""
    if isinstance(data, (list, tuple)):
        odd = next((d for d in array.flat if not isinstance(d, (str, bytes, int))), "")
    else:
        odd = data
    if isinstance(odd, (str, bytes)) and odd is not data:
        return ValueError(f"tensor(): the elements are no numbers (NumPy sees {array.dtype})")
    if isinstance(odd, (str, bytes, np.ndarray)):
        return TypeError(
            f"tensor(): new(): invalid data type '{type_name(data)}' (NumPy sees "
            f"{array.dtype})")
    if isinstance(odd, int):
        return ValueError(f"tensor(): {odd} is beyond int64")
    return RuntimeError(f"Could not infer dtype of {type_name(odd)}")


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with the data of nested lists, numbers, an array or a tensor.

    It shares no memory with them that anybody can see.

    Python floats get the default dtype, ints int64; arrays keep their dtype. Raises
    TypeError or ValueError for what is no number or is ragged, TorchArgumentError for numbers
    that the integer dtype asked for does not hold.
    """
    references = getrefcount(data)
    return _of_data(data, references, dtype, device, requires_grad)


def _of_data(
    data: Any, references: int, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """:func:`tensor`; ``references`` as :func:`lazyloom.from_host` takes it."""
    _dtypes.check_device(device)
    if type(data) is np.ndarray and dtype is None and data.dtype.kind in "biufc":
        return finish(_value(data, _host_dtype(data, data), references), requires_grad, device)
    if isinstance(data, Tensor):
        value = data._operand().detach()
        if dtype is not None:
            value = cast(value, _dtypes.as_dtype(dtype).lazy)
        return finish(value, requires_grad, device)
    if is_foreign(data):
        return tensor(own_copy(data), dtype=dtype, device=device, requires_grad=requires_grad)
    kinds: set[_dtypes.dtype] = set()
    try:
        array = np.asarray(
            _plain(data, kinds) if isinstance(data, (list, tuple)) else data)
    except ValueError as error:
        raise ValueError(f"tensor(): nested sequences must have equal lengths ({error})") from None
    if array.size == 0 and not isinstance(data, np.ndarray):
        array = array.astype(_dtypes.get_default_dtype().lazy.numpy)
    if array.dtype.kind not in "biufcV" and array.dtype != _lz_bfloat16.numpy:
        raise _uninferred(data, array)
    if dtype is not None:
        wanted = _dtypes.as_dtype(dtype)
    elif kinds and array.size:
        wanted = functools.reduce(promote_types, kinds)
    else:
        wanted = _host_dtype(array, data)
    if not isinstance(data, np.ndarray):
        check_fits(array, wanted)
    value = _value(array, wanted, references if array is data else None)
    return finish(value, requires_grad, device)


def check_fits(numbers: Any, wanted: dtype) -> None:
    """Raise TorchArgumentError for numbers beyond an integer dtype; unsigned ones wrap once."""
    kind = wanted.lazy.numpy
    if kind.kind not in "iu":
        return
    array = np.asarray(numbers)
    if array.dtype == kind or not array.size or array.dtype.kind not in "iuf":
        return
    top = int(np.iinfo(kind).max)
    low, high = float(array.min()), float(array.max())
    if array.dtype.kind != "f":
        low, high = int(array.min()), int(array.max())
    if not ((-top if kind.kind == "u" else -top - 1) <= low and high <= top):
        raise TorchArgumentError(f"value cannot be converted to type {kind} without overflow")


def _value(array: np.ndarray, wanted: dtype, references: int | None) -> Any:
    kind = wanted.lazy
    if array.dtype == kind.numpy:
        return lazyloom.from_host(array, references=references)
    with np.errstate(all="ignore"):
        return lazyloom.from_host(array, dtype=kind)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The tensor itself if it is one of that dtype, otherwise a new one.

    Memory that anybody else can see is never shared: such NumPy arrays are copied.
    """
    references = getrefcount(data)
    if isinstance(data, Tensor):
        if device is not None or chosen:
            data = data.to(current() if device is None else device)
        return data if dtype is None else data.to(_dtypes.as_dtype(dtype))
    return _of_data(data, references, dtype, device)


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor with the data of an array: a copy, or of a temporary its memory.

    Arrays of ``lazyloom_numpy`` are taken, too, as they are: pending ones stay pending. Raises
    TypeError for what is no array.
    """
    references = getrefcount(array)
    if isinstance(array, lazyloom.Tensor) and not isinstance(array, Tensor):
        return finish(own_copy(array)._operand().detach())
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(array)})")
    return _of_data(array, references, None, CPU)


for _function in (tensor, as_tensor, from_numpy):
    # they convert other libraries' tensors themselves: a wrapper would have what it passes on
    _function.__dict__["mixes"] = True


def _array_wrap(
    self: Tensor, array: Any, context: Any = None, return_scalar: bool = False
) -> Tensor:
    """What NumPy's functions of a tensor give: a tensor, of bytes for truth values."""
    return from_numpy(array.astype(np.uint8) if array.dtype == bool else array)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """A tensor of a tensor, an array or nested lists; ``copy`` True for one of its own.

    It requires a gradient if a tensor given does, unless ``requires_grad`` tells; then a leaf
    given is itself told so, and what is no leaf is detached. Raises ValueError for ``copy=False``
    where the data cannot be shared.
    """
    kind = None if dtype is None else _dtypes.as_dtype(dtype)
    if isinstance(obj, Tensor):
        made = obj.clone() if copy else obj
        if device is not None or chosen:
            made = made.to(current() if device is None else device)
        if kind is not None and kind is not made.dtype:
            if copy is False:
                raise ValueError(f"asarray: cannot make {obj.dtype!r} into {kind!r} without a copy")
            made = made.to(kind)
        if requires_grad is None or requires_grad == made.requires_grad:
            return made
        return (made if made.is_leaf else made.detach()).requires_grad_(requires_grad)
    if copy is False:
        raise ValueError("asarray: host data is always copied, copy=False was given")
    return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))


def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    layout: Any = None, pin_memory: bool = False,
) -> Tensor:
    """A 0-d tensor of a number, of the default dtype unless one is given."""
    return tensor(s, dtype=dtype or _dtypes.get_default_dtype(), device=device,
                  requires_grad=requires_grad)


def full_value(shape: tuple[int, ...], number: Any, kind: dtype) -> Any:
    """A constant as a boundary value."""
    return source("full", [scalar(number, kind.lazy)], {"shape": check_shape(shape)})


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None,
) -> Tensor:
    """A tensor filled with a number, whose kind decides the dtype if none is given."""
    _dtypes.check_device(device)
    shape = shape_of((size,) if not isinstance(size, int) else ((size,),))
    if isinstance(fill_value, Tensor):
        kind = fill_value.dtype if dtype is None else _dtypes.as_dtype(dtype)
        value = cast(operand(fill_value), kind.lazy)
        return finish(record("broadcast_to", [value], {"shape": shape}), requires_grad, device)
    kind = number_dtype(fill_value) if dtype is None else _dtypes.as_dtype(dtype)
    check_fits(fill_value, kind)
    return finish(full_value(shape, fill_value, kind), requires_grad, device)


def _constant(name: str, number: int) -> Any:
    def function(
        *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False,
        layout: Any = None, pin_memory: bool = False, **unknown: Any,
    ) -> Tensor:
        if "size" in unknown:
            size = (unknown.pop("size"),)
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(unknown))!r}")
        _dtypes.check_device(device)
        if layout not in (None, strided):
            return _without_elements(name, size, dtype, layout)
        kind = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
        return finish(full_value(shape_of(size), number, kind), requires_grad, device)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A tensor of {'ones' if number else 'zeros'} of the given size."
    return function


def _without_elements(name: str, size: Any, dtype: Any, layout: Any) -> Tensor:
    """A sparse tensor of zeros. RuntimeError for ones."""
    if name == "ones":
        raise RuntimeError(f"ones(): a tensor of layout {layout} is made of zeros only")
    # late: few programs have sparse tensors
    sparse = importlib.import_module(f"{__package__.rpartition('.')[0]}.sparse")
    found: Tensor = sparse.made_empty(size, dtype, layout)
    return found


zeros, ones, empty = _constant("zeros", 0), _constant("ones", 1), _constant("empty", 0)


def check_contents(input: Tensor, name: str) -> None:
    """Raise SparseOperandError for a tensor that has no contents of its own."""
    if input.is_sparse or input._is_dtensor:
        raise SparseOperandError(f"{name}(): a sparse tensor is like zeros only")


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:
    """A constant tensor of the input's shape and, by default, dtype."""
    _dtypes.check_device(device)
    if not isinstance(input, Tensor):
        raise not_a_tensor(input, "full_like(): ")
    if input.slow_path:
        check_contents(input, "full_like")
    kind = input.dtype if dtype is None else _dtypes.as_dtype(dtype)
    made = finish(full_value(input.tensor_type.shape, fill_value, kind), requires_grad,
                  input.device if device is None else device)
    return alike(made, input, memory_format)


def zeros_like(input: Tensor, **options: Any) -> Tensor:
    """Zeros of the input's shape and, by default, dtype."""
    return full_like(input, 0, **options)


def ones_like(input: Tensor, **options: Any) -> Tensor:
    """Ones of the input's shape and, by default, dtype."""
    return full_like(input, 1, **options)


empty_like = zeros_like


def _numbers(values: tuple[Any, ...]) -> list[Any]:
    found = [v.item() if isinstance(v, Tensor) else v for v in values]
    for v in found:
        if not is_number(v):
            raise TypeError(f"expected a number, not {type_name(v)}")
    return found


def _whole(numbers: list[Any], kind: dtype) -> list[Any]:
    """The numbers of a range, whole ones for an integer dtype; RuntimeError for infinite ones."""
    for v in numbers:
        if not math.isfinite(v):
            raise RuntimeError(f"unsupported range: {', '.join(map(repr, numbers))}")
    return numbers if kind.category >= 2 else [int(v) for v in numbers]


def arange(
    start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:
    """Numbers from start up to, not including, end.

    Raises RuntimeError for a step of 0 or away from end, and for infinite numbers.
    """
    _dtypes.check_device(device)
    if end is None:
        start, end = 0, start
    numbers = _numbers((start, end, step))
    if dtype is not None:
        kind = _dtypes.as_dtype(dtype)
    elif all(isinstance(v, (int, np.integer)) for v in numbers):
        kind = _dtypes.int64
    else:
        kind = _dtypes.get_default_dtype()
    first, last, step = numbers
    start, end, whole = _whole(numbers, kind)
    if step == 0 or whole == 0:
        raise TorchArgumentError(
            "step must be nonzero" if step == 0 else
            f"step must be nonzero, but {step} is 0 as a {kind!r}; use a floating-point dtype")
    if kind is _dtypes.int64:
        first, last, step = start, end, whole
    # of other dtypes fractions say how many; what is counted by is a number of the dtype
    length = max(math.ceil((last - first) / step), 0)
    step = whole
    if length == 0 and (last - first) * step < 0:
        raise RuntimeError("upper bound and larger bound inconsistent with step sign")
    return finish(source("arange", [scalar(start, kind.lazy), scalar(step, kind.lazy)],
                         {"length": length}), requires_grad, device)


def range_(
    start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None,
) -> Tensor:
    """Numbers from start up to end, which is one of them if a step reaches it."""
    _dtypes.check_device(device)
    if end is None:
        start, end = 0, start
    kind = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    start, end, step = _whole(_numbers((start, end, step)), kind)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and larger bound inconsistent with step sign")
    return finish(source("arange", [scalar(start, kind.lazy), scalar(step, kind.lazy)],
                         {"length": math.floor((end - start) / step) + 1}), requires_grad,
                  device)


def _ends(name: str, ends: tuple[Any, Any], kind: dtype, wide: dtype) -> list[Any]:
    """The two ends as operands, whole for an integer dtype; RuntimeError for tensors with
    dimensions."""
    found: list[Any] = []
    for end in ends:
        if not isinstance(end, Tensor):
            numbers = _numbers((end,))
            found.append(scalar(int(numbers[0]) if kind.category < 2 else numbers[0], wide.lazy))
            continue
        if end.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got a tensor of "
                f"{end.ndim} dimension(s)")
        value = operand(end).detach()
        found.append(cast(cast(value, kind.lazy) if kind.category < 2 else value, wide.lazy))
    return found


def _spaced(name: str, start: Any, end: Any, steps: int, dtype: Any, wide: Any) -> Any:
    """Evenly spaced numbers, and the dtype that they are wanted in."""
    if not hasattr(steps, "__index__") or isinstance(steps, bool):
        raise TypeError(f"{name}(): steps must be an int, not {type_name(steps)}")
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, but it is {steps}")
    kinds = [number_dtype(x) if not isinstance(x, Tensor) else x.dtype for x in (start, end)]
    kind = _dtypes.as_dtype(dtype) if dtype is not None else _dtypes.get_default_dtype()
    if any(k.is_complex for k in kinds) and not kind.is_complex:
        if dtype is not None:
            raise RuntimeError(f"{name}: the ends are complex, but the dtype given is {kind!r}")
        kind = kind.to_complex()
    wide = wide(kind)
    make = record if any(isinstance(x, Tensor) for x in (start, end)) else source
    return make("linspace", _ends(name, (start, end), kind, wide), {
        "num": steps.__index__(), "endpoint": True}), kind


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:
    """``steps`` numbers from start to end (numbers or 0-d tensors), both included."""
    _dtypes.check_device(device)
    value, kind = _spaced("linspace", start, end, steps, dtype, lambda kind: (
        kind if kind.category >= 2 else _dtypes.float64))
    return finish(cast(value, kind.lazy), requires_grad, device)


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None,
    device: Any = None, requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:
    """``base ** linspace(start, end, steps)``."""
    _dtypes.check_device(device)
    value, kind = _spaced("logspace", start, end, steps, dtype, lambda kind: (
        _dtypes.complex128 if kind.is_complex else _dtypes.float64))
    value = record("power", [scalar(base, value.dtype), value])
    return finish(cast(value, kind.lazy), requires_grad, device)


def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:
    """A tensor of that size, of which ``stride()`` gives those strides. Its elements are 0."""
    shape, strides = shape_of((size,)), shape_of((stride,))
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides "
            f"({len(strides)})")
    if min(strides, default=0) < 0:
        raise RuntimeError(f"strides must not be negative, but are {list(strides)}")
    made: Tensor = empty(shape, dtype=dtype, device=device, requires_grad=requires_grad)
    made._lay(strides, 0)
    return made


def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None, pin_memory: bool = False,
) -> Tensor:
    """A dense tensor whose dimensions follow each other in memory in that order.

    Raises RuntimeError unless the order is a permutation of the dimensions.
    """
    shape, order = shape_of((size,)), shape_of((physical_layout,))
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(
            f"physical_layout must be a permutation of the {len(shape)} dimensions, but is "
            f"{list(order)}")
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d], step = step, step * max(shape[d], 1)
    return empty_strided(shape, tuple(strides), dtype=dtype, device=device,
                         requires_grad=requires_grad)


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, layout: Any = None,
) -> Tensor:
    """Ones on the diagonal, zeros elsewhere."""
    _dtypes.check_device(device)
    kind = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    shape = check_shape((n, n if m is None else m))
    return finish(source("eye", [], {"n": shape[0], "m": shape[1], "k": 0, "dtype": kind.lazy}),
                  requires_grad, device)


def new_tensor(self: Tensor, data: Any, **options: Any) -> Tensor:
    """A tensor of that data with this tensor's dtype."""
    options.setdefault("dtype", self.dtype)
    beside(self, options)
    return tensor(data, **options)


def _new(name: str, make: Any) -> Any:
    def method(self: Tensor, *size: Any, **options: Any) -> Tensor:
        options.setdefault("dtype", self.dtype)
        beside(self, options)
        made: Tensor = make(*size, **options)
        return made

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"``{make.__name__}`` with this tensor's dtype and device."
    return method


new_zeros, new_ones, new_empty, new_full = (
    _new(f"new_{f.__name__}", f) for f in (zeros, ones, empty, full))
new_empty_strided = _new("new_empty_strided", empty_strided)

FUNCTIONS = declare({
    "function out": [
        full, zeros, ones, empty, arange, linspace, logspace, eye, ("range", range_)],
    "function": [
        tensor, as_tensor, asarray, from_numpy, from_dlpack, scalar_tensor, full_like, zeros_like,
        ones_like, ("empty_like", empty_like), empty_strided, empty_permuted],
    "method": [
        new_tensor, new_zeros, new_ones, new_empty, new_full, new_empty_strided,
        ("__array_wrap__", _array_wrap)],
})
