"""Discrete Fourier transforms along any axes, as many of them as there are.

``norm`` says which direction is scaled by the number of points n: ``"backward"`` the
inverse by 1/n, ``"forward"`` the forward one by 1/n, ``"ortho"`` both by 1/sqrt(n).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ._helpers import all_axes, is_half
from ._jax import jnp, lax
from .cases import Cases, case
from .kinds import Array, Ints, T
from .rules import fft as rules
from .spec import op
from .traits import HEAVY, Derivative

#: XLA transforms up to three axes at a time
_AT_ONCE = 3


@op(
    rules.transform, T="complex", source="NumPy fft.fftn", execution=HEAVY, tolerance=16.0,
    samples=Cases(
        case((2, 6), axes=(1,)), case((3, 4), axes=(0,), inverse=True),
        case((2, 3, 2), axes=(0, 2), norm="ortho"), case((4,), axes=(-1,), norm="forward"),
        case((5,), axes=(0,), inverse=True, norm="forward"),
        case((2, 3, 2, 2), axes=(3, 0, 1, 2)), case((0, 3), axes=(1,)), case((2,), axes=()),
        case((1,), axes=(0,)), case((7,), axes=(0,), inverse=True, norm="ortho"), each=2),
    derivative=Derivative(linear="x"),
)  # fmt: skip
def fft(x: T, *, axes: Ints, inverse: bool = False, norm: str = "backward") -> Array:
    """The discrete Fourier transform along the axes, or the inverse one.

    ``y[k] = sum(x[j] * exp(-2i pi j k / n))`` along each axis of n points, with plus in
    the exponent for the inverse. Raises ShapeError for an axis without points,
    ArgumentError, DTypeError.
    """
    axes = all_axes(x, axes)
    return _scaled(_complex(x, axes, inverse), tuple(x.shape[a] for a in axes), inverse, norm)


@op(
    rules.half_spectrum, T="floating", source="NumPy fft.rfftn", execution=HEAVY, tolerance=16.0,
    samples=Cases(
        case((2, 6), axes=(1,)), case((3, 5), axes=(0,), norm="ortho"),
        case((2, 3, 4), axes=(2, 0), norm="forward"), case((2, 2, 3, 2), axes=(0, 1, 3, 2)),
        case((0, 3), axes=(1,)), case((1,), axes=(0,)), each=2), derivative=Derivative(linear="x"),
)  # fmt: skip
def rfft(x: T, *, axes: Ints, norm: str = "backward") -> Array:
    """The Fourier transform of real numbers: the half of it that tells the other.

    Along the last of the axes there are n // 2 + 1 points, of 0 and the positive
    frequencies. Half precision is computed in float32. Raises ShapeError for an axis
    without points, ArgumentError, DTypeError.
    """
    axes = all_axes(x, axes)
    counts = tuple(x.shape[a] for a in axes)
    if is_half(x):
        x = lax.convert_element_type(x, jnp.float32)
    if x.size:
        y = _at_the_end(x, axes[-1:], lambda v: lax.fft(v, lax.FftType.RFFT, counts[-1:]))
        y = _complex(y, axes[:-1], False)
    else:
        shape = [n // 2 + 1 if i == axes[-1] else n for i, n in enumerate(x.shape)]
        y = lax.full(shape, 0, jnp.complex64 if x.dtype.itemsize == 4 else jnp.complex128)
    return _scaled(y, counts, False, norm)


@op(
    rules.real_signal, T="complex", source="NumPy fft.irfftn", execution=HEAVY, tolerance=16.0,
    samples=Cases(
        case((2, 4), axes=(1,), length=6), case((3, 2), axes=(0,), length=5, norm="ortho"),
        case((2, 3, 3), axes=(0, 2), length=4, norm="forward"),
        case((2, 2, 3, 2), axes=(0, 1, 3, 2), length=4), case((0, 2), axes=(1,), length=3),
        case((1,), axes=(0,), length=1), each=2), derivative=Derivative(linear="x"),
)  # fmt: skip
def irfft(x: T, *, axes: Ints, length: int, norm: str = "backward") -> Array:
    """The inverse of ``rfft``: real numbers, ``length`` along the last of the axes.

    There the operand has length // 2 + 1 points; imaginary parts that a real signal
    cannot have count as 0. Raises ShapeError, ArgumentError, DTypeError.
    """
    axes = all_axes(x, axes)
    counts = (*(x.shape[a] for a in axes[:-1]), length)
    if x.size:
        y = _complex(x, axes[:-1], True)
        y = _at_the_end(y, axes[-1:], lambda v: lax.fft(v, lax.FftType.IRFFT, (length,)))
    else:
        shape = [length if i == axes[-1] else n for i, n in enumerate(x.shape)]
        y = lax.full(shape, 0, jnp.float32 if x.dtype.itemsize == 8 else jnp.float64)
    return _scaled(y, counts, True, norm)


def _complex(x: Array, axes: Sequence[int], inverse: bool) -> Array:
    if not x.size:
        return x
    kind = lax.FftType.IFFT if inverse else lax.FftType.FFT
    for first in range(0, len(axes), _AT_ONCE):
        group = axes[first:first + _AT_ONCE]
        counts = tuple(x.shape[a] for a in group)

        def transform(v: Array, counts: Sequence[int] = counts) -> Array:
            return lax.fft(v, kind, counts)

        x = _at_the_end(x, group, transform)
    return x


def _at_the_end(x: Array, axes: Sequence[int], function: Callable[[Array], Array]) -> Array:
    """Apply a function to the array with these axes moved to the end, and move them back."""
    order = [*(i for i in range(x.ndim) if i not in axes), *axes]
    if order == list(range(x.ndim)):
        return function(x)
    back = sorted(range(x.ndim), key=order.__getitem__)
    return lax.transpose(function(lax.transpose(x, order)), back)


def _scaled(y: Array, counts: Sequence[int], inverse: bool, norm: str) -> Array:
    """The result scaled according to ``norm``; XLA has scaled inverse transforms by 1/n."""
    n = math.prod(counts)
    if norm == "ortho":
        factor = math.sqrt(n) if inverse else 1 / math.sqrt(n)
    elif norm == "forward":
        factor = float(n) if inverse else 1 / n
    else:
        return y
    return lax.mul(y, lax.full_like(y, factor))
