"""The entries of loops and branches, whose functions of the caller's record their bodies."""

from __future__ import annotations

from typing import Any

from _lazyloom_abi import ffi  # type: ignore[import-not-found]

import lazyloom
from lazyloom.errors import HandleError

from . import handles
from .serving import CallerFailedError, give, located, own, value_of, values_of


class _Given:
    """A function of the caller's as one of tensors."""

    #: messages say no place: what Python knows is not the caller's
    __code__ = None

    def __init__(
        self, name: str, of: str, call: Any, function: Any, let_go: Any, results: int
    ) -> None:
        self.__name__ = name
        self._of, self._call, self._function = of, call, function
        self._let_go, self._results = let_go, results

    def __call__(self, tensors: list[lazyloom.Tensor]) -> list[lazyloom.Tensor]:
        count = self._results
        inputs = [give(t.value) for t in tensors]
        before = getattr(own, "since", None)
        # the newest node that is not the function's own
        own.since = min(
            [lazyloom.last_sequence(), *(t.value.node.seq - 1 for t in tensors)])
        outputs = ffi.new("uint64_t[]", max(count, 1))
        given: list[int] = []
        handles.apart(1)
        try:
            status = self._call(
                self._function, ffi.new("uint64_t[]", inputs or [0]), len(inputs), outputs, count)
            given = list(ffi.unpack(outputs, count)) if count else []
            if status:
                raise CallerFailedError(status)
            for i, bits in enumerate(given):
                if not bits:
                    raise HandleError(
                        f"{self._of}: output {i} of function {self.__name__} is the null handle, "
                        "expected a tensor")
            return [lazyloom.Tensor(value_of(bits)) for bits in given]
        finally:
            handles.apart(-1)
            own.since = before
            # an input that was given back has no owner but that of the input
            used = [*inputs, *(bits for bits in given if bits and bits not in inputs)]
            if used:
                self._let_go(ffi.new("uint64_t[]", used), len(used))


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
    f = _Given("step", "loom_scan", call, step, let_go, carry_count + ys_count)

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
    goes_on = _Given("condition", "loom_while_loop", call, condition, let_go, 1)
    step = _Given("body", "loom_while_loop", call, body, let_go, carry_count)

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
        _Given(name, "loom_cond", call, function, let_go, result_count)
        for name, function in (("if_true", if_true), ("if_false", if_false))]
    found = lazyloom.cond(
        lazyloom.Tensor(value_of(which)), *branches,
        _tensors(operands, operand_count, "loom_cond: operands"))
    return _hand_out(found, results)
