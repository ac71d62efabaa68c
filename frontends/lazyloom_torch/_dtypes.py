"""dtype, device and Size objects, and numerical limits, with PyTorch's names."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import lazyloom
from lazyloom import dtypes as _lz
from lazyloom.errors import type_name

_REPR_ALIASES = {"bool": "bool"}


class dtype:  # noqa: N801  (PyTorch's name)
    """An element type, such as ``torch.float32``; a singleton, compare with ``is``.

    Attributes:
        lazy: the runtime's :class:`lazyloom.dtypes.DType`.
        is_floating_point, is_complex, is_signed, itemsize: as in PyTorch.
    """

    __slots__ = ("lazy", "name", "is_floating_point", "is_complex", "is_signed", "itemsize",
                 "category")

    def __init__(self, lazy: _lz.DType) -> None:
        self.lazy = lazy
        self.name = lazy.name
        self.is_floating_point = lazy.kind == "f"
        self.is_complex = lazy.kind == "c"
        self.is_signed = lazy.kind not in "bu"
        self.itemsize = lazy.itemsize
        #: 0 bool, 1 integer, 2 floating, 3 complex: the categories of type promotion
        self.category = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}[lazy.kind]

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_dtype_named, (self.name,))

    def to_complex(self) -> dtype:
        """The complex type whose parts have this type."""
        return complex128 if self is float64 else complex64

    def to_real(self) -> dtype:
        """The type of the real part."""
        return of(self.lazy.real)


bool_ = dtype(_lz.bool_)
int8, int16, int32, int64 = (dtype(d) for d in (_lz.int8, _lz.int16, _lz.int32, _lz.int64))
uint8, uint16, uint32, uint64 = (dtype(d) for d in (_lz.uint8, _lz.uint16, _lz.uint32, _lz.uint64))
float16, bfloat16, float32, float64 = (
    dtype(d) for d in (_lz.float16, _lz.bfloat16, _lz.float32, _lz.float64))
complex64, complex128 = dtype(_lz.complex64), dtype(_lz.complex128)

ALL = (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
       float16, bfloat16, float32, float64, complex64, complex128)
_BY_NAME = {d.name: d for d in ALL}
_BY_INDEX: list[Any] = [None] * (1 + max(d.lazy.index for d in ALL))
for _d in ALL:
    _BY_INDEX[_d.lazy.index] = _d

#: names bound in the torch namespace
NAMES: dict[str, dtype] = {d.name: d for d in ALL} | {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32,
    "long": int64, "cfloat": complex64, "cdouble": complex128,
}


def _dtype_named(name: str) -> dtype:
    return _BY_NAME[name]


def of(lazy: _lz.DType) -> dtype:
    """The torch dtype of a runtime dtype."""
    found: dtype = _BY_INDEX[lazy.index]
    return found


def as_dtype(given: Any) -> dtype:
    """The dtype meant by a torch dtype, a runtime dtype or ``float``/``int``/``bool``/``complex``.

    Raises TypeError for anything else.
    """
    if isinstance(given, dtype):
        return given
    if isinstance(given, _lz.DType):
        return of(given)
    if given is float:
        return float64
    if given is int:
        return int64
    if given is bool:
        return bool_
    if given is complex:
        return complex128
    if type_name(given) == "torch.dtype":  # PyTorch's own
        found = NAMES.get(str(given).removeprefix("torch."))
        if found is not None:
            return found
    raise TypeError(
        f"dtype must be a lazyloom_torch.dtype, such as lazyloom_torch.float32, not the "
        f"{type_name(given)} {given!r}")


_default: list[dtype] = [float32]


def get_default_dtype() -> dtype:
    """The dtype of floating-point results that nothing else determines."""
    return _default[0]


def set_default_dtype(d: dtype) -> None:
    """Set the default floating-point dtype. Raises TypeError for another kind of dtype."""
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, not {d!r}")
    _default[0] = d


#: eps, max and smallest normal number of dtypes that NumPy does not know
_LIMITS = {
    "bfloat16": (2.0**-7, (2.0 - 2.0**-7) * 2.0**127, 2.0**-126),
    "float8_e4m3fn": (2.0**-3, 448.0, 2.0**-6), "float8_e4m3fnuz": (2.0**-3, 240.0, 2.0**-7),
    "float8_e5m2": (2.0**-2, 57344.0, 2.0**-14), "float8_e5m2fnuz": (2.0**-3, 57344.0, 2.0**-15),
}


class finfo:  # noqa: N801
    """Limits of a floating-point dtype: eps, max, min, tiny, smallest_normal, resolution, bits."""

    def __init__(self, type: dtype | None = None) -> None:
        type = _default[0] if type is None else type
        if not isinstance(type, dtype) or type.category < 2:
            raise TypeError(f"torch.finfo() requires a floating point dtype, not {type!r}")
        self.dtype = type.name
        if type.name in _LIMITS:
            self.bits, self.eps = 8 * type.itemsize, _LIMITS[type.name][0]
            self.max, self.tiny = _LIMITS[type.name][1:]
            self.min, self.resolution = -self.max, 0.01 if type is bfloat16 else 1.0
        else:
            info = np.finfo(type.lazy.real.numpy)
            self.bits, self.eps, self.resolution = info.bits, float(info.eps), float(
                info.resolution)
            self.max, self.min, self.tiny = float(info.max), float(info.min), float(info.tiny)
        self.smallest_normal = self.tiny

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
                f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
                f"dtype={self.dtype})")


class iinfo:  # noqa: N801
    """Limits of an integer dtype: bits, max, min."""

    def __init__(self, type: dtype) -> None:
        if not isinstance(type, dtype) or type.category != 1:
            raise TypeError(f"torch.iinfo() requires an integer dtype, not {type!r}")
        info = np.iinfo(type.lazy.numpy)
        self.dtype = type.name
        self.bits, self.min, self.max = int(info.bits), int(info.min), int(info.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


#: kinds of devices that can be named, though tensors live on the first alone
_KINDS = ("cpu", "cuda", "mps", "xpu", "meta", "xla", "hpu", "mtia", "mkldnn", "privateuseone")


class device:  # noqa: N801
    """Where a tensor lives. Others than ``"cpu"`` can be named and compared, not used.

    Where JAX_NUM_CPU_DEVICES divides the processor, ``"cpu:3"`` is one of its parts. In a ``with``
    block of a device, new tensors of the thread are there.

    Raises RuntimeError for a name that PyTorch does not know.
    """

    __slots__ = ("type", "index")
    type: str
    index: int | None

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        if isinstance(type, device):
            given: device = type
            type, index = given.type, given.index
        if isinstance(type, int):
            type, index = "cuda", type
        name, _, number = str(type).partition(":")
        if name not in _KINDS or (number and not number.isdigit()):
            raise RuntimeError(
                f"Expected one of {', '.join(_KINDS)} device type at start of device string: "
                f"{str(type)!r}")
        self.type = name
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        at = f", index={self.index}" if self.index is not None else ""
        return f"device(type='{self.type}'{at})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __enter__(self) -> device:
        """From here on it is this thread's default device: :mod:`lazyloom_torch._placing`."""
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        """The default device is what it was."""
        raise NotImplementedError


#: the default generator, put here where it is made
generators: list[Any] = []


CPU = device("cpu")


def placed_on(given: Any) -> str | None:
    """The name of the device that is meant; None for the default one.

    Raises RuntimeError where there is no such device.
    """
    asked = device(str(given) if type_name(given) == "torch.device" else given)
    if asked.type == "cpu":
        # cpu:0 is the default one in almost every process, and to ask starts XLA's client
        if not (asked.index or asked.index == 0 and os.environ.get("LAZYLOOM_DEVICE")):
            return None
        there = lazyloom.devices()
        if str(asked) in there:
            return None if str(asked) == lazyloom.default_device() else str(asked)
        raise RuntimeError(
            f"device {str(asked)!r} is not available, expected 'cpu' or one of {', '.join(there)}; "
            "the environment variable JAX_NUM_CPU_DEVICES, set before the first value is computed, "
            "divides the processor into several")
    raise RuntimeError(
        f"device {str(asked)!r} is not available: lazyloom_torch runs on 'cpu'; leave the device "
        "out or pass 'cpu'")


def device_of(tensor: lazyloom.Tensor) -> device:
    """Where a tensor lives: the CPU, or one of the devices that it is divided into."""
    location = location_of(tensor.tensor_type)
    return CPU if location == "cpu" else device(location)


def location_of(kind: lazyloom.TensorType) -> str:
    """What files say of where a tensor is: "cpu" on the default device or a mesh, or "cpu:3"."""
    placement = kind.placement
    return "cpu" if placement.is_default or placement.mesh is not None else placement.device


def check_device(given: Any) -> None:
    """Raise RuntimeError unless it is None or a device that tensors can be on."""
    if given is not None and given is not CPU:
        placed_on(given)


class Size(tuple):  # type: ignore[type-arg]
    """A shape: a tuple of ints that prints as ``torch.Size([...])``."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        n = 1
        for d in self:
            n *= d
        return n

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size((*other, *self))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__
