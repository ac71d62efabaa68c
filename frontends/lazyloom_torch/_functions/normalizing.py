"""Normalisation of layers, groups, batches and neighbours."""

from __future__ import annotations

from typing import Any

import lazyloom
from lazyloom import Spec
from lazyloom.dtypes import float32, float64
from lazyloom.frontend import write_locks

from .. import _dtypes
from .._core import cast, record, record_spec, scalar, spec
from .._tensor import Tensor, operand
from . import pointwise, reductions

_wrap = Tensor.from_value
_LAYER_NORMS: dict[tuple[int, float], Spec] = {}


def _mixed(input: Tensor, *others: Tensor | None) -> bool:
    """Whether a half-precision input comes with float32 parameters, as PyTorch allows.

    Raises RuntimeError for other dtypes that differ.
    """
    kind = input.tensor_type.dtype
    mixed = False
    for x in others:
        if x is None or x.tensor_type.dtype is kind:
            continue
        if kind.itemsize != 2 or x.tensor_type.dtype is not float32:
            raise RuntimeError(
                f"expected parameters of dtype {input.dtype!r} as the input's, but got {x.dtype!r}")
        mixed = True
    return mixed


def _value(x: Tensor | None, mixed: bool) -> Any:
    if x is None:
        return None
    return cast(operand(x), float32) if mixed else operand(x)


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None,
    bias: Tensor | None = None, eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, then ``* weight + bias``."""
    n = _trailing(input, normalized_shape, "layer_norm")
    kind = input.tensor_type.dtype
    if weight is None or bias is None or weight.tensor_type.dtype is not kind or (
        bias.tensor_type.dtype is not kind):
        mixed = _mixed(input, weight, bias)
        found = record("layer_norm", [
            _value(input, mixed), _value(weight, mixed), _value(bias, mixed)],
            {"normalized_ndim": n, "eps": float(eps)})
        return _wrap(cast(found, kind))
    eps = float(eps)
    ready = _LAYER_NORMS.get((n, eps))
    if ready is None:
        ready = _LAYER_NORMS[n, eps] = spec("layer_norm", 3, {"normalized_ndim": n, "eps": eps})
    return _wrap(record_spec(ready, (operand(input), operand(weight), operand(bias))))


def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The input divided by its root mean square over the last dimensions, times weight.

    ``eps`` is the machine epsilon of the dtype computed in if None.
    """
    n = _trailing(input, normalized_shape, "rms_norm")
    kind = input.tensor_type.dtype
    wide = _dtypes.float64 if kind.itemsize // (1 + kind.is_complex) == 8 else _dtypes.float32
    small = _dtypes.finfo(wide).eps if eps is None else eps
    if kind.is_complex:
        power = pointwise.mul(input, input).mean(tuple(range(-n, 0)), True)
        made = pointwise.mul(input, pointwise.FUNCTIONS["rsqrt"](pointwise.add(power, small)))
        return made if weight is None else pointwise.mul(made, weight)
    mixed = _mixed(input, weight)
    found = record("rms_norm", [_value(input, mixed), _value(weight, mixed)],
                   {"normalized_ndim": n, "eps": float(small)})
    return _wrap(cast(found, kind))


def _trailing(input: Tensor, normalized_shape: Any, name: str) -> int:
    if type(normalized_shape) is not tuple:
        normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else (
            tuple(normalized_shape))
    wanted = normalized_shape
    if not wanted or input.tensor_type.shape[-len(wanted):] != wanted:
        raise RuntimeError(
            f"{name}: given normalized_shape={list(wanted)}, expected input with shape "
            f"[*, {', '.join(map(str, wanted))}], but got input of size {list(input.shape)}")
    return len(wanted)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over groups of channels (dimension 1), then ``* weight + bias``."""
    shape = input.tensor_type.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received "
                           f"{len(shape)}")
    if num_groups <= 0 or shape[1] % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input "
            f"of shape {list(shape)} and num_groups={num_groups}")
    _check_count((shape[0] * shape[1] // num_groups, num_groups, *shape[2:]), shape)
    mixed = _mixed(input, weight, bias)
    found = record("group_norm", [
        _value(input, mixed), _value(weight, mixed), _value(bias, mixed)],
        {"groups": num_groups, "eps": float(eps)})
    return _wrap(cast(found, input.tensor_type.dtype))


def _check_count(sizes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """ValueError where a mean would be of one value."""
    count = sizes[0]
    for s in sizes[2:]:
        count *= s
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(shape)}")


def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
    weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample with mean 0 and variance 1 over its positions.

    Running moments, where given, are updated in place by the means over the samples; without
    ``use_input_stats`` they are what is normalised by.
    """
    shape = input.tensor_type.shape
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if len(shape) < 2:
        raise ValueError(f"instance_norm: expected 2 dimensions or more, got {list(shape)}")
    positions = 1
    for d in shape[2:]:
        positions *= d
    if positions == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {list(shape)}")
    mixed = _mixed(input, weight, bias)
    x = _value(input, mixed)
    parameters = [_value(weight, mixed), _value(bias, mixed)]
    if running_mean is None and running_var is None or not x.type.size:
        found = record("group_norm", [x, *parameters], {"groups": shape[1], "eps": float(eps)})
        return _wrap(cast(found, input.tensor_type.dtype))
    batch, channels = shape[:2]
    rows = record("reshape", [x], {"shape": (1, batch * channels, *shape[2:])})
    y, mean, variance = record("batch_norm_train", [rows, None, None], {"eps": float(eps)})
    y = record("reshape", [y], {"shape": shape})
    for i, value in enumerate(parameters):
        if value is not None:
            wide = record("reshape", [value], {"shape": (channels, *(1,) * (len(shape) - 2))})
            y = record("add" if i else "multiply", [y, wide])
    moments = [record("mean", [record("reshape", [m], {"shape": (batch, channels)})],
                      {"axes": (0,), "keepdims": False}) for m in (mean, variance)]
    _update(running_mean, running_var, moments[0], moments[1], momentum, positions)
    return _wrap(cast(y, input.tensor_type.dtype))


#: the specs of batch normalisation in training, by eps, and of its running moments
_BATCH_NORMS: dict[tuple[float, int], Spec] = {}
_RUNNING: dict[int, Spec] = {}


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
    weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:
    """Normalisation of each channel (dimension 1) over the batch and positions.

    In training with the batch's own moments, which also update the running ones in
    place (the variance unbiased); otherwise with the running ones.
    """
    kind = input.tensor_type.dtype
    mixed = (weight is not None and weight.tensor_type.dtype is not kind
             or running_mean is not None and running_mean.tensor_type.dtype is not kind
             ) and _mixed(input, weight, bias, running_mean, running_var)
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    x, w, b = _value(input, mixed), _value(weight, mixed), _value(bias, mixed)
    shape = x.shape
    if training:
        count = x.type.size // max(shape[1], 1) if len(shape) > 1 else x.type.size
        if count == 1 and x.type.size:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size "
                f"{list(shape)}")
    elif running_mean is None or running_var is None:
        raise RuntimeError("batch_norm: running_mean and running_var are needed in evaluation")
    if not x.type.size:
        return pointwise.copied(operand(input)) if w is None else pointwise.mul(
            input, pointwise._made(record("sum", [w], {})))
    if not training:
        found = record("batch_norm_infer", [
            x, _value(running_mean, mixed), _value(running_var, mixed), w, b],
            {"eps": float(eps)})
        return _wrap(cast(found, kind))
    key = (eps, (w is not None) + 2 * (b is not None))
    ready = _BATCH_NORMS.get(key)
    if ready is None:
        ready = _BATCH_NORMS[key] = spec("batch_norm_train", 3, {"eps": float(eps)})
    y, mean, variance = record_spec(ready, (x, w, b))
    if running_mean is not None or running_var is not None:
        _update(running_mean, running_var, mean, variance, momentum, count)
    return _wrap(y if y.dtype is kind else cast(y, kind))


def _update(
    running_mean: Tensor | None, running_var: Tensor | None, mean: Any, variance: Any,
    momentum: Any, count: int,
) -> None:
    """Move the running moments, in place, towards the batch's."""
    ready = _RUNNING.get(count)
    if ready is None:
        ready = _RUNNING[count] = spec("running_moments", 5, {"num": count})
    given = running_mean if running_mean is not None else running_var
    assert given is not None
    kind = given.tensor_type.dtype
    moved = [r for r in (running_mean, running_var) if r is not None]
    with lazyloom.grad_mode(False), write_locks(moved):
        new = [cast(v, kind) for v in (mean, variance)]
        old = [n if r is None else r.value for r, n in zip(
            (running_mean, running_var), new, strict=True)]
        share = cast(operand(momentum), kind) if isinstance(momentum, Tensor) else (
            scalar(momentum, kind, bake=False))
        fresh = record_spec(ready, (*old, *new, share))
        for running, value in zip((running_mean, running_var), fresh, strict=True):
            if running is not None:
                running._update(value)


def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """The input divided by its norm along a dimension, at least eps."""
    norm = reductions.norm(input, p, dim, True)
    found = pointwise.div(input, pointwise.clamp(norm, min=eps))
    if out is None:
        return found
    if out.shape != found.shape:
        out.resize_(found.shape)
    out.copy_(found)
    return out


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """The input over (k + alpha * mean of squares of ``size`` neighbouring channels) ** beta."""
    v = operand(input)
    rank = len(v.shape)
    if rank < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {rank} dimensions)")
    if not v.type.size:
        return input
    square = record("multiply", [v, v])
    whole = not v.dtype.is_floating
    if whole:
        square = cast(square, float64)
    rest = (0,) * (rank - 2)
    mean = record("avg_pool", [square], {
        "window": (size, *(1,) * (rank - 2)), "padding_low": (size // 2, *rest),
        "padding_high": ((size - 1) // 2, *rest)})
    if whole:  # PyTorch's means of integers are integers
        mean = cast(record("trunc", [mean]), _dtypes.get_default_dtype().lazy)
    scaled = record("add", [record("multiply", [mean, scalar(alpha, mean.dtype)]),
                            scalar(k, mean.dtype)])
    return pointwise.div(input, pointwise.pow(_wrap(scaled), beta))


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (
    layer_norm, rms_norm, group_norm, instance_norm, batch_norm, normalize, local_response_norm)}
