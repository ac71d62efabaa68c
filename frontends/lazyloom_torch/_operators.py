"""What the operators of tensors mean: the common cases by table, the rest by functions.

The runtime's operators (:mod:`lazyloom.tensor.operators`) record the cases listed here at once: two
tensors of one dtype, or a floating-point tensor and a Python number. Promotion, bools, division
of integers, detached aliases with a history of their own, and errors take the general way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lazyloom
from lazyloom import dtypes
from lazyloom.frontend import (
    FLOATS,
    INTS,
    MATMUL,
    NAMES,
    Operators,
    set_operators,
    write,
    write_lock,
)

from ._errors import SparseOperandError
from ._functions import convert, creation, linear, pointwise
from ._inference import seen as inference
from ._interchange import is_foreign, operand_of
from ._promotion import is_number
from ._tensor import Tensor

#: op and kind of promotion of each operator, in the order of ``NAMES``
_OPS = (
    ("add", "arith"), ("subtract", "arith"), ("multiply", "arith"), ("divide", "float"),
    ("matmul", ""), ("less", "compare"), ("less_equal", "compare"), ("greater", "compare"),
    ("greater_equal", "compare"), ("negative", ""),
)  # fmt: skip
#: those that take Python numbers
_NUMBERS = ("add", "sub", "mul", "truediv", "lt", "le", "gt", "ge")


def other_operand(other: Any) -> Any:
    """The other operand of an operator; another library's array or tensor becomes one of ours.

    None: not supported.
    """
    if isinstance(other, Tensor) or is_number(other):
        return other
    if isinstance(other, np.ndarray):
        return creation.as_tensor(other)
    return operand_of(other) if is_foreign(other) else None


def general(op: str, kind: str) -> Callable[[Any, Any], Any]:
    """The operator by PyTorch's promotion, one of whose operands is a tensor."""
    binary = pointwise.binary

    def operator(a: Any, b: Any) -> Any:
        if not isinstance(a, Tensor):
            if is_foreign(a):
                a = operand_of(a)
            elif not is_number(a):
                return NotImplemented  # as in PyTorch: an array has to be made a tensor first
        elif not isinstance(b, Tensor):
            b = other_operand(b)
            if b is None:
                return NotImplemented
        try:
            return binary(op, a, b, kind)
        except SparseOperandError:
            return NotImplemented  # the other operand's own operator is asked

    return operator


def in_place(op: str, kind: str) -> Callable[[Any, Any], Any]:
    """The augmented assignment of an operator."""
    binary = pointwise.binary

    def operator(target: Tensor, other: Any) -> Any:
        other = other_operand(other)
        if other is None:
            return NotImplemented
        with write_lock(target):
            value = binary(op, target, other, kind).value
            if target.shared is None and value.type is target.tensor_type and (
                lazyloom.grad_enabled() and not inference.mode
            ):
                # nothing shares its storage, so it is neither a leaf nor a view
                write(target, value)
                return target
            return convert.store(target, value)

    return operator


def _matmul(a: Any, b: Any) -> Any:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        try:
            return linear.matmul(a, b)
        except SparseOperandError:
            return NotImplemented
    if isinstance(a, np.ndarray):
        return NotImplemented
    a, b = other_operand(a), other_operand(b)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return linear.matmul(a, b)
    return NotImplemented


def _unsupported(target: Any, other: Any) -> Any:
    return NotImplemented


def _table(products: bool) -> Operators:
    """The operators; without ``products``, those of matrices always take the general way."""
    functions: list[Any] = [general(op, kind) for op, kind in _OPS]
    functions[MATMUL] = _matmul
    functions[-1] = pointwise.FUNCTIONS["neg"]
    augmented = [in_place(op, kind) for op, kind in _OPS[:MATMUL]]
    operators = Operators(Tensor, Tensor, functions, [*augmented, _unsupported], False)
    for name, (op, kind) in zip(NAMES, _OPS, strict=True):
        if name == "matmul" and not products:
            continue
        numbers = FLOATS | INTS if name in _NUMBERS else 0
        for d in dtypes.ALL:
            if d.kind == "b" or kind == "float" and d.is_integer:
                continue
            if kind == "compare" and d.is_complex:
                continue
            operators.define(name, d, op, numbers if d.is_inexact else 0)
    return operators


#: the operators, and those while some thread autocasts (:mod:`lazyloom_torch.amp`)
usual: Operators
autocasting: Operators


def register() -> None:
    """Give the Tensor class its operators."""
    global usual, autocasting
    usual, autocasting = _table(True), _table(False)
    set_operators(Tensor, usual)

