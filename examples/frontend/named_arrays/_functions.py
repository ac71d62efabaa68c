"""Functions of named arrays, and the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazyloom

from ._array import NamedArray, elementwise, wrap


def exp(x: NamedArray) -> NamedArray:
    """The exponential of each element."""
    return elementwise("exp", x)


def log(x: NamedArray) -> NamedArray:
    """The natural logarithm of each element."""
    return elementwise("log", x)


def tanh(x: NamedArray) -> NamedArray:
    """The hyperbolic tangent of each element."""
    return elementwise("tanh", x)


def dot(x: NamedArray, y: NamedArray) -> NamedArray:
    """The sum of products over the dimensions that both have; the operator ``@``."""
    shared = [d for d in x.dims if d in y.dims]
    value = lazyloom.record("dot_general", [x.value, y.value], {
        "lhs_contract": tuple(x.axis(d) for d in shared),
        "rhs_contract": tuple(y.axis(d) for d in shared)})
    return wrap(value, [d for d in (*x.dims, *y.dims) if d not in shared])


def concat(arrays: list[NamedArray], dim: str) -> NamedArray:
    """Arrays one after the other along a dimension that all of them have."""
    dims = arrays[0].dims
    values = [a.transpose(*dims).value for a in arrays]
    return wrap(lazyloom.record("concatenate", values, {"axis": arrays[0].axis(dim)}), dims)


def grad(function: Callable[..., NamedArray]) -> Callable[..., NamedArray]:
    """The gradient of a function, whose result has no dimension, by its first argument."""

    def gradient(x: NamedArray, *others: Any) -> NamedArray:
        leaf = wrap(x.value.as_leaf(object()), x.dims)
        result = function(leaf, *others)
        found = lazyloom.gradients([result.value], [leaf.value], create_graph=True)
        assert found[0] is not None
        return wrap(found[0], x.dims)

    return gradient
