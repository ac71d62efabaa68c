"""Functions of each element: their results lie in memory in the order of their operands.

Operands in row-major order, which nearly all are, cost one look at each. The compiled operators
take what is here only for tensors that they are told to (``_special``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import lazyloom
from lazyloom.errors import LoomError

from ._errors import as_torch, not_a_tensor
from ._formats import preserve_format
from ._strides import of_copy, of_elements
from ._tensor import Tensor

_wrap = Tensor.from_value
_one = lazyloom.record_one


def mapped(ready: lazyloom.Spec, x: Tensor) -> Tensor:
    """Record an op of each element of a tensor. Raises TypeError for what is none."""
    if isinstance(x, Tensor):
        try:
            if x.slow_path:
                return follow(_wrap(_one(ready, x._operand())), (x,))
            made: Tensor = _wrap(_one(ready, x.value))
            return made
        except LoomError as error:
            raise as_torch(error) from None
    raise not_a_tensor(x)


def follow(made: Tensor, operands: Sequence[Any]) -> Tensor:
    """Give a result the strides that its operands lead to; numbers among them are operands too."""
    if made.shared is not None or any(made is x for x in operands):
        return made  # a view, or one of the operands
    given = tuple([(x.tensor_type.shape, x.element_strides) if isinstance(x, Tensor) else _NUMBER
                   for x in operands])
    return made._laid(of_elements(made.tensor_type.shape, given))


_NUMBER: tuple[tuple[int, ...], None] = ((), None)


def ordered(made: Tensor, *operands: Any) -> Tensor:
    """A result of these operands, of which only some may be tensors, laid out as they are."""
    for x in operands:
        if isinstance(x, Tensor) and x.slow_path:
            return follow(made, [x for x in operands if isinstance(x, Tensor)])
    return made


def alike(made: Tensor, x: Tensor, memory_format: Any = None) -> Tensor:
    """A new tensor, laid out as the one that it is a copy of unless a format is asked for."""
    strides = x.element_strides
    if strides is None or memory_format not in (None, preserve_format):
        return made
    return made._laid(of_copy(x.tensor_type.shape, strides))


def elementwise(function: Any) -> Callable[..., Any]:
    """A function of each element of those of its arguments that are tensors."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        if kwargs:
            if kwargs.get("out") is not None:
                return made
            args = (*args, *kwargs.values())
        for m in made if isinstance(made, tuple) else (made,):
            ordered(m, *args)
        return made

    return wrapper
