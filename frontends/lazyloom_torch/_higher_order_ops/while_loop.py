"""``torch.while_loop``: a function again and again, while a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazyloom
from lazyloom.errors import type_name

from ..func._trees import plain
from ._calls import called, check_function, check_leaves, giving_plain


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any],
    carried_inputs: tuple[Any, ...] | list[Any], *, max_steps: int | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """``body_fn(*carried)`` again and again, while ``cond_fn(*carried)`` is true.

    Both functions are recorded once, on tensors without data, and the loop runs without a read.

    Args:
        cond_fn: gives a bool, mostly a tensor without dimensions. It and ``body_fn`` may use
            tensors from outside, but not write to them.
        body_fn: gives a tuple nested as ``carried_inputs``, with the same shapes and dtypes.
        carried_inputs: tensors and numbers, also in nested tuples, lists and dicts.
        max_steps: stop after so many steps. PyTorch has no such argument; gradients need it, and
            take the time and memory of that many steps.

    Returns:
        the last carry, a tuple; a number has become a tensor without dimensions.

    Raises RuntimeError for other arguments, and (by a backward pass) where there is no
    ``max_steps``.
    """
    check_function(cond_fn, "torch.while_loop", "cond_fn")
    check_function(body_fn, "torch.while_loop", "body_fn")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(
            "torch.while_loop: carried_inputs must be a tuple or list, but got a "
            f"{type_name(carried_inputs)}")
    check_leaves(list(carried_inputs), "torch.while_loop", "carried_inputs", numbers=True)

    def body(carried: tuple[Any, ...]) -> Any:
        found = body_fn(*carried)
        return tuple(found) if isinstance(found, list) else found

    goes_on, step = _named(lambda carried: cond_fn(*carried), cond_fn), _named(body, body_fn)
    found: tuple[Any, ...] = called(lambda: lazyloom.while_loop(
        goes_on, giving_plain(step), plain(tuple(carried_inputs)), max_steps=max_steps))
    return found


def _named(f: Callable[..., Any], of: Callable[..., Any]) -> Callable[..., Any]:
    """The function by the name and place of another one, which it calls."""
    f.__wrapped__ = of  # type: ignore[attr-defined]
    return f
