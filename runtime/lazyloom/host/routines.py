"""Routines that host kernels call beside NumPy's own: XLA's steps, written with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..extension import in_c
from .blocks import in_blocks
from .counting import true_positions
from .functions_on_demand import native_or_kernel
from .indexing import gather, scatter, scatter_rows
from .linalg import cholesky, eig, eigh, lu, pivots_to_permutation, qr, svd, triangular_solve
from .parts import product as product_in_parts
from .special import erf, erf_inv, erfc
from .subnormals import FLUSHED, KEEP_SUBNORMALS, flushing
from .unwritten import later
from .windows import convolution, reduce_window, select_and_scatter
from .writer import DTYPES, SERIAL

Array = Any


def broadcast(x: Array, shape: tuple[int, ...]) -> Array:
    """A new array of that shape."""
    # pages that nobody has written to are not there yet; neither a negative zero nor a subnormal
    # number is one
    if x.ndim == 0 and not x and not x.tobytes().strip(b"\0"):
        return np.zeros(shape, x.dtype)
    found = np.empty(shape, x.dtype)
    found[...] = x
    return found


#: integers of an element's size; elements from which a choice by their bits is quicker
_BITS: Final = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
_MANY: Final = 512


def choose(which: Array, x: Array, y: Array) -> Array:
    """where(which, x, y), which takes five nanoseconds for an element that nobody can foresee.

    So many are chosen by masks of bits.
    """
    kind = _BITS.get(x.dtype.itemsize)
    if which.size < _MANY or kind is None:
        return np.where(which, x, y)
    dtype = x.dtype
    x, y = x.view(kind), y.view(kind)
    mask = which.astype(kind)
    if x.ndim == 0 and not x:
        mask -= kind(1)
        return np.bitwise_and(mask, y).view(dtype)
    np.negative(mask, mask)
    if y.ndim == 0 and not y:
        return np.bitwise_and(mask, x).view(dtype)
    return (((x ^ y) & mask) ^ y).view(dtype)


def sum_over(x: Array, axes: tuple[int, ...], dtype: Any) -> Array:
    """add.reduce over axes, whose error does not grow with the extents of these.

    NumPy adds in pairs along the axis that lies side by side in memory, but row after row to one
    row along others.
    """
    rows = x.size // max(1, x.shape[-1]) if axes[-1] == x.ndim - 1 else x.size
    if rows <= SERIAL:
        return np.add.reduce(x, axes, dtype)
    for before, axis in enumerate(axes):
        x = _sum_along(x, axis - before, dtype)
    return x


def _sum_along(x: Array, axis: int, dtype: Any) -> Array:
    count = x.shape[axis]
    if count <= SERIAL or axis == x.ndim - 1:
        return np.add.reduce(x, axis, dtype)
    blocks = count // SERIAL
    lead = (slice(None),) * axis
    whole = x[(*lead, slice(blocks * SERIAL))].reshape(
        *x.shape[:axis], blocks, SERIAL, *x.shape[axis + 1 :])
    found = _sum_along(np.add.reduce(whole, axis + 1, dtype), axis, dtype)
    if blocks * SERIAL < count:
        found = found + np.add.reduce(x[(*lead, slice(blocks * SERIAL, None))], axis, dtype)
    return found


#: terms from which on a product is summed in blocks, of vectors, whose terms BLAS adds to several
#: sums, and multiplications up to which it is in blocks of ``SERIAL`` terms
_TERMS: Final = 8192
_TERMS_OF_VECTORS: Final = 16384
_MULTIPLICATIONS: Final = 1 << 21
#: as many and more BLAS adds in blocks of its own, to one sum: 640 units off for a million terms
_TERMS_OF_MATRICES: Final = 1 << 17
_BLOCK_OF_MATRICES: Final = 8192
#: of products on several threads, which are added one after the other
_LARGE_BLOCK: Final = 1 << 16
#: the same for a vector by a matrix whose terms do not lie side by side, with fewer than four rows
#: or columns, for each of which BLAS has one sum (0.7 % off for a million terms), and with more
_FEW: Final = 4
_TERMS_OF_FEW, _BLOCK_OF_FEW = 1024, 256
_TERMS_OF_ROWS, _BLOCK_OF_ROWS = 4096, 512


def product_in_blocks(a: Array, b: Array) -> Array:
    """The product of matrices or vectors, whose error does not grow with what is summed over.

    BLAS adds all terms of a small result to one accumulator, one by one.
    """
    terms = a.shape[-1]
    if b.ndim == 1:
        if a.ndim == 1:
            return np.dot(a, b) if terms < _TERMS_OF_VECTORS else _product_by_vector(a, b)
        if a.strides[1] == a.itemsize and a.dtype.kind == "f":
            short = terms < _TERMS or a.size > _MULTIPLICATIONS
            return np.dot(a, b) if short else _product_by_vector(a, b)
        return np.dot(a, b) if terms < _TERMS_OF_FEW else product_in_blocks(a, b[:, None])[:, 0]
    if a.ndim == 1:
        return np.dot(a, b) if terms < _TERMS_OF_FEW else product_in_blocks(a[None], b)[0]
    block = _terms_of_block(a, b)
    if not block:
        return np.matmul(a, b)
    count = terms // block
    whole = count * block
    rows = a[..., :whole].reshape(*a.shape[:-1], count, block).swapaxes(-2, -3)
    columns = b[..., :whole, :].reshape(*b.shape[:-2], count, block, b.shape[-1])
    found = _sum_along(np.matmul(rows, columns), rows.ndim - 3, a.dtype)
    if whole < terms:
        found += np.matmul(a[..., whole:], b[..., whole:, :])
    return found


def product(a: Array, b: Array) -> Array:
    """A product on several threads, of as many terms at once as BLAS adds well."""
    terms = a.shape[-1]
    if terms < _TERMS_OF_MATRICES:
        return product_in_parts(a, b)
    found: Array = product_in_parts(a[..., :_LARGE_BLOCK], b[..., :_LARGE_BLOCK, :])
    for k in range(_LARGE_BLOCK, terms, _LARGE_BLOCK):
        found += product_in_parts(a[..., k : k + _LARGE_BLOCK], b[..., k : k + _LARGE_BLOCK, :])
    return found


def _terms_of_block(a: Array, b: Array) -> int:
    """In blocks of how many terms two matrices are multiplied, 0 for all at once."""
    terms, rows, columns = a.shape[-1], a.shape[-2], b.shape[-1]
    if rows == 1 or columns == 1:
        matrix, axis = (b, -2) if rows == 1 else (a, -1)
        if matrix.strides[axis] != matrix.itemsize:
            few = rows * columns < _FEW
            least, block = ((_TERMS_OF_FEW, _BLOCK_OF_FEW) if few else
                            (_TERMS_OF_ROWS, _BLOCK_OF_ROWS))
            return block if terms >= least else 0
    if terms * rows * columns <= _MULTIPLICATIONS:
        return SERIAL if terms >= _TERMS else 0
    return _BLOCK_OF_MATRICES if terms >= _TERMS_OF_MATRICES else 0


def _product_by_vector(a: Array, b: Array) -> Array:
    blocks = b.size // SERIAL
    whole = blocks * SERIAL
    x = a[..., :whole].reshape(*a.shape[:-1], blocks, SERIAL)
    y = b[:whole].reshape(blocks, SERIAL)
    # vecdot conjugates
    found = np.add.reduce(
        np.einsum("...ij,ij->...i", x, y) if a.dtype.kind == "c" else np.vecdot(x, y), -1)
    return found + np.dot(a[..., whole:], b[whole:]) if whole < b.size else found


def _complex_product(a: Array, b: Array) -> Array:
    """a * b of complex numbers: four products of parts, each rounded before it is added.

    NumPy adds one of two before, where the processor can, so that ``(x + xi) ** 2`` has a real
    part that is not 0, and infinity comes of what is not a number otherwise.
    """
    return make_complex(np.asarray(a.real * b.real - a.imag * b.imag),
                        np.asarray(a.real * b.imag + a.imag * b.real))


def complex_log(x: Array) -> Array:
    """The logarithm of complex numbers; subnormal parts are zeros."""
    found = np.array(x)
    for part in (found.real, found.imag):
        np.multiply(part, 1, part)
    np.log(found, found)
    for part in (found.real, found.imag):
        np.multiply(part, 1, part)
    return found


#: in one pass where functions in C were compiled
complex_product: Final[Callable[..., Any]] = in_c("complex_product", _complex_product)


#: rows from which, and elements of a row up to which, these are better turned into columns
_ROWS: Final = 64
_ROW: Final = 64


def along_rows(function: np.ufunc, x: Array) -> Array:
    """function.reduce(x, -1), for functions that give the same in any order.

    NumPy takes 50 ns for a row beside its elements, and goes through columns side by side.
    """
    size = x.shape[-1]
    if size > _ROW or x.size < size * _ROWS:
        return function.reduce(x, -1)
    columns = np.ascontiguousarray(x.reshape(-1, size).T)
    return function.reduce(columns, 0).reshape(x.shape[:-1])


def accumulate(function: Any, x: Array, axis: int, reverse: bool) -> Array:
    """The sums or products of the first elements, of the first one alone, too.

    Sums of several begin at 0.0, so that none is -0.0.
    """
    if reverse:
        x = np.flip(x, axis)
    found: Array = function.accumulate(x, axis, x.dtype)
    # what is computed of one number is not subnormal, while accumulate() takes it as it is
    first = found[(*([slice(None)] * axis), slice(0, 1))]
    if function is not np.add or x.shape[axis] == 1:
        # in parts: of a complex number, infinity times 0 would be added to the other one
        for part in (first.real, first.imag) if x.dtype.kind == "c" else (first,):
            np.multiply(part, 1, out=part)
    elif x.dtype.kind == "c" or (first == 0).any():
        np.add(found, 0, out=found)
    return np.flip(found, axis) if reverse else found


def _keeps_subnormals(function: Any, dtype: str, *second: float) -> bool:
    """Whether NumPy's function on this processor takes subnormal numbers for more than zeros."""
    x = np.resize(np.array([0.25, -0.25], dtype) * np.finfo(dtype).tiny, 17)
    others = [np.full_like(x, y) for y in second]
    with flushing(), np.errstate(all="ignore"):
        return bool(function(x, *others).tobytes() != function(x * 1, *others).tobytes())


def _flushed(name: str, dtype: str) -> Any:
    """NumPy's function of operands whose subnormal numbers are zeros."""
    function = getattr(np, name)
    if not _keeps_subnormals(function, dtype, *[0.0] * (function.nin - 1)):
        return function

    def of(*operands: Array) -> Array:
        found: Array = function(*[x * 1 for x in operands])
        return found

    return of


def rsqrt(x: Array) -> Array:
    return np.reciprocal(np.sqrt(x))


def logistic(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    if x.ndim == 0:
        return 1 / (1 + np.exp(-x))
    found = np.exp(-x)
    found += 1
    return np.reciprocal(found, found)


def total_order(x: Array) -> Array:
    """Integers in the order that IEEE 754 calls total: -NaN, -inf, ..., -0, 0, ..., inf, NaN."""
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return x
    bits = x.view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def float_sign(x: Array) -> Array:
    """The sign; zeros and NaN are themselves."""
    return np.where((x == 0) | np.isnan(x), x, np.copysign(x.dtype.type(1), x))


def round_away(x: Array) -> Array:
    """To the nearest integer, halves away from zero."""
    whole = np.trunc(x)
    away = np.where(np.abs(x - whole) >= 0.5, x.dtype.type(1), x.dtype.type(0))
    return np.copysign(np.abs(whole) + away, x)


#: dtypes whose powers are C's
_POWERS: Final = [np.dtype(name) for name in FLUSHED if _keeps_subnormals(np.power, name, 0.5)]


def power(x: Array, y: Array) -> Array:
    """IEEE's powers: NumPy may take the square root for the exponent 0.5.

    That is -0.0 of -0.0 and NaN of -inf, of which the powers are 0.0 and inf.
    """
    if y.ndim == 0 and y == 1 or x.dtype in _POWERS:
        x, y = x * 1, y * 1  # subnormal numbers are zeros
    found = np.power(x, y)
    half = y == 0.5
    if np.any(half):
        kind = found.dtype.type
        found = np.where(half & (x == 0), kind(0), found)
        found = np.where(half & (x == -np.inf), kind(np.inf), found)
    if found.dtype == np.float64:
        # what is flushed of C's loses its sign
        lost = (found == 0) & (x < 0)
        if np.any(lost):
            found = np.where(lost & (np.abs(np.fmod(y, 2)) == 1), -0.0, found)
    return found


def integer_power(x: Array, y: int) -> Array:
    """Repeated multiplication, as XLA expands it."""
    if y == 0:
        return np.ones_like(x)
    n = abs(y)
    found = None
    times = complex_product if x.dtype.kind == "c" else np.multiply
    while n:
        if n & 1:
            found = x if found is None else times(found, x)
        n >>= 1
        if n:
            x = times(x, x)
    assert found is not None
    return np.reciprocal(found) if y < 0 else found


def _plain(y: Array) -> bool:
    """Whether a divisor is one number, by which NumPy divides as XLA does."""
    return y.ndim == 0 and bool(y != 0 and (y.dtype.kind == "u" or y != -1))


def int_divide(x: Array, y: Array) -> Array:
    """Towards zero; by zero it is -1 (all bits), and the least by -1 is itself."""
    if _plain(y):
        return x // y if x.dtype.kind == "u" else (x - np.fmod(x, y)) // y
    x, y = np.asarray(x), np.asarray(y)
    zero = y == 0
    if x.dtype.kind == "u":
        ones = np.asarray(-1).astype(x.dtype)
        return np.where(zero, ones, x // np.where(zero, x.dtype.type(1), y))
    by = np.where(zero, x.dtype.type(1), y)
    less = by == -1
    quotient = x // np.where(less, x.dtype.type(1), by)
    rest = x - quotient * by
    quotient = quotient + ((rest != 0) & ((x < 0) != (by < 0)))
    quotient = np.where(less, np.negative(x), quotient)
    return np.where(zero, x.dtype.type(-1), quotient).astype(x.dtype)


def float_remainder(x: Array, y: Array) -> Array:
    """With the sign of the dividend; C's, which knows no subnormal number for a zero."""
    found = np.fmod(x, y * 1)
    return found * 1 if found.ndim == 0 else np.multiply(found, 1, found)


def int_remainder(x: Array, y: Array) -> Array:
    """With the sign of the dividend; by zero it is the dividend."""
    if _plain(y):
        return np.fmod(x, y)
    x, y = np.asarray(x), np.asarray(y)
    zero = y == 0
    by = np.where(zero, x.dtype.type(1), y)
    if x.dtype.kind == "i":
        by = np.where(by == -1, x.dtype.type(1), by)
    return np.where(zero, x, np.fmod(x, by)).astype(x.dtype)


def logical_right_shift(x: Array, y: Array) -> Array:
    x, y = np.asarray(x), np.asarray(y)
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return np.right_shift(x.view(unsigned), y.view(unsigned)).view(x.dtype)


def population_count(x: Array) -> Array:
    x = np.asarray(x)
    return np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype)


def float_to_int(x: Array, dtype: Any) -> Array:
    """Towards zero; what is out of range goes to the nearest, NaN to 0."""
    info = np.iinfo(dtype)
    x = np.asarray(x)
    high = float(info.max)  # 2**63 for int64: what reaches it is out of range
    inside = (x >= float(info.min)) & (x < high if high != info.max else x <= high)
    if inside.all():
        return x.astype(dtype)
    found = np.where(inside, x, 0).astype(dtype)
    found[x >= high] = info.max
    found[x <= float(info.min)] = info.min
    return found


def make_complex(re: Array, im: Array) -> Array:
    re, im = np.broadcast_arrays(re, im)
    found = np.empty(re.shape, np.complex64 if re.dtype == np.float32 else np.complex128)
    found.real = re
    found.imag = im
    return found


def reduce_by(
    function: Any, operands: tuple[Array, ...], starts: tuple[Array, ...], axes: tuple[int, ...]
) -> tuple[Array, ...]:
    """Combine all elements along axes, neighbours first; the function takes and gives arrays."""
    rank = operands[0].ndim
    kept = [d for d in range(rank) if d not in axes]
    shape = tuple(operands[0].shape[d] for d in kept)
    rows = [x.transpose([*axes, *kept]).reshape((-1, *shape)) for x in operands]
    while len(rows[0]) > 1:
        rest = [x[-1:] for x in rows] if len(rows[0]) % 2 else None
        even = len(rows[0]) // 2 * 2
        rows = list(function(*[x[0:even:2] for x in rows], *[x[1:even:2] for x in rows]))
        if rest is not None:
            rows = [np.concatenate((a, b)) for a, b in zip(rows, rest, strict=True)]
    if not len(rows[0]):
        return tuple(broadcast(np.asarray(s), shape) for s in starts)
    given = [broadcast(np.asarray(s), shape) for s in starts]
    return tuple(np.asarray(x) for x in function(*given, *[x[0] for x in rows]))


def pad(x: Array, value: Array, config: Any, shape: tuple[int, ...]) -> Array:
    """XLA's pad: elements added before, after and between; negative ones are cut off."""
    found = np.empty(shape, x.dtype)
    found[...] = value
    if not x.size or not found.size:
        return found
    source, target = [], []
    for n, size, (low, _, between) in zip(x.shape, shape, config, strict=True):
        step = between + 1
        first = max(0, -(low // step)) if low < 0 else 0
        last = min(n - 1, (size - 1 - low) // step)
        if last < first:
            return found
        source.append(slice(first, last + 1))
        start = low + first * step
        target.append(slice(start, low + last * step + 1, step))
    found[tuple(target)] = x[tuple(source)]
    return found


def sort(operands: tuple[Array, ...], axis: int, keys: int) -> tuple[Array, ...]:
    """Stable, by the first operands; NaN last."""
    if len(operands) == 1:
        return (np.sort(operands[0], axis, kind="stable"),)
    if keys == 1:
        order = np.argsort(operands[0], axis, kind="stable")
    else:
        order = np.lexsort(operands[keys - 1::-1], axis)
    return tuple(np.take_along_axis(x, order, axis) for x in operands)


def top_k(x: Array, k: int) -> tuple[Array, Array]:
    """The largest of the last axis, and where they are; equal ones in order.

    NaN comes first, and last where its sign bit is set.
    """
    turned = x[..., ::-1]
    nan = np.not_equal(turned, turned)
    if nan.any():
        sides = np.where(nan, np.where(np.signbit(turned), -1, 1), 0)
        order = np.lexsort((np.where(nan, turned.dtype.type(0), turned), sides), -1)
    else:
        order = np.argsort(turned, -1, kind="stable")
    order = x.shape[-1] - 1 - order[..., ::-1][..., :k]
    return np.take_along_axis(x, order, -1), order


#: by the number of XLA's kind of transform; NumPy imports numpy.fft when it is first asked for
_TRANSFORMS: Final = ("fftn", "ifftn", "rfftn", "irfftn")


def transform(x: Array, kind: int, counts: tuple[int, ...]) -> Array:
    """The transform along the last axes, which have so many points."""
    found: Array = getattr(np.fft, _TRANSFORMS[kind])(x, counts, range(-len(counts), 0))
    return found


def floordiv(a: int, b: int) -> int:
    return a // b


def mod(a: int, b: int) -> int:
    return a % b


_NUMPY: Final = (
    "absolute add arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin array "
    "bitwise_and bitwise_or bitwise_xor cbrt ceil concatenate conjugate cos cosh count_nonzero "
    "divide dot empty equal exp exp2 expm1 floor fmod frombuffer greater greater_equal invert "
    "isfinite left_shift less less_equal log log1p logical_and logical_or logical_xor matmul "
    "maximum minimum multiply negative nextafter not_equal right_shift rint sign sin sinh "
    "sqrt square stack subtract take tan tanh zeros"
).split()

#: what the text of a kernel may refer to
NAMESPACE: Final[dict[str, Any]] = {
    **{name: getattr(np, name) for name in _NUMPY},
    **DTYPES,
    "complex_product": complex_product,
    **{f"flushed_{name}_{dtype}": _flushed(name, dtype)
       for name in KEEP_SUBNORMALS for dtype in FLUSHED},
    **{f.__name__: f for f in (
        accumulate, broadcast, choose, along_rows, sum_over, rsqrt, logistic, float_sign,
        round_away,
        complex_log, integer_power, int_divide, int_remainder, float_remainder, logical_right_shift,
        population_count, float_to_int, make_complex, erf, erfc, erf_inv, pad, reduce_by, sort,
        top_k, gather, scatter, scatter_rows, convolution, reduce_window, select_and_scatter,
        cholesky, eig, eigh, lu, pivots_to_permutation, qr, svd, triangular_solve,
        total_order, in_blocks, product,
        product_in_blocks, floordiv, mod, true_positions, transform, power,
    )},
    "native": native_or_kernel,
    "later": later,
}  # fmt: skip
