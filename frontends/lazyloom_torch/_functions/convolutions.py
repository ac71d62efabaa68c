"""Linear maps and convolutions, their transposes, and windows as columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyloom import Spec

from .._autocast import casting, lowered
from .._core import record, record_one, record_two, spec
from .._out import compute_into
from .._tensor import Tensor, operand
from . import pointwise
from .spatial import batched, finish, hashable, ntuple, product, same_dtype

_wrap = Tensor.from_value
_ADD = spec("add", 2)
#: the spec of the product by the types of input and weight
_linears: dict[Any, Spec] = {}


def linear(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """``input @ weight.T + bias`` for weight (out, in), recorded as one dot_general."""
    if casting:
        input, weight, bias = lowered(input, weight, bias)
    if out is not None:
        return compute_into(out, linear, input, weight, bias)
    x, w = operand(input), operand(weight)
    plan = _linears.get((x.type, w.type))
    if plan is None:
        plan = _linears[x.type, w.type] = _linear_spec(x, w, input, weight)
    found = record_two(plan, x, w)
    if bias is None:
        return _wrap(found)
    b = operand(bias)
    if b.dtype is not x.dtype:
        raise RuntimeError(
            f"linear: the bias has dtype {bias.dtype!r}, expected {input.dtype!r} as the input's")
    if len(w.type.shape) == 1:
        raise RuntimeError("linear: a weight of 1 dimension takes no bias")
    return _wrap(record_two(_ADD, found, b))


def _linear_spec(x: Any, w: Any, input: Tensor, weight: Tensor) -> Spec:
    if x.dtype is not w.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {input.dtype!r} and {weight.dtype!r}")
    if not x.shape or len(w.shape) not in (1, 2) or x.shape[-1] != w.shape[-1]:
        raise RuntimeError(
            f"linear: mat1 and mat2 shapes cannot be multiplied: input {list(x.shape)}, weight "
            f"{list(w.shape)}, expected equal last dimensions")
    return spec("dot_general", 2, {
        "lhs_contract": (len(x.shape) - 1,), "rhs_contract": (len(w.shape) - 1,), "lhs_batch": (),
        "rhs_batch": ()})


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2`` for each output k; weight is (out, in1, in2)."""
    a, b, w = operand(input1), operand(input2), operand(weight)
    if len(w.shape) != 3 or not a.shape or a.shape[:-1] != b.shape[:-1] or (
        a.shape[-1], b.shape[-1]) != w.shape[1:]:
        raise RuntimeError(
            f"bilinear: inputs {list(a.shape)} and {list(b.shape)} do not fit the weight "
            f"{list(w.shape)}, expected equal leading dimensions and the last ones as the "
            "weight's (out, in1, in2)")
    made: Tensor = _wrap(record("einsum", [a, w, b], {"equation": "...i,kij,...j->...k"}))
    return made if bias is None else pointwise.add(made, bias)


def _checked(name: str, stride: tuple[int, ...], padding: tuple[int, ...],
             dilation: tuple[int, ...], groups: Any) -> None:  # fmt: skip
    if any(p < 0 for p in padding):
        raise RuntimeError(f"{name}: negative padding is not supported, got {list(padding)}")
    if any(s <= 0 for s in stride):
        raise RuntimeError(f"{name}: non-positive stride is not supported, got {list(stride)}")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"{name}: dilation should be greater than zero, got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError(f"{name}: non-positive groups is not supported, got {groups}")


def _check_bias(name: str, input: Tensor, bias: Tensor, outputs: int) -> None:
    if bias.tensor_type.shape != (outputs,):
        raise RuntimeError(
            f"{name}: expected bias to be 1-dimensional with {outputs} elements, but got bias of "
            f"size {list(bias.shape)}")
    same_dtype(name, input, bias)


class _Plan:
    """What is recorded for a convolution of operands of these types."""

    __slots__ = ("batched", "main", "bias")

    def __init__(self, batched: bool, main: Spec, outputs: int, n: int) -> None:
        self.batched = batched
        self.main = main
        self.bias = spec("reshape", 1, {"shape": (outputs, *(1,) * n)})


def _recorded(
    plan: _Plan, name: str, input: Tensor, x: Any, w: Any, bias: Tensor | None, n: int
) -> Tensor:
    if not plan.batched:
        x = batched(x, n, name)[0]
    found = record_two(plan.main, x, w)
    if bias is not None:
        kind = bias.tensor_type
        if kind.shape != (found.type.shape[1],) or kind.dtype is not x.type.dtype:
            _check_bias(name, input, bias, found.type.shape[1])
        found = record_two(_ADD, found, record_one(plan.bias, operand(bias)))
    return _wrap(found) if plan.batched else finish(found, False)


def _conv(n: int) -> Callable[..., Tensor]:
    name = f"conv{n}d"
    plans: dict[Any, _Plan] = {}

    def function(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1,
    ) -> Tensor:
        if casting:
            input, weight, bias = lowered(input, weight, bias)
        x, w = operand(input), operand(weight)
        if type(stride) is list or type(padding) is list or type(dilation) is list:
            stride, padding, dilation = map(hashable, (stride, padding, dilation))
        key = (x.type, w.type, stride, padding, dilation, groups)
        plan = plans.get(key)
        if plan is None:
            plan = plans[key] = make(input, weight, stride, padding, dilation, groups)
        return _recorded(plan, name, input, x, w, bias, n)

    def make(
        input: Tensor, weight: Tensor, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> _Plan:
        same_dtype(name, input, weight)
        x, w = input.tensor_type.shape, weight.tensor_type.shape
        whole = len(x) == n + 2
        if len(x) not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got "
                f"input of size: {list(x)}")
        if len(w) != n + 2:
            raise RuntimeError(
                f"{name}: expected a weight of {n + 2} dimensions, but got weight of size "
                f"{list(w)}")
        away, steps = ntuple(dilation, n, "dilation"), ntuple(stride, n, "stride")
        if isinstance(padding, str):
            low, high = _named(name, padding, steps, away, w[2:])
        else:
            low = high = ntuple(padding, n, "padding")
        _checked(name, steps, low, away, groups)
        if w[0] < groups:
            raise RuntimeError(
                f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, "
                f"but got weight of size {list(w)} instead")
        channels = x[-n - 1]
        if channels != w[1] * groups:
            raise RuntimeError(
                f"Given groups={groups}, weight of size {list(w)}, expected input{list(x)} to "
                f"have {w[1] * groups} channels, but got {channels} channels instead")
        return _Plan(whole, spec("conv", 2, {
            "strides": steps, "padding_low": low, "padding_high": high, "dilation": away,
            "groups": groups}), w[0], n)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Convolution of input (N, C, {n} spatial dimensions) with weight (O, C / "\
        "groups, ...); padding may be numbers, 'same' or 'valid'."
    return function


def _named(
    name: str, padding: str, stride: tuple[int, ...], dilation: tuple[int, ...],
    window: tuple[int, ...],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The padding before and after that "same" or "valid" means."""
    if padding == "valid":
        return (0,) * len(window), (0,) * len(window)
    if padding != "same":
        raise RuntimeError(
            f"{name}: Invalid padding string {padding!r}, expected 'same' or 'valid'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, window, strict=True)]
    low = tuple(t // 2 for t in total)
    return low, tuple(t - a for t, a in zip(total, low, strict=True))


def _conv_transpose(n: int) -> Callable[..., Tensor]:
    name = f"conv_transpose{n}d"
    plans: dict[Any, _Plan] = {}

    def function(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Tensor:
        if casting:
            input, weight, bias = lowered(input, weight, bias)
        x, w = operand(input), operand(weight)
        stride, padding, output_padding, dilation = map(
            hashable, (stride, padding, output_padding, dilation))
        key = (x.type, w.type, stride, padding, output_padding, dilation, groups)
        plan = plans.get(key)
        if plan is None:
            plan = plans[key] = make(
                input, weight, stride, padding, output_padding, dilation, groups)
        return _recorded(plan, name, input, x, w, bias, n)

    def make(
        input: Tensor, weight: Tensor, stride: Any, padding: Any, output_padding: Any,
        dilation: Any, groups: int,
    ) -> _Plan:
        same_dtype(name, input, weight)
        x, w = input.tensor_type.shape, weight.tensor_type.shape
        if len(x) not in (n + 1, n + 2) or len(w) != n + 2:
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, and a "
                f"weight of {n + 2} dimensions, but got sizes {list(x)} and {list(w)}")
        steps, cut = ntuple(stride, n, "stride"), ntuple(padding, n, "padding")
        extra = ntuple(output_padding, n, "output_padding")
        away = ntuple(dilation, n, "dilation")
        _checked(name, steps, cut, away, groups)
        if any(e < 0 or e >= max(s, d) for e, s, d in zip(extra, steps, away, strict=True)):
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got "
                f"output_padding: {list(extra)} stride: {list(steps)} dilation: {list(away)}")
        if x[-n - 1] != w[0]:
            raise RuntimeError(
                f"Given transposed=1, weight of size {list(w)}, expected input{list(x)} to have "
                f"{w[0]} channels, but got {x[-n - 1]} channels instead")
        return _Plan(len(x) == n + 2, spec("conv_transpose", 2, {
            "strides": steps, "padding_low": cut, "padding_high": cut, "output_padding": extra,
            "dilation": away, "groups": groups}), w[1] * groups, n)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Transposed convolution in {n}D, weight (C, O / groups, ...)."
    return function


conv1d, conv2d, conv3d = (_conv(n) for n in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_conv_transpose(n) for n in (1, 2, 3))


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution of input (time, batch, channels) with weight (width, channels, outputs)."""
    found: Tensor = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    made: Tensor = found.permute(2, 0, 1)
    return made


def _columns(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> dict[str, Any]:
    edge = ntuple(padding, 2, "padding")
    given = {"window": ntuple(kernel_size, 2, "kernel_size"), "padding_low": edge,
             "padding_high": edge, "strides": ntuple(stride, 2, "stride"),
             "dilation": ntuple(dilation, 2, "dilation")}
    for name, least in (("window", 1), ("strides", 1), ("dilation", 1), ("padding_low", 0)):
        if any(v < least for v in given[name]):
            raise RuntimeError(
                f"{name.removesuffix('_low')} should be {least} or more, but got {given[name]}")
    return given


def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Columns of all 2D windows: (N, C, H, W) as (N, C * window, places)."""
    x, was = batched(operand(input), 2, "unfold")
    found = record("patches", [x], _columns(kernel_size, dilation, padding, stride))
    n, c, *rest = found.shape
    return finish(record("reshape", [found], {
        "shape": (n, c * rest[0] * rest[1], rest[2] * rest[3])}), was)


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Columns of 2D windows summed into images: (N, C * window, places) as (N, C, H, W)."""
    x = operand(input)
    if len(x.shape) not in (2, 3):
        raise RuntimeError(
            f"Expected 2D or 3D (batch mode) tensor for input, but got {list(x.shape)}")
    was = len(x.shape) == 3
    sizes = ntuple(output_size, 2, "output_size")
    given = _columns(kernel_size, dilation, padding, stride)
    window = given["window"]
    places = tuple(
        (s + 2 * p - d * (k - 1) - 1) // t + 1 for s, p, d, k, t in zip(
            sizes, given["padding_low"], given["dilation"], window, given["strides"],
            strict=True))
    batch = x.shape[:-2]
    if x.shape[-2] % product(window) or any(p < 1 for p in places) or (
        x.shape[-1] != product(places)):
        raise RuntimeError(
            f"fold: given output_size={sizes}, kernel_size={window}, expected input with a number "
            f"of channels divisible by {product(window)} and {product(places)} sliding blocks, but "
            f"got input of size {list(x.shape)}")
    x = record("reshape", [x], {
        "shape": (*(batch or (1,)), x.shape[-2] // product(window), *window, *places)})
    return finish(record("patches_sum", [x], {"sizes": sizes, **given}), was)


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (
    linear, bilinear, conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d,
    conv_transpose3d, conv_tbc, unfold, fold)}
