"""``while_loop``: a function again and again, while a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import bool_, int64
from ..errors import ArgumentError, type_name
from ..ops.bodies import BodyConstant, BodyInstruction, BodyResult, Use, body_text
from ..ops.spec import lookup
from ..tensor.tensor import Tensor, wrap_as
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
    """``body_fun`` of its own result again and again, while ``cond_fun`` of that is true.

    As this, with both functions recorded once, as parts of a loop that is part of the program::

        val = init_val
        while cond_fun(val):
            val = body_fun(val)
        return val

    Args:
        cond_fun: takes the carry and gives a bool without dimensions. It and ``body_fun`` are
            called once (once more where a number of ``init_val`` takes another dtype), on tensors
            without data. They may use tensors from outside, but not write to them.
        body_fun: takes the carry and gives the next one.
        init_val: the first carry: tensors and numbers, alone or in lists, tuples and dicts.
        max_steps: stop after so many steps, though the condition still holds. With it cotangents
            can be pulled back through the loop; the derivative then takes as much time and memory
            as that number of steps.

    Returns:
        the last carry, nested as ``init_val``. Differentiable in forward mode, in reverse mode
        too with ``max_steps``, and mapped by :func:`lazyloom.vmap`, which goes on until the
        condition is false for every element.

    Raises:
        ArgumentError, ShapeError: arguments that are no such tensors; ``cond_fun`` gives no bool,
            or ``body_fun`` a carry of another nesting or type than ``init_val``.
        ReadForbiddenError: a function needs data, for a branch, a print or a shape.
        AliasError: a function writes to a tensor that it did not make.
        GradientError: (by a backward pass) there is no ``max_steps``.

    The definition is that of ``jax.lax.while_loop``.
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
        made: list[Any] = []

        def stepped(values: list[Value], made: list[Any] = made) -> list[Value | Scalar]:
            found = nesting.leaves_of(
                body_fun(_built(carry, nesting, values)),
                f"{NAME}: the carry that the {of_body} gives")
            made.extend(found)
            return [
                as_result(x, f"{NAME}: leaf {i} of the carry that the {of_body} gives", t, like)
                for i, (x, t) in enumerate(zip(found, carry.types, strict=True))]

        body = Recorded(
            BodyCall(NAME, user_site(), of_body, True), stepped, carry.types, outside)
        if not carry.promote(body.result_types):
            break
    fit(NAME, f"the carry that the {of_body} gives", "init_val", body.result_types, carry.types)

    def holds(values: list[Value]) -> list[Value | Scalar]:
        return [_truth(cond_fun(_built(carry, nesting, values)), of_condition)]

    condition = Recorded(
        BodyCall(NAME, user_site(), of_condition, True), holds, carry.types, outside)
    found = _Loop(carry.values(), condition, body, outside, max_steps).record()
    return nesting.build(
        [wrap_as(t, v) if isinstance(t, Tensor) else carry.tensor(i, v)
         for i, (t, v) in enumerate(zip(made, found, strict=True))])


def _built(carry: Leaves, nesting: TreeDef, values: list[Value]) -> Any:
    return nesting.build([carry.tensor(i, v) for i, v in enumerate(values)])


def _truth(given: Any, of: str) -> Value | Scalar:
    expected = scalar_type(bool_)
    if isinstance(given, bool):
        return Scalar(given, bool_)
    if isinstance(given, Tensor):
        t: TensorType = given.value.type
        if t is expected:
            return given.value
        what = t.text
    else:
        what = type_name(given)
    raise ArgumentError(
        f"{NAME}: the {of} returned a {what}, expected a bool without dimensions")


class _Loop:
    """A loop whose functions were recorded.

    Behind the carry of the functions it has the number of the step, if one of them draws random
    numbers, and what they check: the first flag of each that is not zero.
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
        own = [*self.start]
        types = [v.type for v in own]
        results = list(body.results)
        asked_at_end = bool(condition.flags)
        if condition.step or body.step or asked_at_end and self.max_steps is not None:
            number = leaf(count)
            own.append(_zeros(scalar_type(int64)))
            types.append(scalar_type(int64))
            results.append(body.add("add", [number, constant(1, scalar_type(int64))]))
        flags = body.flags + condition.flags
        # a condition is asked once more at the end, below; of the other times the body knows
        uses = [f.use for f in body.flags] + body.include(condition)
        for flag, use in zip(flags, uses, strict=True):
            before = leaf(len(own))
            seen = body.add("not_equal", [before, constant(0, flag.type)])
            results.append(body.add("where", [seen, before, use]))
            own.append(_zeros(flag.type))
            types.append(flag.type)
            # what went wrong may be why the condition never becomes false
            right = condition.add("equal", [before, constant(0, flag.type)])
            if flag.type.shape:
                right = condition.add("all", [right], {"axes": None})
            condition.results[0] = condition.add(
                "logical_and", [condition.results[0], right])
        body.own = condition.own = len(own)
        body.own_types = condition.own_types = types
        found = results_of(
            "while_loop", [*own, *self.outside.operands()],
            {"condition": condition.text(), "body": body.text(results), "carry": len(own),
             "max_steps": self.max_steps}, [condition, body])
        at = len(found) - len(flags)
        looked_at = list(zip(found[at:], flags, strict=True))
        if asked_at_end:
            looked_at += list(zip(self._last(found), condition.flags, strict=True))
        return checked(found[:count], looked_at)

    def _last(self, found: list[Value]) -> list[Value]:
        """What the condition checks when it is asked for the last time, if it is."""
        asked: Any = Scalar(True, bool_)
        if self.max_steps is not None:
            asked = record(
                "less", [found[len(self.start)], Scalar(self.max_steps, int64, bake=False)])
        flags = self.condition.flags
        leaves = [*self.condition.own_types, *self.outside.types]
        nothing = [
            BodyInstruction(lookup("full"), {"shape": f.type.shape}, (Use(BodyConstant(0,
                f.type.dtype)),))
            for f in flags]
        return results_of(
            "cond", [asked, *found, *self.outside.operands()],
            {"if_true": self.condition.text([f.use for f in flags]),
             "if_false": body_text(
                 leaves, nothing, [Use(BodyResult(i, 0)) for i in range(len(flags))])}, [])


def _zeros(type: TensorType) -> Value:
    made: Value = record("full", [Scalar(0, type.dtype)], {"shape": type.shape})
    return made
