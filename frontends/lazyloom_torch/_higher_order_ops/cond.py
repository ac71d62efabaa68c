"""``torch.cond``: one of two functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazyloom
from lazyloom.errors import type_name

from .._tensor import Tensor
from ..func._trees import plain
from ._calls import called, check_function, check_leaves, giving_plain


def cond(
    pred: bool | int | float | Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any],
    operands: tuple[Any, ...] | list[Any] = (),
) -> Any:  # fmt: skip
    """``true_fn(*operands)`` where ``pred``, else ``false_fn(*operands)``.

    A tensor ``pred`` of one element is not read: both functions are recorded, on tensors without
    data, and the one that is chosen runs. For a Python number the function is just called.

    Args:
        pred: a bool or a tensor of one element.
        true_fn, false_fn: take the operands; what they give has equal nesting, shapes and dtypes.
            They may use tensors from outside, but not write to them.
        operands: tensors, also in nested tuples, lists and dicts.

    Gradients pass through it, and ``torch.vmap`` maps it: where ``pred`` is mapped both run.

    Raises RuntimeError for other arguments, and where what the functions give differs.
    """
    for name, f in (("true_fn", true_fn), ("false_fn", false_fn)):
        check_function(f, "torch.cond", name)
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(
            f"torch.cond: operands must be a tuple or list, but got a {type_name(operands)}")
    check_leaves(list(operands), "torch.cond", "operands")
    if isinstance(pred, (bool, int, float)):
        return true_fn(*operands) if pred else false_fn(*operands)
    if not isinstance(pred, Tensor) or pred.tensor_type.size != 1:
        what = f"a Tensor of shape {tuple(pred.tensor_type.shape)}" if isinstance(
            pred, Tensor) else f"a {type_name(pred)}"
        raise RuntimeError(
            f"torch.cond: pred must be a bool or a Tensor of one element, but got {what}")
    which = plain(pred.reshape(()))
    return called(lambda: lazyloom.cond(
        which, giving_plain(true_fn), giving_plain(false_fn), *plain(tuple(operands))))
