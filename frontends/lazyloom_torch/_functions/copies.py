"""Views as copies, and copies with a view of them written."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core import axis, cast
from .._formats import contiguous_format
from .._registry import declare
from .._tensor import Tensor, operand
from . import splitting, strided, views


def _alias(input: Tensor) -> Tensor:
    return input


def _slice(input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
           ) -> Tensor:
    """``input[start:end:step]`` along a dimension, a view."""
    at = axis(dim, input.ndim)
    if not input.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError(f"slice step must be positive, got {step}")
    shape = input.tensor_type.shape
    first, last, _ = slice(start, end, step).indices(shape[at])
    starts, sizes, steps = [0] * len(shape), list(shape), [1] * len(shape)
    starts[at], sizes[at], steps[at] = first, max(-(-(last - first) // step), 0), step
    return views.slices(input, starts, sizes, steps)


def _copy(name: str, view: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        made = view(*args, **kwargs)
        if isinstance(made, Tensor):
            return views.clone(made, memory_format=contiguous_format)
        return tuple(views.clone(m, memory_format=contiguous_format) for m in made)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{name.removesuffix('_copy')}``, as a copy."
    return function


def _view(input: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    found: Tensor = views.view(input, *size) if dtype is None else views.view(input, dtype)
    return found


_VIEWS: dict[str, Any] = {
    "alias": _alias, "as_strided": strided.as_strided, "detach": Tensor.detach,
    "diagonal": views.diagonal, "expand": views.expand, "narrow": views.narrow,
    "permute": views.permute, "select": views.select, "slice": _slice,
    "split": splitting.split, "split_with_sizes": splitting.split_with_sizes,
    "squeeze": views.squeeze, "t": views.t, "transpose": views.transpose,
    "unbind": splitting.unbind, "unfold": strided.unfold, "unsqueeze": views.unsqueeze,
    "view": _view, "view_as_complex": strided.view_as_complex,
    "view_as_real": strided.view_as_real,
}  # fmt: skip


def _written(name: str, view: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(view)
    def function(input: Tensor, src: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        copy = views.clone(input)
        part = view(copy, *args, **kwargs)
        if src.tensor_type.shape != part.tensor_type.shape:
            raise RuntimeError(
                f"{name}: expected src to have a size equal to the part of self. src size = "
                f"{list(src.shape)}, part size = {list(part.shape)}")
        part._assign(cast(operand(src), part.tensor_type.dtype))
        return copy

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A copy of input in which the part that {name[:-8]} gives is ``src``."
    return function


_PARTS: dict[str, Any] = {
    "diagonal_scatter": views.diagonal, "select_scatter": views.select, "slice_scatter": _slice,
    "as_strided_scatter": strided.as_strided}
#: copies without ``out``
_WITHOUT = ("detach", "select", "slice", "view_as_complex", "view_as_real")
declare({
    "function method out": [
        _copy("narrow_copy", _VIEWS["narrow"]), _written("slice_scatter", _slice)],
    "function out": [_copy(f"{n}_copy", f) for n, f in _VIEWS.items()
                     if n not in ("narrow", *_WITHOUT)],
    "function": [_copy(f"{n}_copy", _VIEWS[n]) for n in _WITHOUT],
    "function method": [
        _written("diagonal_scatter", views.diagonal), _written("select_scatter", views.select),
        _written("as_strided_scatter", strided.as_strided)],
})
