"""Family rules: shapes and dtypes of results, and the errors of what does not fit.

A rule is ``rule(op, types, attrs) -> result types``; ``types`` holds ``None`` for
an optional operand that is absent. Operand counts and dtype classes were checked
before (:meth:`OpDef.check_operands`); a rule checks what relates operands and
attributes to each other. Every message names the op, the argument, what was given
and what is expected. A rule's name is the name of its family, by which
:mod:`lazyloom.ops.samples` finds samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..dtypes import (
    CLASSES,
    DType,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int64,
    uint32,
)
from ..errors import ArgumentError, DTypeError, ShapeError
from ..types import TensorType, tensor_type

if TYPE_CHECKING:
    from .spec import OpDef

Types = tuple[TensorType, ...]
Operands = Sequence[TensorType | None]
Attributes = Mapping[str, Any]
Shape = tuple[int, ...]

# Helpers


def one(shape: Shape, dtype: DType) -> Types:
    """The types of an op with one result."""
    return (tensor_type(shape, dtype),)


def operand(types: Operands, position: int) -> TensorType:
    """The type of an operand that is not optional."""
    found = types[position]
    assert found is not None
    return found


def broadcast_shapes(op: OpDef, types: Operands, positions: Sequence[int] | None = None) -> Shape:
    """The shape that operands broadcast to, by NumPy's rules; absent ones are skipped.

    ``positions`` names the operands that take part, all by default. Raises ShapeError.
    """
    shape: Shape | None = None
    mixed = False
    where = range(len(types)) if positions is None else positions
    for i in where:
        t = types[i] if i < len(types) else None
        if t is None:
            continue
        if shape is None:
            shape = t.shape
        elif t.shape != shape:
            mixed = True
            break
    if not mixed:
        return () if shape is None else shape
    present = [(i, types[i]) for i in where if i < len(types)]
    ndim = max(len(t.shape) for _, t in present if t is not None)
    dims = [1] * ndim
    owner = [""] * ndim
    for i, t in present:
        if t is None:
            continue
        offset = ndim - len(t.shape)
        for j, d in enumerate(t.shape):
            k = offset + j
            if d == 1 or d == dims[k]:
                continue
            if dims[k] != 1:
                named = ", ".join(
                    f"{op.operand_name(n)} {m.shape}" for n, m in present if m is not None)
                raise ShapeError(
                    f"{op.name}: shapes {named} do not broadcast: axis {k - ndim} has size "
                    f"{dims[k]} in {owner[k]!r} and {d} in {op.operand_name(i)!r}; expected equal "
                    "sizes or 1, reshape one of them", op=op.name)
            dims[k] = d
            owner[k] = op.operand_name(i)
    return tuple(dims)


def normalize_axis(op: OpDef, name: str, axis: int, ndim: int) -> int:
    """The axis counted from 0. Raises ArgumentError, naming the attribute ``name``."""
    if -ndim <= axis < ndim:
        return axis + ndim if axis < 0 else axis
    if ndim == 0:
        raise ArgumentError(
            f"{op.name}: attribute {name!r} has {axis}, but the operand is 0-d and has no axis",
            op=op.name)
    raise ArgumentError(
        f"{op.name}: attribute {name!r} has {axis}, expected {-ndim} to {ndim - 1} "
        f"for an operand with {ndim} {'axis' if ndim == 1 else 'axes'}", op=op.name)


def normalize_axes(op: OpDef, name: str, axes: Sequence[int] | None, ndim: int) -> Shape:
    """Axes counted from 0, in the order given; all of them for None.

    Raises ArgumentError for an axis out of range or named twice.
    """
    if axes is None:
        return tuple(range(ndim))
    found = tuple([normalize_axis(op, name, a, ndim) for a in axes])
    if len(set(found)) != len(found):
        raise ArgumentError(
            f"{op.name}: attribute {name!r} is {tuple(axes)}, which names an axis twice; expected "
            "distinct axes", op=op.name)
    return found


def check_sizes(op: OpDef, name: str, sizes: Sequence[int]) -> Shape:
    """Sizes of a shape attribute. Raises ArgumentError for a negative one."""
    for s in sizes:
        if s < 0:
            raise ArgumentError(
                f"{op.name}: attribute {name!r} is {tuple(sizes)}, expected sizes of 0 or more",
                op=op.name)
    return tuple(sizes)


def check_at_least(op: OpDef, name: str, value: int, least: int) -> int:
    """An integer attribute with a lower bound. Raises ArgumentError."""
    if value < least:
        raise ArgumentError(
            f"{op.name}: attribute {name!r} is {value}, expected {least} or more", op=op.name)
    return value


def check_choice(op: OpDef, name: str, value: str, choices: Sequence[str]) -> str:
    """A string attribute that is one of several words. Raises ArgumentError."""
    if value not in choices:
        raise ArgumentError(
            f"{op.name}: attribute {name!r} is {value!r}, expected one of "
            f"{', '.join(map(repr, choices))}", op=op.name)
    return value


def check_ndim(op: OpDef, types: Operands, position: int, ndim: int) -> TensorType:
    """An operand of exactly that number of axes. Raises ShapeError."""
    t = operand(types, position)
    if len(t.shape) != ndim:
        expected = "a 0-d operand" if ndim == 0 else f"{ndim} {'axis' if ndim == 1 else 'axes'}"
        raise ShapeError(
            f"{op.name}: operand {op.operand_name(position)!r} has shape {t.shape}, expected "
            f"{expected}", op=op.name)
    return t


def reduced_shape(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    """A shape with the axes (counted from 0) removed, or left with size 1."""
    if keepdims:
        return tuple([1 if i in axes else d for i, d in enumerate(shape)])
    return tuple([d for i, d in enumerate(shape) if i not in axes])


def complex_of(dtype: DType) -> DType:
    """The complex type of the same precision, single for half precision."""
    return complex128 if dtype is float64 or dtype is complex128 else complex64


def _variable(op: OpDef, types: Operands) -> DType:
    """The dtype of the operands annotated ``T``."""
    for i, t in enumerate(types):
        if t is not None and op.operands[min(i, len(op.operands) - 1)].classes == "T":
            return t.dtype
    return operand(types, 0).dtype


# Elementwise


def elementwise(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Operands broadcast; the result has the dtype of the op's variable ``T``."""
    first = types[0]
    if len(types) == 1 and first is not None:
        return (first,)
    return one(broadcast_shapes(op, types), _variable(op, types))


def comparison(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Operands broadcast; the result is bool."""
    return one(broadcast_shapes(op, types), bool_)


def predicate(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A bool for each element of one operand."""
    return one(operand(types, 0).shape, bool_)


def real_part(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Operands broadcast; a complex dtype gives the dtype of its parts."""
    return one(broadcast_shapes(op, types), _variable(op, types).real)


def complex_pair(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Two float32 operands give complex64, two float64 ones complex128."""
    for i, t in enumerate(types):
        if t is not None and t.dtype is not float32 and t.dtype is not float64:
            raise DTypeError(
                f"{op.name}: operand {op.operand_name(i)!r} has dtype {t.dtype.name}, expected "
                "float32 or float64; cast it first", op=op.name)
    return one(broadcast_shapes(op, types), complex_of(operand(types, 0).dtype))


def approximated(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Elementwise; attribute ``approximate`` is "none" or "tanh"."""
    check_choice(op, "approximate", attrs["approximate"], ("none", "tanh"))
    return elementwise(op, types, attrs)


def chebyshev(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Elementwise; attribute ``kind`` is the letter of a kind of Chebyshev polynomials."""
    check_choice(op, "kind", attrs["kind"], ("t", "u", "v", "w"))
    return elementwise(op, types, attrs)


def orthogonal(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Elementwise; attribute ``kind`` names orthogonal polynomials."""
    check_choice(op, "kind", attrs["kind"],
                 ("hermite_h", "hermite_he", "laguerre_l", "legendre_p"))
    return elementwise(op, types, attrs)


def integral_power(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Elementwise; an integer operand takes no negative ``exponent``."""
    x = operand(types, 0)
    if attrs["exponent"] < 0 and x.dtype.is_integer:
        raise ArgumentError(
            f"{op.name}: attribute 'exponent' is {attrs['exponent']} for operand 'x' of dtype "
            f"{x.dtype.name}, expected 0 or more; cast to a floating-point type first", op=op.name)
    return (x,)


# Reductions: attributes axes: Ints | None, keepdims: bool


def reduction(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes are reduced; the dtype stays."""
    x = operand(types, 0)
    axes = normalize_axes(op, "axes", attrs["axes"], x.ndim)
    return one(reduced_shape(x.shape, axes, attrs["keepdims"]), x.dtype)


def accumulation(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes are reduced; the dtype is attribute ``dtype``, or stays if that is None."""
    x = operand(types, 0)
    axes = normalize_axes(op, "axes", attrs["axes"], x.ndim)
    dtype: DType | None = attrs["dtype"]
    return one(reduced_shape(x.shape, axes, attrs["keepdims"]), x.dtype if dtype is None else dtype)


def _check_nonempty(op: OpDef, shape: Shape, axes: Shape) -> None:
    for a in axes:
        if shape[a] == 0:
            raise ShapeError(
                f"{op.name}: axis {a} of operand 'x' of shape {shape} has size 0, expected 1 or "
                "more: there is no result over nothing", op=op.name)


def extremum(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes of size 1 or more are reduced; the dtype stays."""
    x = operand(types, 0)
    _check_nonempty(op, x.shape, normalize_axes(op, "axes", attrs["axes"], x.ndim))
    return reduction(op, types, attrs)


def real_reduction(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes are reduced; a complex dtype gives the dtype of its parts."""
    found = reduction(op, types, attrs)[0]
    return one(found.shape, found.dtype.real)


def truth_reduction(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes are reduced; the result is bool."""
    return one(reduction(op, types, attrs)[0].shape, bool_)


def count_reduction(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes are reduced; the result is int64."""
    return one(reduction(op, types, attrs)[0].shape, int64)


def arg_reduction(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """An index (int64) along attribute ``axis``, or into the flattened operand for None."""
    x = operand(types, 0)
    axis: int | None = attrs["axis"]
    axes = normalize_axes(op, "axis", None if axis is None else (axis,), x.ndim)
    _check_nonempty(op, x.shape, axes)
    return one(reduced_shape(x.shape, axes, attrs["keepdims"]), int64)


def cumulative(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type; attribute ``axis`` must exist."""
    x = operand(types, 0)
    normalize_axis(op, "axis", attrs["axis"], x.ndim)
    return (x,)


# Casts


def cast(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's shape with attribute ``dtype``."""
    return one(operand(types, 0).shape, attrs["dtype"])


def bitcast(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The same bytes with attribute ``dtype``; a last axis carries the ratio of the sizes."""
    x = operand(types, 0)
    dtype: DType = attrs["dtype"]
    if dtype.itemsize == x.dtype.itemsize:
        return one(x.shape, dtype)
    if dtype.itemsize < x.dtype.itemsize:
        return one((*x.shape, x.dtype.itemsize // dtype.itemsize), dtype)
    ratio = dtype.itemsize // x.dtype.itemsize
    if not x.shape or x.shape[-1] != ratio:
        raise ShapeError(
            f"{op.name}: operand 'x' has shape {x.shape} and dtype {x.dtype.name}, expected a last "
            f"axis of size {ratio} to make one {dtype.name} of", op=op.name)
    return one(x.shape[:-1], dtype)


# Creation


def filled(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``shape`` with the dtype of a 0-d operand."""
    value = check_ndim(op, types, 0, 0)
    return one(check_sizes(op, "shape", attrs["shape"]), value.dtype)


def progression(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``length`` elements with the dtype of the 0-d operands."""
    check_ndim(op, types, 0, 0)
    check_ndim(op, types, 1, 0)
    return one((check_at_least(op, "length", attrs["length"], 0),), operand(types, 0).dtype)


def spaced(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A new first axis of attribute ``num`` before the shape that the operands broadcast to."""
    num = check_at_least(op, "num", attrs["num"], 0)
    return one((num, *broadcast_shapes(op, types)), operand(types, 0).dtype)


def identity_matrix(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attributes ``n`` rows and ``m`` columns (``n`` for None) of attribute ``dtype``."""
    n = check_at_least(op, "n", attrs["n"], 0)
    m = n if attrs["m"] is None else check_at_least(op, "m", attrs["m"], 0)
    return one((n, m), attrs["dtype"])


def counting(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``shape`` of attribute ``dtype``, counted along attribute ``axis``."""
    shape = check_sizes(op, "shape", attrs["shape"])
    normalize_axis(op, "axis", attrs["axis"], len(shape))
    if attrs["dtype"] is bool_:
        raise DTypeError(
            f"{op.name}: attribute 'dtype' is bool, expected a number's; cast the result",
            op=op.name)
    return one(shape, attrs["dtype"])


# Random: the first operand is a key, uint32[2]


def key_pairs(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``num`` new keys."""
    check_key(op, types)
    return one((check_at_least(op, "num", attrs["num"], 0), 2), uint32)


def folded_key(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A new key, made of a key and a 0-d integer."""
    check_key(op, types)
    check_ndim(op, types, 1, 0)
    return one((2,), uint32)


def shuffled_range(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``n`` int64."""
    check_key(op, types)
    return one((check_at_least(op, "n", attrs["n"], 0),), int64)


def random_words(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``shape`` of attribute ``dtype``, which is unsigned."""
    shape = drawn_shape(op, types, attrs)
    dtype: DType = attrs["dtype"]
    if dtype.kind != "u":
        raise DTypeError(
            f"{op.name}: attribute 'dtype' is {dtype.name}, expected uint8, uint16, uint32 or "
            "uint64; bitcast the result for another", op=op.name)
    return one(shape, dtype)


def chosen_class(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``shape`` of int64; operand 1 holds a last axis of logits."""
    check_key(op, types)
    shape = check_sizes(op, "shape", attrs["shape"])
    logits = operand(types, 1)
    if not logits.shape or logits.shape[-1] == 0:
        raise ShapeError(
            f"{op.name}: operand 'logits' has shape {logits.shape}, expected a last axis of size 1 "
            "or more, a class each", op=op.name)
    batch = logits.shape[:-1]
    if shape[len(shape) - len(batch):] != batch or len(shape) < len(batch):
        raise ShapeError(
            f"{op.name}: attribute 'shape' is {shape}, expected it to end in {batch}, the shape of "
            "operand 'logits' without its last axis", op=op.name)
    return one(shape, int64)


def check_key(op: OpDef, types: Operands) -> None:
    """The first operand is a random key: uint32 of shape (2,)."""
    key = operand(types, 0)
    if key.dtype is not uint32 or key.shape != (2,):
        raise ArgumentError(
            f"{op.name}: operand 'key' is {key.text}, expected a random key, uint32[2]", op=op.name)


def drawn_shape(op: OpDef, types: Operands, attrs: Attributes) -> Shape:
    """Attribute ``shape``, to which the parameters after the key must broadcast."""
    check_key(op, types)
    shape = check_sizes(op, "shape", attrs["shape"])
    for i in range(1, len(types)):
        t = types[i]
        if t is not None:
            check_broadcasts(op, i, t.shape, t.shape, shape)
    return shape


def check_broadcasts(
    op: OpDef, position: int, given: Shape, part: Shape, shape: Shape
) -> None:
    """``part`` of the operand's shape ``given`` broadcasts to attribute ``shape``."""
    fits = len(part) <= len(shape) and all(
        d == 1 or d == s for d, s in zip(reversed(part), reversed(shape), strict=False))
    if not fits:
        raise ShapeError(
            f"{op.name}: operand {op.operand_name(position)!r} has shape {given}, which does not "
            f"broadcast to attribute 'shape' {shape}; give the shape that the parameters "
            "broadcast to", op=op.name)


def draw(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Random numbers of attribute ``shape`` with the dtype of the parameters."""
    return one(drawn_shape(op, types, attrs), _variable(op, types))


def typed_draw(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Random numbers of attributes ``shape`` and ``dtype``; parameters have that dtype too."""
    shape = drawn_shape(op, types, attrs)
    dtype: DType = attrs["dtype"]
    if dtype not in CLASSES[op.T]:
        raise DTypeError(
            f"{op.name}: attribute 'dtype' is {dtype.name}, expected a floating-point type; cast "
            "the result for another", op=op.name)
    for i in range(1, len(types)):
        t = types[i]
        if t is not None and t.dtype is not dtype:
            raise DTypeError(
                f"{op.name}: operand {op.operand_name(i)!r} has dtype {t.dtype.name}, expected "
                f"{dtype.name} as attribute 'dtype' says; cast it first", op=op.name)
    return one(shape, dtype)


def truth_draw(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Random bools of attribute ``shape``."""
    return one(drawn_shape(op, types, attrs), bool_)


def count_draw(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Random int64 of attribute ``shape``."""
    return one(drawn_shape(op, types, attrs), int64)


def class_counts(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``shape`` and a last axis of int64, that of operand 2: a class each."""
    check_key(op, types)
    shape = check_sizes(op, "shape", attrs["shape"])
    number, classes = operand(types, 1), operand(types, 2)
    name = op.operand_name(2)
    if not classes.shape or classes.shape[-1] == 0:
        raise ShapeError(
            f"{op.name}: operand {name!r} has shape {classes.shape}, expected a last axis of size "
            "1 or more, a class each", op=op.name)
    check_broadcasts(op, 1, number.shape, number.shape, shape)
    check_broadcasts(op, 2, classes.shape, classes.shape[:-1], shape)
    return one((*shape, classes.shape[-1]), int64)
