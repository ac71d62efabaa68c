"""Element types.

The names are those of the Python array API standard, plus ``float16`` and
``bfloat16`` (the StableHLO types ``f16`` and ``bf16``). A :class:`DType` is a
singleton: compare with ``is`` or ``==``.
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

from .compiled import mypyc_attr
from .errors import DTypeError


@mypyc_attr(acyclic=True)
class DType:
    """One element type.

    Attributes:
        name: the array API name, such as ``"float32"``.
        index: a small stable integer, part of the C ABI (``loom_dtype``).
        kind: one of ``"b"`` bool, ``"i"`` signed, ``"u"`` unsigned integer,
            ``"f"`` real floating point, ``"c"`` complex.
        itemsize: bytes per element.
        numpy: the NumPy dtype of the same bits (``ml_dtypes.bfloat16`` for
            ``bfloat16``).
        mlir: the StableHLO element type, such as ``"f32"``.

    Example:

        >>> lazyloom.dtypes.bfloat16.itemsize, lazyloom.dtypes.bfloat16.kind
        (2, 'f')
    """

    __slots__ = ("name", "index", "kind", "itemsize", "numpy", "mlir")

    def __init__(self, name: str, index: int, kind: str, numpy_type: Any, mlir: str) -> None:
        self.name: Final = name
        self.index: Final = index
        self.kind: Final = kind
        self.numpy: Final = np.dtype(numpy_type)
        self.itemsize: Final = int(self.numpy.itemsize)
        self.mlir: Final = mlir

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (dtype_named, (self.name,))

    @property
    def is_floating(self) -> bool:
        """True for real floating-point numbers."""
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        """True for complex numbers."""
        return self.kind == "c"

    @property
    def is_inexact(self) -> bool:
        """True for floating-point and complex numbers."""
        return self.kind == "f" or self.kind == "c"

    @property
    def is_integer(self) -> bool:
        """True for integers, with and without sign; False for bool."""
        return self.kind == "i" or self.kind == "u"

    @property
    def real(self) -> DType:
        """The type of the real part: float32 for complex64, itself if real."""
        if self is complex64:
            return float32
        if self is complex128:
            return float64
        return self


# The index is part of the C ABI: append, never renumber.
bool_ = DType("bool", 1, "b", np.bool_, "i1")
int8 = DType("int8", 2, "i", np.int8, "i8")
int16 = DType("int16", 3, "i", np.int16, "i16")
int32 = DType("int32", 4, "i", np.int32, "i32")
int64 = DType("int64", 5, "i", np.int64, "i64")
uint8 = DType("uint8", 6, "u", np.uint8, "ui8")
uint16 = DType("uint16", 7, "u", np.uint16, "ui16")
uint32 = DType("uint32", 8, "u", np.uint32, "ui32")
uint64 = DType("uint64", 9, "u", np.uint64, "ui64")
float16 = DType("float16", 10, "f", np.float16, "f16")
bfloat16 = DType("bfloat16", 11, "f", ml_dtypes.bfloat16, "bf16")
float32 = DType("float32", 12, "f", np.float32, "f32")
float64 = DType("float64", 13, "f", np.float64, "f64")
complex64 = DType("complex64", 14, "c", np.complex64, "complex<f32>")
complex128 = DType("complex128", 15, "c", np.complex128, "complex<f64>")

ALL: Final[tuple[DType, ...]] = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip

_BY_NAME: Final[dict[str, DType]] = {d.name: d for d in ALL}
_BY_INDEX: Final[dict[int, DType]] = {d.index: d for d in ALL}
_BY_NUMPY: Final[dict[Any, DType]] = {d.numpy: d for d in ALL}

#: Classes of element types that an op's operand may name.
CLASSES: Final[dict[str, frozenset[DType]]] = {
    "any": frozenset(ALL),
    "bool": frozenset({bool_}),
    "number": frozenset(d for d in ALL if d.kind != "b"),
    "real": frozenset(d for d in ALL if d.kind in "iuf"),
    "ordered": frozenset(d for d in ALL if d.kind in "biuf"),
    "floating": frozenset(d for d in ALL if d.kind == "f"),
    "complex": frozenset(d for d in ALL if d.kind == "c"),
    "inexact": frozenset(d for d in ALL if d.kind in "fc"),
    # what linear algebra libraries compute in
    "precise": frozenset({float32, float64, complex64, complex128}),
    "integer": frozenset(d for d in ALL if d.kind in "iu"),
    "signed": frozenset(d for d in ALL if d.kind in "ifc"),
    "bitwise": frozenset(d for d in ALL if d.kind in "biu"),
    "index": frozenset({int32, int64}),
}
CLASSES_SORTED: Final[dict[str, tuple[DType, ...]]] = {
    name: tuple(d for d in ALL if d in members) for name, members in CLASSES.items()
}


def dtype_named(name: str) -> DType:
    """The dtype with that array API name; raises DTypeError if there is none."""
    dtype = _BY_NAME.get(name)
    if dtype is None:
        raise DTypeError(
            f"dtype {name!r} is not known; expected one of {', '.join(_BY_NAME)}"
        )
    return dtype


def dtype_indexed(index: int) -> DType:
    """The dtype with that ``loom_dtype`` number; raises DTypeError if there is none."""
    dtype = _BY_INDEX.get(index)
    if dtype is None:
        raise DTypeError(f"dtype number {index} is not known; expected 1 to {len(ALL)}")
    return dtype


def as_dtype(x: Any) -> DType:
    """The dtype meant by a DType, a name, a NumPy dtype or a NumPy/Python scalar type.

    Python's ``bool``, ``int``, ``float`` and ``complex`` mean ``bool``, ``int64``,
    ``float64`` and ``complex128``, as in NumPy. Raises DTypeError.
    """
    if isinstance(x, DType):
        return x
    if isinstance(x, str) and x in _BY_NAME:
        return _BY_NAME[x]
    try:
        dtype = _BY_NUMPY.get(np.dtype(x).newbyteorder("="))
    except (TypeError, ValueError, SyntaxError):  # the errors of NumPy's parsing of a string
        dtype = None
    if dtype is None:
        raise DTypeError(
            f"dtype {x!r} is not supported; expected one of {', '.join(_BY_NAME)}"
        )
    return dtype
