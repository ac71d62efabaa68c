"""Line 1: a wrong shape, dtype, axis or attribute raises at the call, and says all."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.errors import (
    AliasError,
    ArgumentError,
    DTypeError,
    GradientError,
    LoomError,
    ReadForbiddenError,
    ShapeError,
    UnknownOpError,
)
from tests.contract.helpers import counted, host, number, tensor

A = np.ones((2, 3), np.float32)

# what is called, the error's class, and words its message must have: op, argument, given, expected
WRONG: dict[str, tuple[str, list[Any], dict[str, Any], type[LoomError], list[str]]] = {
    "broadcast": ("add", [A, np.ones(4, np.float32)], {}, ShapeError, ["add", "3", "4"]),
    "contraction": ("matmul", [A, A], {}, ShapeError, ["matmul", "3", "2"]),
    "reshape": ("reshape", [A], {"shape": (4,)}, ShapeError, ["reshape", "6", "4"]),
    "concatenate": (
        "concatenate", [A, np.ones((3, 3), np.float32)], {"axis": 1}, ShapeError,
        ["concatenate", "axis", "2", "3"]),
    "axis": ("sum", [A], {"axes": (2,), "keepdims": False}, ArgumentError, ["sum", "2", "-2", "1"]),
    "axis twice": (
        "sum", [A], {"axes": (0, -2), "keepdims": False}, ArgumentError, ["sum", "axes", "0"]),
    "permutation": (
        "transpose", [A], {"axes": (0, 0)}, ArgumentError, ["transpose", "axes", "0, 0"]),
    "mixed dtypes": (
        "add", [A, A.astype(np.float64)], {}, DTypeError, ["add", "y", "float64", "float32"]),
    "dtype class": ("bitwise_and", [A, A], {}, DTypeError, ["bitwise_and", "float32", "integer"]),
    "attribute type": (
        "sum", [A], {"axes": "x", "keepdims": False}, ArgumentError, ["sum", "axes", "'x'"]),
    "attribute name": ("relu", [A], {"slope": 1.0}, ArgumentError, ["relu", "slope"]),
    "attribute missing": ("reshape", [A], {}, ArgumentError, ["reshape", "shape", "missing"]),
    "operand missing": ("add", [A], {}, ArgumentError, ["add", "1", "2", "x, y"]),
    "operand absent": ("add", [A, None], {}, ArgumentError, ["add", "y", "missing"]),
    "op": ("ad", [A, A], {}, UnknownOpError, ["'ad'", "add"]),
    "condition": ("where", [A, A, A], {}, DTypeError, ["where", "cond", "float32", "bool"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_raises_at_once(case: str) -> None:
    op, operands, attributes, expected, words = WRONG[case]
    values = [None if x is None else host(x, x.dtype) for x in operands]
    with counted() as delta, pytest.raises(expected) as caught:
        line = sys._getframe().f_lineno + 1
        ll.record(op, values, attributes)
    text = str(caught.value)
    for word in words:
        assert word in text, f"{word!r} is not said in: {text}"
    if expected is not UnknownOpError:
        assert caught.value.op == op
        assert caught.value.site == f"{__file__}:{line}"
    # nothing was recorded, and nothing was traced or run to find the error
    assert delta.ops_traced == delta.executions == delta.jax_traces == 0


def test_an_operand_that_is_no_value_is_named() -> None:
    with pytest.raises(ArgumentError, match="add: operand 'y' is a float, expected a Value or"):
        ll.record("add", [host(A), 1.0])  # type: ignore[list-item]


def test_a_python_number_that_the_dtype_cannot_hold_is_refused() -> None:
    x = tensor([1, 2], np.int32)
    with pytest.raises(ArgumentError, match="'y' is the float 0.5.*int32"):
        ll.apply("add", [x, 0.5])
    with pytest.raises(ArgumentError, match="complex"):
        ll.apply("add", [tensor([1.0]), 1j])


def test_host_data_of_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(DTypeError):
        ll.from_host(np.array(["a"]))
    with pytest.raises(DTypeError):
        ll.from_host(np.array([object()]))


def test_a_write_of_another_type_is_refused() -> None:
    x = tensor([1.0, 2.0])
    with pytest.raises(ArgumentError, match=r"float32\[1\].*float32\[2\]"):
        x._write(host([1.0]))
    with pytest.raises(ArgumentError, match=r"int32\[2\].*float32\[2\]"):
        x._write(host([1, 2], np.int32))
    assert x.read().tolist() == [1, 2]


def test_a_write_through_a_broadcast_view_is_refused() -> None:
    x = tensor([1.0])
    with pytest.raises(AliasError, match="broadcast view of shape"):
        x._alias(ll.frontend.Broadcast((3,)))._write(host([1, 2, 3]))
    assert x.read().tolist() == [1]


def test_views_that_do_not_fit_are_refused() -> None:
    x = tensor(A)
    views = ll.frontend
    for step in (
        views.Slice((0, 0), (3, 3), (1, 1)), views.Slice((0,), (1,), (1,)), views.Permute((0,)),
        views.Slice((1, 0), (2, 3), (1, 1)), views.Slice((0, 0), (1, 1), (0, 1)),
        views.Reshape((7,)), views.Broadcast((2, 2)), views.Bitcast(ll.dtypes.float64),
        views.Imag(), views.Diagonal(0, 0, 5),
    ):  # fmt: skip
        with pytest.raises(ArgumentError):
            x._alias(step)


def test_gradients_that_do_not_exist_are_refused() -> None:
    x = host([1.0, 2.0]).as_leaf("x")
    with pytest.raises(GradientError, match="without a cotangent"):
        ll.gradients([ll.record("sin", [x])], [x])
    with pytest.raises(GradientError, match="depends on nothing"):
        ll.gradients([ll.record("sum", [host(A)])], [x])
    with pytest.raises(GradientError, match=r"int32\[1\] cannot require a gradient"):
        host([1], np.int32).as_leaf("i")
    with pytest.raises(ShapeError, match=r"float32\[1\].*float32\[2\]"):
        ll.gradients([ll.record("sin", [x])], [x], [host([1.0])])


def test_forbidden_reads_name_the_place() -> None:
    x = ll.record("add", [host([1.0]), number(2.0)])
    with ll.options(reads="error"), pytest.raises(ReadForbiddenError, match=__file__):
        x.read()
    assert x.read().tolist() == [3]


def test_unknown_options_are_refused() -> None:
    with pytest.raises(ArgumentError, match="'fast'"), ll.options(fast=True):
        pass
    with pytest.raises(ArgumentError, match="donate"), ll.options(donate=1):
        pass
