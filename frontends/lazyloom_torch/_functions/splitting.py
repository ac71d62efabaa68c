"""A tensor in parts along a dimension: views, as PyTorch's."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable
from typing import Any

from lazyloom import grad_enabled
from lazyloom.frontend import read_parts

from .._core import Function, axis
from .._registry import declare
from .._tensor import Tensor
from .plans import planned
from .views import narrow, select


def _dimensions(input: Tensor, name: str, least: int = 1) -> None:
    if input.ndim < least:
        raise RuntimeError(
            f"{name} expects at least a {least}-dimensional tensor, but got a tensor with "
            f"{input.ndim} dimensions")


#: functions whose results may not be written while gradients are recorded: what errors call them
_SEVERAL = {"chunk": "Split", "split": "Split", "split_with_sizes": "Split", "unbind": "Unbind"}


def _together(function: Function) -> Function:
    """A function that gives parts of a tensor: those with gradients are read together."""

    # the others are made of slices, each of which is the only result
    kind = _SEVERAL.get(function.__name__)

    @functools.wraps(function)
    def wrapper(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        parts = function(input, *args, **kwargs)
        if isinstance(input, Tensor):
            read_parts(input, parts)
            if grad_enabled() and input.requires_grad:
                for part in parts:
                    part._of_several = kind
        return parts

    return typing.cast(Function, wrapper)


@_together
@planned
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """All indices along a dimension, as a tuple."""
    if not input.tensor_type.shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    at = axis(dim, input.ndim)
    return tuple(select(input, at, i) for i in range(input.tensor_type.shape[at]))


@_together
@planned
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of one size (the last may be smaller), or of the listed sizes."""
    if not isinstance(split_size_or_sections, int):
        return _of_sizes(tensor, split_size_or_sections, dim)
    _dimensions(tensor, "split")
    at = axis(dim, tensor.ndim)
    size = tensor.tensor_type.shape[at]
    step = split_size_or_sections
    if isinstance(step, bool):
        raise TypeError("split(): split_size must be an int or a list of ints, not bool")
    if step < 0 or (step == 0 and size):
        raise RuntimeError(f"split expects split_size be non-negative, but got {step}")
    return _parts(tensor, _equal(size, step) if size else [0], at)


def _equal(size: int, step: int) -> list[int]:
    return [min(step, size - i) for i in range(0, size, step)]


def _parts(tensor: Tensor, sizes: list[int], at: int) -> tuple[Tensor, ...]:
    parts, start = [], 0
    for s in sizes:
        parts.append(narrow(tensor, at, start, s))
        start += s
    return tuple(parts)


@_together
@planned
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of the listed sizes, which add up to the dimension's."""
    return _of_sizes(input, split_sizes, dim)


def _of_sizes(input: Tensor, split_sizes: Any, dim: int) -> tuple[Tensor, ...]:
    _dimensions(input, "split_with_sizes")
    at = axis(dim, input.ndim)
    size = input.tensor_type.shape[at]
    sizes = [s.__index__() for s in split_sizes]
    if sum(sizes) != size or any(s < 0 for s in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's "
            f"size at dimension {at}), but got split_sizes={sizes}")
    return _parts(input, sizes, at)


@_together
@planned
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` parts of equal size, the last smaller if need be."""
    _dimensions(input, "chunk")
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    at = axis(dim, input.ndim)
    size = input.tensor_type.shape[at]
    if not size:
        return _parts(input, [0] * chunks, at)
    return _parts(input, _equal(size, -(-size // chunks)), at)


def _places(given: Any) -> Any:
    """The number of sections, or the places of cuts; a tensor of them is read."""
    if isinstance(given, Tensor):
        if given.tensor_type.dtype.name != "int64":
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{given.dtype!r}")
        if given.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {given.ndim} dims")
        return given.tolist()
    if isinstance(given, int):
        return given
    if not all(hasattr(i, "__index__") for i in given):
        raise TypeError(f"expected an int, a list of ints or a Tensor, not {given!r}")
    return [i.__index__() for i in given]


@_together
@planned
def tensor_split(input: Tensor, indices_or_sections: Any = None, dim: int = 0, *,
                 indices: Any = None, sections: Any = None, tensor_indices_or_sections: Any = None,
                 ) -> tuple[Tensor, ...]:  # fmt: skip
    """Parts whose sizes differ by at most one, or parts between the given indices."""
    given = next((g for g in (indices_or_sections, indices, sections, tensor_indices_or_sections)
                  if g is not None), None)
    if given is None:
        raise TypeError("tensor_split() takes a number of sections, or indices")
    _dimensions(input, "tensor_split")
    at = axis(dim, input.ndim)
    size = input.tensor_type.shape[at]
    places = _places(given)
    if isinstance(places, int):
        if places < 1:
            raise RuntimeError(f"number of sections must be larger than 0, got {places}")
        return _parts(input, [size // places + (i < size % places) for i in range(places)], at)
    bounds = [0, *[min(max(i + size if i < 0 else i, 0), size) for i in places], size]
    return tuple(narrow(input, at, a, max(b - a, 0))
                 for a, b in zip(bounds[:-1], bounds[1:], strict=True))


def _along(name: str, least: int, dim: int) -> Callable[..., tuple[Tensor, ...]]:
    def function(input: Tensor, indices_or_sections: Any = None, *, indices: Any = None,
                 sections: Any = None) -> tuple[Tensor, ...]:
        given = next((g for g in (indices_or_sections, indices, sections) if g is not None), None)
        if isinstance(given, str) or given is None:
            raise TypeError(f"{name}() takes an int or a list of ints, not {given!r}")
        _dimensions(input, f"torch.{name}", least)
        at = min(dim, input.ndim - 1)
        if isinstance(given, int):
            size = input.tensor_type.shape[at]
            if given < 1 or size % given:
                raise RuntimeError(
                    f"torch.{name} attempted to split along dimension {at}, but the size of the "
                    f"dimension {size} is not divisible by the split_size {given}!")
        found: tuple[Tensor, ...] = tensor_split(input, given, at)
        return found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"Parts along dimension {dim}: as many equal ones as an int says, or those "
                        "between indices.")
    return function


hsplit, vsplit, dsplit = _along("hsplit", 1, 1), _along("vsplit", 2, 0), _along("dsplit", 3, 2)


def _unsafe(function: Callable[..., tuple[Tensor, ...]]) -> Callable[..., tuple[Tensor, ...]]:
    """A function of several parts that may be written, each as if it were the only one."""
    def parts(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        found = function(*args, **kwargs)
        for part in found:
            part._of_several, part._without_grad = None, ""
        return found

    parts.__name__ = parts.__qualname__ = f"unsafe_{function.__name__}"
    parts.__doc__ = function.__doc__
    return parts


def _split(self: Tensor, split_size: Any, dim: int = 0) -> Any:
    """Parts of a size, or of sizes, along a dimension: views."""
    return split(self, split_size, dim)


# so that it is published, and pickled, by the method's name
_split.__name__ = _split.__qualname__ = "split"

declare({
    "function method": [
        unbind, split_with_sizes, chunk, tensor_split, hsplit, vsplit, dsplit,
        *map(_unsafe, (split, split_with_sizes, chunk))],
    "function": [split],
    "method": [("split", _split)],
})
