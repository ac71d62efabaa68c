"""Discrete Fourier transforms: ``torch.fft``.

``norm`` says which direction is scaled by the number of points n: "backward" (the default) the
inverse by 1/n, "forward" the forward one by 1/n, "ortho" both by 1/sqrt(n). Integers become the
default dtype; half precision is refused, as PyTorch does on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lazyloom.dtypes import complex64, complex128
from lazyloom.errors import type_name

from . import _dtypes
from ._core import cast, record, scalar
from ._filling import treat as _treat
from ._functions.creation import arange
from ._functions.shaping import roll
from ._placing import placed as _placed
from ._tensor import Tensor, operand

_wrap = Tensor.from_value
_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _norm(name: str, given: Any) -> str:
    found = "backward" if given is None else given
    if found not in _OPPOSITE:
        raise RuntimeError(
            f'{name}: Invalid normalization mode: "{given}", expected "forward", "backward" or '
            '"ortho"')
    return str(found)


def _floating(name: str, x: Tensor) -> Any:
    """The value in a dtype that transforms know."""
    v = operand(x)
    if not v.dtype.is_inexact:
        v = cast(v, _dtypes.get_default_dtype().lazy)
    if v.dtype.itemsize == 2:
        raise RuntimeError(
            f"{name}: Unsupported dtype {_dtypes.of(v.dtype)!r}; convert it with .float()")
    return v


def _complex(v: Any) -> Any:
    return cast(v, complex128 if v.dtype.name in ("float64", "complex128") else complex64)


def _axis(dim: Any, ndim: int) -> int:
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"dim must be an int, not {type_name(dim)}")
    if not -ndim <= dim < ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got "
            f"{dim})")
    return int(dim) % ndim


def _points(name: str, n: int) -> int:
    if n < 1:
        raise RuntimeError(f"{name}: Invalid number of data points ({n}) specified")
    return int(n)


def _fitted(v: Any, axis: int, n: int) -> Any:
    """The value with n points along an axis: cut, or zeros added after it."""
    shape = v.shape
    if shape[axis] == n:
        return v
    rest = (0,) * len(shape)
    high = (*rest[:axis], n - shape[axis], *rest[axis + 1:])
    return record("pad", [v, scalar(0, v.dtype)], {"low": rest, "high": high, "interior": rest})


def _places(name: str, ndim: int, shape: Sequence[int], s: Any, dim: Any, last: int | None = None
            ) -> tuple[tuple[int, ...], list[int]]:
    """The transformed axes and their numbers of points.

    ``last`` is the number of points of the last one if s does not say it.
    """
    sizes = None if s is None else [int(n) for n in ([s] if isinstance(s, int) else s)]
    if dim is not None:
        dims = tuple(_axis(d, ndim) for d in ([dim] if isinstance(dim, int) else dim))
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"{name}: FFT dims must be unique, got {dim}")
    elif sizes is not None:
        if len(sizes) > ndim:
            raise RuntimeError(
                f"{name}: Got shape with {len(sizes)} values but input tensor only has {ndim} "
                "dimensions.")
        dims = tuple(range(ndim - len(sizes), ndim))
    else:
        dims = tuple(range(ndim))
    if sizes is None:
        sizes = [-1] * len(dims)
    if len(sizes) != len(dims):
        raise RuntimeError(
            f"{name}: When given, dim and shape arguments must have the same length, got "
            f"{len(dims)} and {len(sizes)}")
    counts = []
    for i, (d, n) in enumerate(zip(dims, sizes)):
        if n == -1:
            n = last if last is not None and i == len(dims) - 1 else shape[d]
        counts.append(_points(name, n))
    return dims, counts


def _transform(name: str, input: Tensor, s: Any, dim: Any, norm: Any, inverse: bool) -> Tensor:
    v = _complex(_floating(name, input))
    dims, counts = _places(name, input.ndim, v.shape, s, dim)
    for d, n in zip(dims, counts):
        v = _fitted(v, d, n)
    made: Tensor = _wrap(record("fft", [v], {
        "axes": dims, "inverse": inverse, "norm": _norm(name, norm)}))
    return made


def _half(name: str, input: Tensor, s: Any, dim: Any, norm: str) -> Any:
    """The Value of the half of the transform of real numbers."""
    v = _floating(name, input)
    if v.dtype.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {input.dtype!r}")
    dims, counts = _places(name, input.ndim, v.shape, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    for d, n in zip(dims, counts):
        v = _fitted(v, d, n)
    return record("rfft", [v], {"axes": dims, "norm": norm})


def _real(name: str, input: Tensor, s: Any, dim: Any, norm: str, conjugate: bool = False) -> Tensor:
    """Real numbers from the half of their transform."""
    v = _complex(_floating(name, input))
    if conjugate:
        v = record("conj", [v])
    at = _places(name, input.ndim, [max(d, 1) for d in v.shape], s, dim)[0]
    if not at:
        raise RuntimeError(f"{name} must transform at least one axis")
    dims, counts = _places(name, input.ndim, v.shape, s, dim, 2 * (v.shape[at[-1]] - 1))
    for d, n in zip(dims[:-1], counts[:-1]):
        v = _fitted(v, d, n)
    v = _fitted(v, dims[-1], counts[-1] // 2 + 1)
    made: Tensor = _wrap(record("irfft", [v], {
        "axes": dims, "length": counts[-1], "norm": norm}))
    return made



def _single(name: str, n: Any) -> Any:
    return None if n is None else (_points(name, n),)


def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform along a dimension, of n points (cut, or padded with zeros); complex."""
    return _transform("fft", input, _single("fft", n), (dim,), norm, False)


def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of :func:`fft`."""
    return _transform("ifft", input, _single("ifft", n), (dim,), norm, True)


def fft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The transform along two dimensions."""
    return _transform("fft2", input, s, dim, norm, False)


def ifft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of :func:`fft2`."""
    return _transform("ifft2", input, s, dim, norm, True)


def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The transform along several dimensions: the last ``len(s)``, or all."""
    return _transform("fftn", input, s, dim, norm, False)


def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of :func:`fftn`."""
    return _transform("ifftn", input, s, dim, norm, True)


def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform of real numbers, n // 2 + 1 points of it."""
    found: Tensor = _wrap(_half("rfft", input, _single("rfft", n), (dim,), _norm("rfft", norm)))
    return found


def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of :func:`rfft`: n real numbers, by default 2 * (points - 1)."""
    return _real("irfft", input, _single("irfft", n), (dim,), _norm("irfft", norm))


def rfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The transform of real numbers along two dimensions, half of the last."""
    return rfftn(input, s, dim, norm)


def irfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of :func:`rfft2`."""
    return irfftn(input, s, dim, norm)


def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The transform of real numbers along several dimensions, half of the last."""
    found: Tensor = _wrap(_half("rfftn", input, s, dim, _norm("rfftn", norm)))
    return found


def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of :func:`rfftn`."""
    return _real("irfftn", input, s, dim, _norm("irfftn", norm))


def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real transform of a signal that is Hermitian, of which the first half is given."""
    scale = _OPPOSITE[_norm("hfft", norm)]
    return _real("hfft", input, _single("hfft", n), (dim,), scale, True)


def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of :func:`hfft`: the first half of a Hermitian signal."""
    scale = _OPPOSITE[_norm("ihfft", norm)]
    found: Tensor = _wrap(record("conj", [
        _half("ihfft", input, _single("ihfft", n), (dim,), scale)]))
    return found


def hfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """:func:`hfft` along two dimensions."""
    return hfftn(input, s, dim, norm)


def ihfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of :func:`hfft2`."""
    return ihfftn(input, s, dim, norm)


def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """:func:`hfft` along several dimensions."""
    return _real("hfftn", input, s, dim, _OPPOSITE[_norm("hfftn", norm)], True)


def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of :func:`hfftn`."""
    found: Tensor = _wrap(record("conj", [
        _half("ihfftn", input, s, dim, _OPPOSITE[_norm("ihfftn", norm)])]))
    return found


def _floats(dtype: Any) -> Any:
    return _dtypes.get_default_dtype() if dtype is None else dtype


@_placed
def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:
    """The frequencies of the points of :func:`fft`, for samples d apart."""
    places = ((arange(n, dtype=_floats(dtype)) + n // 2) % n - n // 2) * (1.0 / (n * d))
    return places.requires_grad_(requires_grad)


@_placed
def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """The frequencies of the points of :func:`rfft`, for samples d apart."""
    places = arange(n // 2 + 1, dtype=_floats(dtype)) * (1.0 / (n * d))
    return places.requires_grad_(requires_grad)


def _shifted(input: Tensor, dim: Any, sign: int) -> Tensor:
    dims = range(input.ndim) if dim is None else [
        _axis(d, input.ndim) for d in ([dim] if isinstance(dim, int) else dim)]
    sizes = input.tensor_type.shape
    steps = [sizes[d] // 2 if sign > 0 else (sizes[d] + 1) // 2 for d in dims]
    return roll(input, steps, list(dims)) if dims else input.clone()


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The points reordered so that frequency 0 is in the middle."""
    return _shifted(input, dim, 1)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of :func:`fftshift`."""
    return _shifted(input, dim, -1)


_TRANSFORMS = (
    "fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "rfft", "irfft", "rfft2", "irfft2", "rfftn",
    "irfftn", "hfft", "ihfft", "hfft2", "ihfft2", "hfftn", "ihfftn")


_treat(__name__, (*_TRANSFORMS, "fftfreq", "rfftfreq"), dict.fromkeys(_TRANSFORMS, "float32"))
