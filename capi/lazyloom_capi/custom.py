"""The entry of ops whose derivatives are functions of the caller's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from _lazyloom_abi import ffi  # type: ignore[import-not-found]

import lazyloom
from lazyloom.errors import ArgumentError

from .functions import GivenFunction
from .serving import give, located, values_of


class Context:
    """The caller's context, which is told when nothing needs it any more."""

    __slots__ = ("_done", "_context")

    def __init__(self, done: Any, context: Any) -> None:
        self._done, self._context = done, context

    def __del__(self) -> None:
        self._done(self._context)


class _Derivative:
    """A derivative of one use of the op: what :func:`lazyloom.custom` calls.

    Attributes:
        inputs: the values that the op was computed from.
    """

    __slots__ = ("_given", "_results", "_types", "inputs", "_context")

    def __init__(
        self, given: GivenFunction, results: int, types: Sequence[lazyloom.TensorType],
        inputs: list[lazyloom.Value], context: Context,
    ) -> None:  # fmt: skip
        self._given, self._results, self._types = given, results, types
        self.inputs, self._context = inputs, context

    def __call__(
        self, result_of: Callable[[int], lazyloom.Value], given: list[lazyloom.Value | None]
    ) -> list[lazyloom.Value | None]:
        values = [
            *self.inputs, *map(result_of, range(self._results)),
            *(_zero(t) if v is None else v for v, t in zip(given, self._types, strict=True))]
        found = self._given.called([lazyloom.Tensor(v) for v in values], True)
        return [None if t is None else t.value for t in found]

    def holding(self, inputs: list[lazyloom.Value]) -> _Derivative:
        """The same of other inputs."""
        return _Derivative(self._given, self._results, self._types, inputs, self._context)


def _zero(type: lazyloom.TensorType) -> lazyloom.Value:
    value: lazyloom.Value = lazyloom.record(
        "full", [lazyloom.Scalar(False if type.dtype.kind == "b" else 0, type.dtype)],
        {"shape": type.shape})
    return value


@located
def loomp_custom(
    call: Any, forward: Any, vjp: Any, jvp: Any, let_go: Any, done: Any, context: Any, name: Any,
    inputs: Any, input_count: int, outputs: Any, output_count: int,
) -> int:  # fmt: skip
    of = "loom_apply_custom"
    owner = Context(done, context)
    text = ffi.string(name).decode("utf-8", "replace")
    if not output_count:
        raise ArgumentError(f"{of}: output_count is 0, expected at least one output")
    values = values_of(inputs, input_count, f"{of}: inputs")
    with lazyloom.grad_mode(False):
        computed = GivenFunction("forward", of, call, forward, let_go, output_count)(
            [lazyloom.Tensor(v.detach()) for v in values])
    results = [t.value for t in computed]
    pulled = pushed = None
    if vjp != ffi.NULL:
        given = GivenFunction("vjp", of, call, vjp, let_go, input_count)
        pulled = _Derivative(given, output_count, [v.type for v in results], values, owner)
    if jvp != ffi.NULL:
        given = GivenFunction("jvp", of, call, jvp, let_go, output_count)
        pushed = _Derivative(given, output_count, [v.type for v in values], values, owner)
    # where one is missing the pass is refused with the name
    found = lazyloom.custom(
        results, values, pulled if pulled is not None else _missing(text), pushed, name=text,
        owner=owner, kept=lambda: values, holding=None if pulled is None else pulled.holding)
    for i, value in enumerate(found):
        outputs[i] = give(value)
    return 1


def _missing(name: str) -> Any:
    def refuse(result_of: Any, cotangents: Any) -> Any:
        raise lazyloom.errors.GradientError(
            f"{name} has no vjp, expected one in the loom_custom_op for a gradient through it")

    return refuse
