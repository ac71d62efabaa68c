"""``torch.nn.init``: fill parameters with initial values, in place and without gradient."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import lazyloom
from lazyloom.frontend import storage_of

from .. import random
from .._core import record, scalar
from .._divided import divided
from .._draws import drawn
from .._functions.creation import eye as identity
from .._functions.creation import tensor as from_array
from .._grad_mode import no_grad
from .._placing import put_beside
from .._tensor import Tensor


def _initialiser(function: Callable[..., Any]) -> Callable[..., Tensor]:
    @functools.wraps(function)
    def wrapped(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        with no_grad():
            if tensor._is_dtensor:
                filled: Tensor = divided["filled"](tensor, function, args, kwargs)
                return filled
            function(tensor, *args, **kwargs)
        lazyloom.boundary(storage_of(tensor).value)
        return tensor

    return wrapped


@_initialiser
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> None:
    """Uniform on [a, b)."""
    tensor.uniform_(a, b, generator=generator)


@_initialiser
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> None:
    """Normal."""
    tensor.normal_(mean, std, generator=generator)


@_initialiser
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Any = None,
) -> None:
    """Normal, limited to [a, b]."""
    kind = tensor.tensor_type.dtype
    value = drawn(
        "random_truncated_normal",
        [scalar((a - mean) / std, kind), scalar((b - mean) / std, kind)],
        {"shape": tensor.tensor_type.shape}, generator)
    scaled = record("multiply", [value, scalar(float(std), kind)])
    tensor._assign(put_beside(record("add", [scaled, scalar(float(mean), kind)]), tensor))


@_initialiser
def constant_(tensor: Tensor, val: float) -> None:
    """One number everywhere."""
    tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1.0)


@_initialiser
def eye_(tensor: Tensor) -> None:
    """The identity matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    tensor.copy_(identity(*tensor.shape, dtype=tensor.dtype))


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor that keeps variances through a nonlinearity. Raises ValueError."""
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    gains = {
        **{f"conv{kind}{n}d": 1 for kind in ("", "_transpose") for n in (1, 2, 3)}, "linear": 1,
        "sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """The numbers of inputs and outputs of a weight of shape (out, in, window...)."""
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.tensor_type.shape[2:])
    return tensor.tensor_type.shape[1] * window, tensor.tensor_type.shape[0] * window


fans = _calculate_fan_in_and_fan_out


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return fans(tensor)[0 if mode.lower() == "fan_in" else 1]


@_initialiser
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> None:
    """Uniform with variance ``gain**2 * 2 / (in + out)`` (Glorot and Bengio, 2010)."""
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    tensor.uniform_(-bound, bound, generator=generator)


@_initialiser
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> None:
    """Normal with variance ``gain**2 * 2 / (in + out)`` (Glorot and Bengio, 2010)."""
    tensor.normal_(0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator=generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


@_initialiser
def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> None:
    """Uniform with variance ``gain**2 / fan`` (He et al., 2015)."""
    if _is_empty(tensor):
        return
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    tensor.uniform_(-bound, bound, generator=generator)


@_initialiser
def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> None:
    """Normal with variance ``gain**2 / fan`` (He et al., 2015)."""
    if _is_empty(tensor):
        return
    tensor.normal_(0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator=generator)


def _is_empty(tensor: Tensor) -> bool:
    if 0 not in tensor.tensor_type.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=4)
    return True


@_initialiser
def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> None:
    """Orthonormal rows or columns (Saxe et al., 2013), by a QR decomposition."""
    from ..linalg import qr

    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return
    rows = tensor.shape[0]
    cols = tensor.numel() // rows
    flat = random.randn(max(rows, cols), min(rows, cols), generator=generator, dtype=tensor.dtype)
    q, r = qr(flat)
    q = q * r.diagonal().sign()
    tensor.copy_((q.t() if rows < cols else q).reshape(tensor.shape) * float(gain))


@_initialiser
def dirac_(tensor: Tensor, groups: int = 1) -> None:
    """The identity as a convolution of (out, in, window...): ones at the windows' centres."""
    shape = tensor.tensor_type.shape
    if len(shape) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    each = shape[0] // groups
    values = np.zeros(shape, np.float32)
    centre = tuple(d // 2 for d in shape[2:])
    for g in range(groups):
        for d in range(min(each, shape[1])):
            values[(g * each + d, d, *centre)] = 1
    tensor.copy_(from_array(values))


@_initialiser
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> None:
    """Normal, with that share of each column zero (Martens, 2010)."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0.0, std, generator=generator)
    if not zeros or not rows:
        return
    # the ranks of random numbers are a random order in each column
    ranks = random.rand(rows, cols, generator=generator).argsort(0).argsort(0)
    tensor.masked_fill_(ranks < zeros, 0.0)


def _older(new: Callable[..., Any]) -> Callable[..., Any]:
    """An initialiser by its older name, without the underscore."""
    name = new.__name__

    def function(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.",
            FutureWarning, stacklevel=2)
        return new(*args, **kwargs)

    function.__name__ = function.__qualname__ = name[:-1]
    function.__doc__ = f":func:`{name}`."
    return function


uniform, normal, constant = _older(uniform_), _older(normal_), _older(constant_)
eye, dirac, sparse = _older(eye_), _older(dirac_), _older(sparse_)
xavier_uniform, xavier_normal = _older(xavier_uniform_), _older(xavier_normal_)
kaiming_uniform, kaiming_normal = _older(kaiming_uniform_), _older(kaiming_normal_)
orthogonal = _older(orthogonal_)

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal",
    "kaiming_normal_", "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_",
    "orthogonal", "orthogonal_", "sparse", "sparse_", "trunc_normal_", "uniform", "uniform_",
    "xavier_normal", "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]
