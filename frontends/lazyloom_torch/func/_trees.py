"""Arguments and results of transformed functions: nested tuples, lists and dicts of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazyloom
from lazyloom.errors import type_name

from .._tensor import Tensor, operand


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a tree, and its nesting."""
    found: tuple[list[Any], Any] = lazyloom.tree_flatten(tree, Tensor)
    return found


def mapped(f: Callable[[Any], Any], tree: Any) -> Any:
    """``f`` of every leaf, in the same nesting."""
    return lazyloom.tree_map(f, tree, Tensor)


def plain(tree: Any) -> Any:
    """The tree with tensors that hold just a value: no detached alias, no Parameter.

    Where no gradients are recorded, their history is no part of that.
    """
    tracked = lazyloom.grad_enabled()

    def one(t: Any) -> Any:
        if not isinstance(t, Tensor):
            return t
        value = operand(t)
        return Tensor.from_value(value if tracked else value.detach())

    return mapped(one, tree)


def conjugated(tree: Any) -> Any:
    """Complex tensors conjugated: the runtime's cotangents as PyTorch's, and back."""
    return mapped(
        lambda t: Tensor.from_value(lazyloom.record("conj", [operand(t)]))
        if isinstance(t, Tensor) and t.tensor_type.dtype.is_complex else t, tree)


def check_tensors(tree: Any, what: str) -> None:
    """Raise RuntimeError unless every leaf is a Tensor."""
    for leaf in flatten(tree)[0]:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{what} must be Tensors, got {type_name(leaf)}")
