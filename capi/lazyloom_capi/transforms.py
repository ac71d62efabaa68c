"""The entries of transforms of functions: derivatives, and functions of a whole axis."""

from __future__ import annotations

from typing import Any, Final

from _lazyloom_abi import ffi  # type: ignore[import-not-found]

import lazyloom
from lazyloom.errors import ArgumentError, HandleError

from . import handles
from .functions import GivenFunction
from .handles import LINEAR_MAP
from .serving import find, give, located, value_of, values_of

_UNMAPPED: Final = -(2**63)
#: by loom_direction
_JACOBIANS: Final = (lazyloom.jacobian, lazyloom.jacfwd, lazyloom.jacrev)


class LinearMap:
    """The derivative of a function.

    Attributes:
        reverse: from cotangents of the outputs to those of the inputs.
    """

    __slots__ = ("reverse", "_function", "_given", "_results")

    def __init__(self, reverse: bool, function: Any, given: int, results: int) -> None:
        self.reverse = reverse
        self._function, self._given, self._results = function, given, results

    def __call__(self, tensors: list[Any], results: int) -> list[Any]:
        for name, count, expected in (
            ("given_count", len(tensors), self._given), ("result_count", results, self._results),
        ):  # fmt: skip
            if count != expected:
                raise ArgumentError(
                    f"loom_linear_map_apply: {name} is {count}, expected {expected}")
        found = self._function(tensors) if self.reverse else self._function(*tensors)
        return list(found)


def _tensors(array: Any, count: int, named: str) -> list[lazyloom.Tensor]:
    return [lazyloom.Tensor(v) for v in values_of(array, count, named)]


def _or_none(array: Any, count: int, named: str) -> list[lazyloom.Tensor | None]:
    """Tensors; None for the null handle."""
    found: list[lazyloom.Tensor | None] = []
    try:
        for bits in ffi.unpack(array, count) if count else ():
            found.append(lazyloom.Tensor(value_of(bits)) if bits else None)
    except HandleError as error:
        raise HandleError(f"{named}[{len(found)}]: {error}") from None
    return found


def _hand_out(found: list[Any], results: Any) -> None:
    for i, t in enumerate(found):
        results[i] = 0 if t is None else give(t.value)


def _positions(call: str, array: Any, count: int, inputs: int) -> tuple[int, ...]:
    """The positions of the inputs to differentiate by. Raises ArgumentError."""
    found = tuple(range(inputs)) if array == ffi.NULL else (
        tuple(ffi.unpack(array, count)) if count else ())
    if not found:
        raise ArgumentError(f"{call}: there is no input to differentiate by, expected at least one")
    for i, p in enumerate(found):
        if p >= inputs:
            raise ArgumentError(
                f"{call}: positions[{i}]: {p} was given, expected less than input_count, {inputs}")
    if len(set(found)) != len(found):
        raise ArgumentError(f"{call}: positions name an input twice, expected distinct ones")
    return found


@located
def loomp_linear(
    call: Any, function: Any, let_go: Any, reverse: int, inputs: Any, input_count: int,
    outputs: Any, output_count: int, result: Any,
) -> int:  # fmt: skip
    name = "loom_vjp" if reverse else "loom_linearize"
    f = GivenFunction("function", name, call, function, let_go, output_count)
    transform = lazyloom.vjp if reverse else lazyloom.linearize
    found, linear = transform(
        f.of_each, *_tensors(inputs, input_count, f"{name}: inputs"), closures=True)
    sizes = (output_count, input_count) if reverse else (input_count, output_count)
    result[0] = handles.give(LINEAR_MAP, LinearMap(bool(reverse), linear, *sizes))
    _hand_out(found, outputs)
    return 1


@located
def loomp_linear_apply(
    handle: int, given: Any, given_count: int, results: Any, result_count: int
) -> int:
    linear: LinearMap = find(LINEAR_MAP, handle, "loom_linear_map_apply: map")
    tensors = _or_none(given, given_count, "loom_linear_map_apply: given")
    _hand_out(linear(tensors, result_count), results)
    return 1


@located
def loomp_jvp(
    call: Any, function: Any, let_go: Any, inputs: Any, tangents: Any, input_count: int,
    outputs: Any, output_tangents: Any, output_count: int,
) -> int:  # fmt: skip
    f = GivenFunction("function", "loom_jvp", call, function, let_go, output_count)
    found, along = lazyloom.jvp(
        f.of_each, _tensors(inputs, input_count, "loom_jvp: inputs"),
        _or_none(tangents, input_count, "loom_jvp: tangents"), closures=True)
    _hand_out(found, outputs)
    _hand_out(along, output_tangents)
    return 1


@located
def loomp_value_and_grad(
    call: Any, function: Any, let_go: Any, inputs: Any, input_count: int, positions: Any,
    position_count: int, outputs: Any, output_count: int, gradients: Any,
) -> int:  # fmt: skip
    name = "loom_value_and_grad"
    chosen = _positions(name, positions, position_count, input_count)
    if not output_count:
        raise ArgumentError(f"{name}: output_count is 0, expected the value to differentiate")
    given = GivenFunction("function", name, call, function, let_go, output_count)

    def f(*tensors: lazyloom.Tensor) -> tuple[lazyloom.Tensor, list[lazyloom.Tensor]]:
        value, *rest = given(list(tensors))
        return value, rest

    (value, rest), found = lazyloom.value_and_grad(f, chosen, True, closures=True)(
        *_tensors(inputs, input_count, f"{name}: inputs"))
    _hand_out([value, *rest], outputs)
    _hand_out(list(found), gradients)
    return 1


@located
def loomp_jacobian(
    call: Any, function: Any, let_go: Any, second: int, inputs: Any, input_count: int,
    positions: Any, position_count: int, output_count: int, direction: int, holomorphic: int,
    results: Any,
) -> int:  # fmt: skip
    name = "loom_hessian" if second else "loom_jacobian"
    chosen = _positions(name, positions, position_count, input_count)
    if not 0 <= direction < len(_JACOBIANS):
        raise ArgumentError(
            f"{name}: direction is {direction}, expected a loom_direction (0 to 2)")
    f = GivenFunction("function", name, call, function, let_go, output_count)
    transform = lazyloom.hessian if second else _JACOBIANS[direction]
    rows = transform(f.of_each, chosen, holomorphic=bool(holomorphic))(
        *_tensors(inputs, input_count, f"{name}: inputs"))
    found = [t for row in rows for t in row]
    _hand_out([t for row in found for t in row] if second else found, results)
    return 1


@located
def loomp_vmap(
    call: Any, function: Any, let_go: Any, inputs: Any, input_count: int, in_axes: Any,
    axis_size: int, out_axes: Any, results: Any, result_count: int,
) -> int:  # fmt: skip
    if axis_size < -1:
        raise ArgumentError(
            f"loom_vmap: axis_size is {axis_size}, expected a size, or -1 for that of the inputs")
    f = GivenFunction(
        "function", "loom_vmap", call, function, let_go, result_count,
        since=lazyloom.last_sequence())
    tensors = _tensors(inputs, input_count, "loom_vmap: inputs")
    if in_axes != ffi.NULL:
        _check_axes(ffi.unpack(in_axes, input_count) if input_count else (), tensors, axis_size)
    mapped = lazyloom.vmap(
        f.of_each, _axes(in_axes, input_count, tuple), _axes(out_axes, result_count, list),
        axis_size=None if axis_size < 0 else axis_size)
    _hand_out(mapped(*tensors), results)
    return 1


def _check_axes(given: Any, tensors: list[lazyloom.Tensor], axis_size: int) -> None:
    """Raises ArgumentError for axes that the tensors do not have."""
    for i, (axis, tensor) in enumerate(zip(given, tensors, strict=True)):
        ndim = tensor.value.type.ndim
        if axis != _UNMAPPED and not -ndim <= axis < ndim:
            expected = f"{-ndim} to {ndim - 1}, or LOOM_UNMAPPED," if ndim else "LOOM_UNMAPPED"
            raise ArgumentError(
                f"loom_vmap: in_axes[{i}] is {axis}, expected {expected} for inputs[{i}], a "
                f"{tensor.value.type.text}")
    if axis_size == -1 and all(axis == _UNMAPPED for axis in given):
        raise ArgumentError(
            "loom_vmap: axis_size is -1 and no input is mapped over, expected the size of the axis")


def _axes(array: Any, count: int, kind: Any) -> Any:
    if array == ffi.NULL:
        return 0
    return kind(None if a == _UNMAPPED else a for a in (ffi.unpack(array, count) if count else ()))
