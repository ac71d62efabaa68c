"""``torch.nn.init``: fill parameters with initial values, in place and without gradient."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import lazyloom

from .. import random
from .._core import record, scalar
from .._functions.creation import eye
from .._grad_mode import no_grad
from .._tensor import Tensor


def _initialiser(function: Callable[..., Any]) -> Callable[..., Tensor]:
    @functools.wraps(function)
    def wrapped(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        with no_grad():
            function(tensor, *args, **kwargs)
        lazyloom.boundary(tensor._storage.value)
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
    kind = tensor._type.dtype
    value = random.drawn(
        "random_truncated_normal",
        [scalar((a - mean) / std, kind), scalar((b - mean) / std, kind)],
        {"shape": tensor._type.shape}, generator)
    scaled = record("multiply", [value, scalar(float(std), kind)])
    tensor._assign(record("add", [scaled, scalar(float(mean), kind)]))


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
    tensor.copy_(eye(*tensor.shape, dtype=tensor.dtype))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps variances through a nonlinearity. Raises ValueError."""
    slope = 0.01 if param is None else param
    gains = {
        "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "sigmoid": 1.0,
        "tanh": 5.0 / 3.0, "relu": math.sqrt(2.0), "selu": 0.75,
        "leaky_relu": math.sqrt(2.0 / (1.0 + slope**2)),
    }
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def fans(tensor: Tensor) -> tuple[int, int]:
    """The numbers of inputs and outputs of a weight of shape (out, in, window...)."""
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = 1
    for d in tensor._type.shape[2:]:
        window *= d
    return tensor._type.shape[1] * window, tensor._type.shape[0] * window


_calculate_fan_in_and_fan_out = fans


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
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = fans(tensor)[0 if mode == "fan_in" else 1]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@_initialiser
def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> None:
    """Uniform with variance ``gain**2 / fan`` (He et al., 2015)."""
    if 0 in tensor.shape:
        return
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    tensor.uniform_(-bound, bound, generator=generator)


@_initialiser
def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> None:
    """Normal with variance ``gain**2 / fan`` (He et al., 2015)."""
    tensor.normal_(0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator=generator)


@_initialiser
def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> None:
    """Orthonormal rows or columns (Saxe et al., 2013), by a QR decomposition."""
    from ..linalg import qr

    rows = tensor.shape[0]
    cols = tensor.numel() // rows
    flat = random.randn(max(rows, cols), min(rows, cols), generator=generator, dtype=tensor.dtype)
    q, r = qr(flat)
    q = q * r.diagonal().sign()
    tensor.copy_((q.t() if rows < cols else q).reshape(tensor.shape) * float(gain))
