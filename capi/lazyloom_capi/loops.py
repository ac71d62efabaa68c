"""The entries of loops and branches, whose functions of the caller's record their bodies."""

from __future__ import annotations

from typing import Any

import lazyloom
from lazyloom.errors import ArgumentError

from .functions import OF_INPUTS, GivenFunction
from .serving import give, located, value_of, values_of


def _once(
    name: str, of: str, call: Any, function: Any, let_go: Any, results: int
) -> GivenFunction:
    return GivenFunction(name, of, call, function, let_go, results, since=OF_INPUTS)


def _tensors(array: Any, count: int, named: str) -> list[lazyloom.Tensor]:
    return [lazyloom.Tensor(v) for v in values_of(array, count, named)]


def _hand_out(found: list[lazyloom.Tensor], results: Any) -> int:
    for i, t in enumerate(found):
        results[i] = give(t.value)
    return 1


@located
def loomp_scan(
    call: Any, step: Any, let_go: Any, init: Any, carry_count: int, xs: Any, xs_count: int,
    length: int, ys_count: int, reverse: int, results: Any,
) -> int:  # fmt: skip
    if length < 0 and not xs_count:
        raise ArgumentError(
            f"loom_scan: length is {length} and there are no xs, expected the number of steps")
    f = _once("step", "loom_scan", call, step, let_go, carry_count + ys_count)

    def one(
        carry: list[lazyloom.Tensor], row: list[lazyloom.Tensor]
    ) -> tuple[list[lazyloom.Tensor], list[lazyloom.Tensor]]:
        found = f([*carry, *row])
        return found[:carry_count], found[carry_count:]

    one.__wrapped__ = f  # type: ignore[attr-defined]
    last, given = lazyloom.scan(
        one, _tensors(init, carry_count, "loom_scan: init"),
        _tensors(xs, xs_count, "loom_scan: xs"), None if length < 0 else length,
        bool(reverse))
    return _hand_out([*last, *given], results)


@located
def loomp_while_loop(
    call: Any, condition: Any, body: Any, let_go: Any, init: Any, carry_count: int, max_steps: int,
    results: Any,
) -> int:  # fmt: skip
    goes_on = _once("condition", "loom_while_loop", call, condition, let_go, 1)
    step = _once("body", "loom_while_loop", call, body, let_go, carry_count)

    def holds(carry: list[lazyloom.Tensor]) -> lazyloom.Tensor:
        return goes_on(carry)[0]

    holds.__wrapped__ = goes_on  # type: ignore[attr-defined]
    found = lazyloom.while_loop(
        holds, step, _tensors(init, carry_count, "loom_while_loop: init"),
        max_steps=None if max_steps < 0 else max_steps)
    return _hand_out(found, results)


@located
def loomp_cond(
    call: Any, which: int, if_true: Any, if_false: Any, let_go: Any, operands: Any,
    operand_count: int, results: Any, result_count: int,
) -> int:  # fmt: skip
    branches = [
        _once(name, "loom_cond", call, function, let_go, result_count)
        for name, function in (("if_true", if_true), ("if_false", if_false))]
    found = lazyloom.cond(
        lazyloom.Tensor(value_of(which, "loom_cond: which")), *branches,
        _tensors(operands, operand_count, "loom_cond: operands"))
    return _hand_out(found, results)
