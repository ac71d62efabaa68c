"""``while_loop``: a function applied again and again, while a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import bool_, int64
from ..errors import ArgumentError, type_name
from ..ops.bodies import BodyConstant, BodyInstruction, BodyResult, Use, body_text
from ..ops.spec import lookup
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_as
from ..trace.graph import Value
from ..trace.mapping import BodyCall
from ..trace.recording import record
from ..trace.scalars import Scalar
from ..trace.source import user_site
from ..tree import TreeDef, flatten
from ..types import TensorType, scalar_type
from .arguments import Leaves, as_result, described, first_tensor, fit
from .recorder import Outside, Recorded, checked, constant, leaf, results_of

NAME = "lazyloom.while_loop"


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, *,
    max_steps: int | None = None,
) -> Any:  # fmt: skip
    """``body_fun`` applied to its own result again and again, while ``cond_fun`` of it is true.

    Like this loop, but with both functions recorded once, as parts of a loop in the program::

        val = init_val
        while cond_fun(val):
            val = body_fun(val)
        return val

    Args:
        cond_fun: takes the carry and returns a bool without dimensions. It and ``body_fun`` are
            called once (again if a number of ``init_val`` takes another dtype), on tensors
            without data. They may use tensors from outside, but not write to them.
        body_fun: takes the carry and returns the next one.
        init_val: the first carry: tensors and numbers, alone or in lists, tuples and dicts.
        max_steps: stop after this many steps, even if the condition still holds. With it,
            cotangents can be pulled back through the loop; the derivative then takes as much time
            and memory as that number of steps.

    Returns:
        the last carry, nested like ``init_val``. Differentiable in forward mode, with
        ``max_steps`` also in reverse mode, and mapped by :func:`lazyloom.vmap`, which continues
        until the condition is false for every element.

    Raises:
        ArgumentError, ShapeError: arguments are not such tensors; ``cond_fun`` does not return a
            bool, or the carry of ``body_fun`` has another nesting or type than ``init_val``.
        ReadForbiddenError: a function needs data, for a branch, a print or a shape.
        AliasError: a function writes to a tensor that it did not make.
        GradientError: (in a backward pass) there is no ``max_steps``.

    The definition is that of ``jax.lax.while_loop``.

    Example:

        >>> lazyloom.while_loop(lambda x: x.sum() < 10, lambda x: x * 2, np.ones(2))
        array([8., 8.])
    """
    of_condition = described(cond_fun, f"{NAME}: cond_fun")
    of_body = described(body_fun, f"{NAME}: body_fun")
    if max_steps is not None and (type(max_steps) is not int or max_steps < 0):
        raise ArgumentError(
            f"{NAME}: max_steps is {max_steps!r}, expected an int of 0 or more, or None")
    first, nesting = flatten(init_val, Tensor)
    like = first_tensor(NAME, first)
    carry = Leaves(NAME, "init_val", first, like)
    while True:
        outside = Outside()
        returned: list[Any] = []

        def stepped(values: list[Value], returned: list[Any] = returned) -> list[Value | Scalar]:
            carried = nesting.leaves_of(
                body_fun(_built(carry, nesting, values)),
                f"{NAME}: the carry that the {of_body} gives")
            returned.extend(carried)
            return [
                as_result(x, f"{NAME}: leaf {i} of the carry that the {of_body} gives", t, like)
                for i, (x, t) in enumerate(zip(carried, carry.types, strict=True))]

        body = Recorded(
            BodyCall(NAME, user_site(), of_body, True), stepped, carry.types, outside)
        if not carry.promote(body.result_types):
            break
    fit(NAME, f"the carry that the {of_body} gives", "init_val", body.result_types, carry.types)

    def holds(values: list[Value]) -> list[Value | Scalar]:
        return [_truth(cond_fun(_built(carry, nesting, values)), of_condition)]

    condition = Recorded(
        BodyCall(NAME, user_site(), of_condition, True), holds, carry.types, outside)
    last = _Loop(carry.values(), condition, body, outside, max_steps).record()
    return nesting.build(
        [wrap_as(t, v) if isinstance(t, Tensor) else carry.tensor(i, v)
         for i, (t, v) in enumerate(zip(returned, last, strict=True))])


def _built(carry: Leaves, nesting: TreeDef, values: list[Value]) -> Any:
    return nesting.build([carry.tensor(i, v) for i, v in enumerate(values)])


def _truth(pred: Any, of: str) -> Value | Scalar:
    if isinstance(pred, bool):
        return Scalar(pred, bool_)
    if isinstance(pred, Tensor):
        t: TensorType = pred.value.type
        if t.agrees(scalar_type(bool_)):
            return pred.value
        shown = t.text
    else:
        shown = type_name(pred)
    raise ArgumentError(
        f"{NAME}: the {of} returned a {shown}, expected a bool without dimensions")


class _Loop:
    """A loop whose functions were recorded.

    After the carry of the functions it carries the number of the step, if one of them draws random
    numbers, and the flags of their checks: for each the first that is not zero.
    """

    def __init__(
        self, start: list[Value], condition: Recorded, body: Recorded, outside: Outside,
        max_steps: int | None,
    ) -> None:  # fmt: skip
        self.start, self.condition, self.body = start, condition, body
        self.outside, self.max_steps = outside, max_steps

    def record(self) -> list[Value]:
        condition, body = self.condition, self.body
        count = len(self.start)
        operands = [*self.start]
        types = [v.type for v in operands]
        results = list(body.results)
        checks_at_end = bool(condition.flags)
        if condition.step or body.step or checks_at_end and self.max_steps is not None:
            number = leaf(count)
            operands.append(_zeros(scalar_type(int64)))
            types.append(scalar_type(int64))
            results.append(body.add("add", [number, constant(1, scalar_type(int64))]))
        flags = body.flags + condition.flags
        # the condition is evaluated once more at the end, below; the body includes the other times
        uses = [f.use for f in body.flags] + body.include(condition)
        for flag, use in zip(flags, uses, strict=True):
            before = leaf(len(operands))
            seen = body.add("not_equal", [before, constant(0, flag.type)])
            results.append(body.add("where", [seen, before, use]))
            operands.append(_zeros(flag.type))
            types.append(flag.type)
            # an error may be the reason why the condition never becomes false
            right = condition.add("equal", [before, constant(0, flag.type)])
            if flag.type.shape:
                right = condition.add("all", [right], {"axes": None})
            condition.results[0] = condition.add(
                "logical_and", [condition.results[0], right])
        body.own = condition.own = len(operands)
        body.own_types = condition.own_types = types
        outputs = results_of(
            "while_loop", [*operands, *self.outside.operands()],
            {"condition": condition.text(), "body": body.text(results), "carry": len(operands),
             "max_steps": self.max_steps}, [condition, body])
        at = len(outputs) - len(flags)
        flagged = list(zip(outputs[at:], flags, strict=True))
        if checks_at_end:
            flagged += list(zip(self._last(outputs), condition.flags, strict=True))
        return checked(outputs[:count], flagged)

    def _last(self, carry: list[Value]) -> list[Value]:
        """The flags of the condition's last evaluation, if it takes place."""
        evaluated: Any = Scalar(True, bool_)
        if self.max_steps is not None:
            evaluated = record(
                "less", [carry[len(self.start)], Scalar(self.max_steps, int64, bake=False)])
        flags = self.condition.flags
        leaves = [*self.condition.own_types, *self.outside.types]
        nothing = [
            BodyInstruction(lookup("full"), {"shape": f.type.shape}, (Use(BodyConstant(0,
                f.type.dtype)),))
            for f in flags]
        return results_of(
            "cond", [evaluated, *carry, *self.outside.operands()],
            {"if_true": self.condition.text([f.use for f in flags]),
             "if_false": body_text(
                 leaves, nothing, [Use(BodyResult(i, 0)) for i in range(len(flags))])}, [])


def _zeros(type: TensorType) -> Value:
    zeros: Value = record("full", [Scalar(0, type.dtype)], {"shape": type.shape})
    return zeros
