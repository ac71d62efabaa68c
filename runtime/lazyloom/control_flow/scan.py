"""``scan``: a function over the elements of an axis, one after the other, with a carry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dtypes import int64
from ..errors import ArgumentError, ShapeError, type_name
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_as
from ..trace.graph import Value
from ..trace.mapping import BodyCall
from ..trace.recording import record
from ..trace.scalars import Scalar
from ..trace.source import user_site
from ..tree import TreeDef, flatten
from ..types import TensorType, tensor_type
from .arguments import (
    Leaves,
    as_leaf,
    as_result,
    as_value,
    described,
    first_tensor,
    fit,
)
from .recorder import Outside, Recorded, checked, results_of

NAME = "lazyloom.scan"


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None,
    length: int | None = None, reverse: bool = False, unroll: int = 1,
) -> tuple[Any, Any]:  # fmt: skip
    """``f`` over the elements of the first axis of ``xs``, each step continuing from the last.

    Like this loop, but with ``f`` recorded once as the body of a loop in the program::

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, stack(ys)

    Args:
        f: takes the carry and one element, and returns the next carry and the step's result. It
            is called once (again if a number of ``init`` takes another dtype), on tensors without
            data. It may use tensors from outside, but not write to them.
        init: the first carry: tensors and numbers, alone or in lists, tuples and dicts.
        xs: likewise, tensors of one size along their first axis; None for no elements.
        length: the number of steps, needed only if ``xs`` has no leaves.
        reverse: begin with the last element; the results of steps keep the order of the elements.
        unroll: number of steps per step of the compiled loop.

    Returns:
        the last carry, nested like ``init``, and the results of the steps, stacked along a new
        first axis. Differentiable in both modes, and mapped by :func:`lazyloom.vmap`.

    Raises:
        ArgumentError, ShapeError: arguments are not such tensors, or do not fit each other;
            ``f`` does not return a pair, or its carry has another nesting or type than ``init``.
        ReadForbiddenError: ``f`` needs data, for a branch, a print or a shape.
        AliasError: ``f`` writes to a tensor that it did not make.

    The definition is that of ``jax.lax.scan``.

    Example:

        >>> total, sums = lazyloom.scan(lambda c, x: (c + x, c + x), np.zeros(()), np.arange(4.0))
        >>> sums
        array([0., 1., 3., 6.])
    """
    of = described(f, f"{NAME}: f")
    if type(unroll) is not int or unroll < 1:
        raise ArgumentError(f"{NAME}: unroll is {unroll!r}, expected a positive int")
    first, nesting = flatten(init, Tensor)
    rows, row_nesting = flatten(xs, Tensor)
    like = first_tensor(NAME, [*first, *rows])
    carry = Leaves(NAME, "init", first, like)
    elements = [as_leaf(x, f"{NAME}: leaf {i} of xs", like) for i, x in enumerate(rows)]
    steps, element_types = _steps(elements, length)
    while True:
        body = _Body(f, of, carry, nesting, elements, row_nesting)
        outside = Outside()
        call = BodyCall(NAME, user_site(), of, True)
        recorded = Recorded(call, body.run, [*carry.types, *element_types], outside)
        count = len(carry.types)
        if not carry.promote(recorded.result_types[:count]):
            break
    fit(NAME, f"the carry that the {of} gives", "init", recorded.result_types[:count], carry.types)
    results = recorded.results + [flag.use for flag in recorded.flags]
    if not results:
        return nesting.build([]), body.nesting.build([])
    operands: list[Any] = [*carry.values(), *map(as_value, elements)]
    if recorded.step:
        operands.append(
            record("iota", [], {"shape": (steps,), "dtype": int64}))
    outputs = results_of(
        "scan", [*operands, *outside.operands()],
        {"body": recorded.text(results), "carry": count, "xs": recorded.own - count,
         "length": steps, "reverse": bool(reverse), "unroll": unroll}, [recorded])
    total = len(recorded.results)
    all_results = checked(outputs[:total], list(zip(outputs[total:], recorded.flags, strict=True)))
    last = [body.wrapped(i, carry, v) for i, v in enumerate(all_results[:count])]
    step_results = [wrap_as(t if isinstance(t, Tensor) else like, v)
                    for t, v in zip(body.given, all_results[count:], strict=True)]
    return nesting.build(last), body.nesting.build(step_results)


def _steps(elements: Sequence[Any], length: Any) -> tuple[int, list[TensorType]]:
    """The number of steps, and the types of one element of each leaf."""
    if length is not None:
        if isinstance(length, bool) or not hasattr(length, "__index__"):
            raise ArgumentError(f"{NAME}: length is {length!r}, expected an int or None")
        length = int(length.__index__())
        if length < 0:
            raise ArgumentError(f"{NAME}: length is {length}, expected 0 or more")
    steps: int | None = length
    first = "length"
    element_types: list[TensorType] = []
    for number, x in enumerate(elements):
        t: TensorType = x.type if isinstance(x, Scalar) else x.value.type
        name = f"leaf {number} of xs"
        if not t.shape:
            raise ShapeError(
                f"{NAME}: {name} is a {t.text}, expected a first axis, with an element for each "
                "step")
        if steps is None:
            steps, first = t.shape[0], name
        elif t.shape[0] != steps:
            raise ShapeError(
                f"{NAME}: {name}, a {t.text}, has size {t.shape[0]} along its first axis, "
                f"expected {steps} as {first} has")
        element_types.append(tensor_type(t.shape[1:], t.dtype))
    if steps is None:
        raise ArgumentError(
            f"{NAME}: xs has no leaves and length is None, expected the number of steps as one of "
            "them")
    return steps, element_types


class _Body:
    """One run of the function of a scan."""

    def __init__(
        self, f: Callable[..., Any], of: str, carry: Leaves, nesting: TreeDef,
        elements: Sequence[Any], row_nesting: TreeDef,
    ) -> None:  # fmt: skip
        self.f, self.of, self.carry, self.carry_nesting = f, of, carry, nesting
        self.elements, self.row_nesting = elements, row_nesting
        #: what the function returned: the leaves of the carry, and those of the step's result
        self.carried: list[Any] = []
        self.given: list[Any] = []
        self.nesting: TreeDef = TreeDef("none")

    def run(self, values: list[Value]) -> list[Value | Scalar]:
        count = len(self.carry.types)
        state = self.carry_nesting.build(
            [self.carry.tensor(i, v) for i, v in enumerate(values[:count])])
        row = self.row_nesting.build(
            [wrap_as(x, v) for x, v in zip(self.elements, values[count:], strict=True)])
        pair = self.f(state, row)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            shown = type_name(pair) if not isinstance(pair, (tuple, list)) else (
                f"{type(pair).__name__} of {len(pair)}")
            raise ArgumentError(
                f"{NAME}: the {self.of} returned a {shown}, expected a pair: the next carry, and "
                "what the step gives")
        self.carried = self.carry_nesting.leaves_of(
            pair[0], f"{NAME}: the carry that the {self.of} gives")
        self.given, self.nesting = flatten(pair[1], Tensor)
        like = self.carry.like
        return [
            *[as_result(x, f"{NAME}: leaf {i} of the carry that the {self.of} gives", t, like)
              for i, (x, t) in enumerate(zip(self.carried, self.carry.types, strict=True))],
            *[as_result(x, f"{NAME}: leaf {i} of what the {self.of} gives", None, like)
              for i, x in enumerate(self.given)]]

    def wrapped(self, number: int, carry: Leaves, value: Value) -> Any:
        """A leaf of the last carry as a tensor."""
        like = self.carried[number]
        return wrap_as(like, value) if isinstance(like, Tensor) else carry.tensor(number, value)
