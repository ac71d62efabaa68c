"""The NumPy-like frontend's own function for an op of the table.

A function takes the operands (arrays of the frontend) and all attributes of the op, and gives
NotImplemented for attributes that NumPy has no counterpart for. NumPy's sums promote small
integers, so those name the dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

import lazyloom
import lazyloom_numpy as np

Call = Callable[[list[Any], dict[str, Any]], Any]

#: same operands, no attributes: op -> name, itself where empty
_PLAIN = {
    **dict.fromkeys(
        "add subtract multiply divide floor_divide remainder fmod maximum minimum fmax fmin"
        " hypot copysign nextafter logaddexp logaddexp2 heaviside gcd lcm ldexp equal not_equal"
        " less less_equal greater greater_equal logical_and logical_or logical_xor logical_not"
        " bitwise_and bitwise_or bitwise_xor bitwise_not abs negative positive sign square sqrt"
        " cbrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh floor"
        " ceil trunc isnan isinf isfinite signbit real imag conj angle where matmul kron"
        .split(), ""),
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "atan2": "arctan2", "shift_left": "left_shift",
    "shift_right": "right_shift",
}  # fmt: skip


def _plain(op: str, name: str) -> Call:
    function: Any = np
    for part in (name or op).split("."):
        function = getattr(function, part)
    return lambda x, a: function(*x)


def _own_dtype(dtype: Any, x: Any) -> Any:
    return x.dtype if dtype is None else dtype.numpy


def _reduction(name: str) -> Call:
    function = getattr(np, name)
    return lambda x, a: function(x[0], axis=a["axes"], keepdims=a["keepdims"])


def _accumulation(name: str) -> Call:
    function = getattr(np, name)

    def call(x: list[Any], a: dict[str, Any]) -> Any:
        kinds = [onp.dtype(_own_dtype(a["dtype"], x[0])).kind, x[0].dtype.kind]
        if kinds[0] == "b" or kinds[1] == "c" and kinds[0] != "c":
            return NotImplemented
        return function(x[0], axis=a["axes"], dtype=_own_dtype(a["dtype"], x[0]),
                        keepdims=a["keepdims"])

    return call


def _cumulative(name: str) -> Call:
    function = getattr(np, name)

    def call(x: list[Any], a: dict[str, Any]) -> Any:
        if a["reverse"] or x[0].dtype.kind == "b":
            return NotImplemented
        return function(x[0], axis=a["axis"], dtype=x[0].dtype)

    return call


def _spread(name: str) -> Call:
    function = getattr(np, name)
    return lambda x, a: function(
        x[0], axis=a["axes"], ddof=a["correction"], keepdims=a["keepdims"])


def _ascending(name: str) -> Call:
    function = getattr(np, name)
    return lambda x, a: NotImplemented if a["descending"] else function(
        x[0], axis=a["axis"], stable=a["stable"])


def _split(x: list[Any], a: dict[str, Any]) -> Any:
    return np.split(x[0], onp.cumsum(a["sizes"])[:-1].tolist(), axis=a["axis"])


def _slice(x: list[Any], a: dict[str, Any]) -> Any:
    if min(a["strides"] or (), default=1) < 1:
        return NotImplemented  # a negative stop means another place in a Python slice
    strides = a["strides"] or (1,) * x[0].ndim
    return x[0][tuple(map(slice, a["starts"], a["stops"], strides))]


def _in_range(indices: Any, size: int) -> bool:
    known = lazyloom.known_range(indices.value)
    return known is None or (known[0] >= -size and known[1] < size)


def _take(x: list[Any], a: dict[str, Any]) -> Any:
    if x[1].dtype == onp.uint64:
        return NotImplemented  # NumPy refuses the cast
    if x[1].dtype.kind == "u":
        return np.take(x[0], x[1], axis=a["axis"], mode="clip")
    if not _in_range(x[1], x[0].shape[a["axis"]]):
        return NotImplemented  # the op stops at the ends, NumPy raises
    return np.take(x[0], x[1], axis=a["axis"])


def _take_along_axis(x: list[Any], a: dict[str, Any]) -> Any:
    if not _in_range(x[1], x[0].shape[a["axis"]]):
        return NotImplemented
    other = [s.shape[:a["axis"] % s.ndim] + s.shape[a["axis"] % s.ndim + 1:] for s in x]
    if other[0] != other[1]:
        return NotImplemented  # the op cuts, NumPy broadcasts
    return np.take_along_axis(x[0], x[1], axis=a["axis"])


def _linalg(call: Call) -> Call:
    """NumPy's linear algebra is always in double precision, an op in that of its operands."""
    return lambda x, a: NotImplemented if onp.finfo(x[0].dtype).bits < 64 else call(x, a)


def _norm(x: list[Any], a: dict[str, Any]) -> Any:
    if x[0].dtype.itemsize == 2:
        return NotImplemented  # NumPy has no linear algebra of half precision
    return np.linalg.vector_norm(x[0], axis=a["axes"], keepdims=a["keepdims"], ord=a["order"])


NUMPY: dict[str, Call] = {
    **{op: _plain(op, name) for op, name in _PLAIN.items()},
    "round": lambda x, a: np.round(x[0], a["decimals"]),
    "clip": lambda x, a: NotImplemented if x[0].dtype.kind == "b" else np.clip(
        x[0], *[*x[1:], None, None][:2]),
    "nan_to_num": lambda x, a: np.nan_to_num(
        x[0], nan=a["nan"], posinf=a["posinf"], neginf=a["neginf"]),
    # NumPy refuses negative exponents of integers
    "power": lambda x, a: NotImplemented if x[0].dtype.kind == "i" else np.power(*x),
    "integer_power": lambda x, a: NotImplemented if (
        a["exponent"] < 0 and x[0].dtype.kind in "iu") else x[0] ** a["exponent"],
    "cast": lambda x, a: x[0].astype(a["dtype"].numpy),
    **{op: _reduction(op) for op in ("max", "min", "mean", "all", "any", "count_nonzero")},
    **{op: _accumulation(op) for op in ("sum", "prod")},
    **{op: _spread(op) for op in ("var", "std")},
    **{op: _cumulative(op) for op in ("cumsum", "cumprod")},
    "argmax": lambda x, a: np.argmax(x[0], axis=a["axis"], keepdims=a["keepdims"]),
    "argmin": lambda x, a: np.argmin(x[0], axis=a["axis"], keepdims=a["keepdims"]),
    "sort": _ascending("sort"),
    "argsort": _ascending("argsort"),
    "searchsorted": lambda x, a: np.searchsorted(x[0], x[1], side=a["side"])
    if x[0].ndim == 1 else NotImplemented,
    "reshape": lambda x, a: np.reshape(x[0], a["shape"]),
    "transpose": lambda x, a: np.transpose(x[0], a["axes"]),
    "moveaxis": lambda x, a: np.moveaxis(x[0], a["source"], a["destination"]),
    "swapaxes": lambda x, a: np.swapaxes(x[0], a["axis1"], a["axis2"]),
    "squeeze": lambda x, a: np.squeeze(x[0], axis=a["axes"]),
    "expand_dims": lambda x, a: np.expand_dims(x[0], a["axes"]),
    "broadcast_to": lambda x, a: np.broadcast_to(x[0], a["shape"]),
    "concatenate": lambda x, a: np.concatenate(x, axis=a["axis"]),
    "stack": lambda x, a: np.stack(x, axis=a["axis"]),
    "split": _split,
    "flip": lambda x, a: np.flip(x[0], axis=a["axes"]),
    "roll": lambda x, a: np.roll(x[0], a["shifts"], axis=a["axes"]),
    "slice": _slice,
    "repeat": lambda x, a: np.repeat(x[0], a["repeats"], axis=a["axis"]),
    "tile": lambda x, a: np.tile(x[0], a["repeats"]),
    "triu": lambda x, a: np.triu(x[0], a["k"]),
    "tril": lambda x, a: np.tril(x[0], a["k"]),
    "diagonal": lambda x, a: np.diagonal(x[0], a["offset"], a["axis1"], a["axis2"]),
    "take": _take,
    "take_along_axis": _take_along_axis,
    "einsum": lambda x, a: np.einsum(a["equation"], *x),
    "vecdot": lambda x, a: np.vecdot(x[0], x[1], axis=a["axis"]),
    "cross": lambda x, a: np.cross(x[0], x[1], axis=a["axis"]),
    "norm": _norm,
    "outer": lambda x, a: np.outer(*x) if x[0].ndim == x[1].ndim == 1 else NotImplemented,
    "cholesky": _linalg(lambda x, a: np.linalg.cholesky(x[0], upper=a["upper"])),
    **{op: _linalg(_plain(op, f"linalg.{op}")) for op in (
        "solve", "inv", "det", "slogdet", "svdvals")},
    "svd_full": _linalg(_plain("svd_full", "linalg.svd")),
    "eigh": _linalg(lambda x, a: np.linalg.eigh(x[0], "U" if a["upper"] else "L")),
    "eigvalsh": _linalg(lambda x, a: np.linalg.eigvalsh(x[0], "U" if a["upper"] else "L")),
    "pinv": _linalg(lambda x, a: np.linalg.pinv(x[0], rtol=a["rtol"])),
    "qr": _linalg(lambda x, a: np.linalg.qr(x[0], a["mode"])),
    "qr_raw": _linalg(lambda x, a: np.linalg.qr(x[0], "raw")),
    "fft": lambda x, a: (np.fft.ifftn if a["inverse"] else np.fft.fftn)(
        x[0], axes=a["axes"], norm=a["norm"]),
    "rfft": lambda x, a: np.fft.rfftn(x[0], axes=a["axes"], norm=a["norm"]),
    "irfft": lambda x, a: np.fft.irfftn(
        x[0], [*(x[0].shape[i] for i in a["axes"][:-1]), a["length"]], a["axes"], a["norm"]),
    "svd": _linalg(lambda x, a: np.linalg.svd(x[0], full_matrices=False)),
    "matrix_power": _linalg(lambda x, a: np.linalg.matrix_power(x[0], a["exponent"])),
    "eye": lambda x, a: np.eye(a["n"], a["m"], a["k"], dtype=a["dtype"].numpy),
    "full": lambda x, a: np.full(a["shape"], x[0]),
}  # fmt: skip
