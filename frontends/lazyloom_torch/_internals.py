"""Functions of PyTorch's own use that libraries call: checks of arguments, and lists of tensors.

``torch._check`` and its kin raise the error that a condition asks for; ``torch._foreach_add`` and
its kin do to each tensor of a list what the function without ``_foreach`` does to one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from . import _dtypes
from ._functions import creation, reductions
from ._grad_mode import no_grad
from ._registry import declare
from ._samples import dirichlet, gamma
from ._tensor import Tensor


def _raiser(kind: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Any = None) -> None:
        if not cond:
            said = message() if callable(message) else message
            raise kind(said or "Expected cond to be True, but got False")

    check.__doc__ = f"Raise {kind.__name__} unless a condition holds; the message is a function."
    return check


def _check_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    """Raise an error of a type unless a condition holds."""
    _raiser(error_type)(cond, message)


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """Raise RuntimeError for a negative number."""
    _raiser(RuntimeError)(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all(cond: Tensor, message: Any = None) -> None:
    """Raise RuntimeError unless all elements are true; reads."""
    _raiser(RuntimeError)(bool(cond.all()), message)


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Any = None) -> None:
    """Raise an error of a type unless all elements are true; reads."""
    _raiser(error_type)(bool(cond.all()), message)


def _assert(condition: Any, message: str) -> None:
    """``assert condition, message``; a tensor is read."""
    if not condition:
        raise AssertionError(message)


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raise RuntimeError unless the one element of a tensor is true; reads."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The shape, as a tensor of int64."""
    found: Tensor = creation.tensor(list(input.shape), dtype=_dtypes.int64)
    return found


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
                           ) -> Tensor:
    """The gradient of a softmax by its result."""
    product = grad_output * output
    found: Tensor = product - output * product.sum(dim, keepdim=True)
    return found.to(input_dtype)


def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """A draw of the Dirichlet distribution with these concentrations."""
    with no_grad():
        return dirichlet(input, generator)


def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Gamma numbers of unit rate with these concentrations, which have gradients."""
    return gamma(input, generator)


_FUNCTIONS: dict[str, Any] = {
    "_check": _raiser(RuntimeError), "_check_index": _raiser(IndexError),
    "_check_value": _raiser(ValueError), "_check_type": _raiser(TypeError),
    "_check_not_implemented": _raiser(NotImplementedError), "_check_with": _check_with,
    "_check_is_size": _check_is_size, "_check_tensor_all": _check_tensor_all,
    "_check_tensor_all_with": _check_tensor_all_with, "_assert": _assert,
    "_assert_async": _assert_async, "_shape_as_tensor": _shape_as_tensor,
    "_sample_dirichlet": _sample_dirichlet, "_standard_gamma": _standard_gamma,
    "_softmax_backward_data": _softmax_backward_data,
}
for _name, _function in _FUNCTIONS.items():
    _function.__name__ = _function.__qualname__ = _name


# -- lists of tensors -----------------------------------------------------------------------

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 "
    "neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc").split()
_BINARY = "add sub mul div maximum minimum pow clamp_max clamp_min".split()
#: where the tensors of the second list are as many as those of the first, or a number
_TERNARY = "addcmul addcdiv lerp".split()


def _each(given: Any, count: int) -> Any:
    """As many as there are tensors: those of a list, or the same number for each."""
    if isinstance(given, (list, tuple)):
        if len(given) != count:
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {count} and {len(given)}")
        return given
    return itertools.repeat(given, count)


def _foreach(name: str, one: Callable[..., Any]) -> Callable[..., list[Tensor]]:
    def function(self: Any, *others: Any, **options: Any) -> list[Tensor]:
        tensors = list(self)
        rows = zip(*[_each(o, len(tensors)) for o in others]) if others else itertools.repeat(())
        keys = {k: _each(v, len(tensors)) for k, v in options.items()}
        values = zip(*keys.values()) if keys else itertools.repeat(())
        return [one(t, *row, **dict(zip(keys, row_of_options)))
                for t, row, row_of_options in zip(tensors, rows, values)]

    function.__name__ = function.__qualname__ = f"_foreach_{name}"
    function.__doc__ = f"``{name}`` of each tensor of a list."
    return function


def _in_place(name: str, one: Callable[..., Any]) -> Callable[..., None]:
    each = _foreach(name, one)

    def function(self: Any, *others: Any, **options: Any) -> None:
        each(self, *others, **options)

    function.__name__ = function.__qualname__ = f"_foreach_{name}"
    function.__doc__ = f"``{name}`` of each tensor of a list, in place."
    return function


def _method(name: str) -> Callable[..., Any]:
    return lambda tensor, *others, **options: getattr(tensor, name)(*others, **options)


def _extreme(name: str) -> Callable[..., Any]:
    """The maximum or minimum with a tensor or, as PyTorch's lists allow, a number."""
    def one(tensor: Any, other: Any) -> Tensor:
        found: Tensor = getattr(tensor, name)(
            other if isinstance(other, Tensor) else tensor.new_full((), other))
        return found

    return one


def _written(one: Callable[..., Any]) -> Callable[..., Any]:
    return lambda tensor, *others, **options: tensor.copy_(one(tensor, *others, **options))


def _lists() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in (*_UNARY, *_BINARY, *_TERNARY):
        one = _extreme(name) if name in ("maximum", "minimum") else _method(name)
        found[f"_foreach_{name}"] = _foreach(name, one)
        found[f"_foreach_{name}_"] = _in_place(
            f"{name}_", _written(one) if name in ("maximum", "minimum") else _method(f"{name}_"))
    found["_foreach_zero_"] = _in_place("zero_", _method("zero_"))
    found["_foreach_copy_"] = _in_place("copy_", _method("copy_"))
    found["_foreach_norm"] = _foreach("norm", lambda t, ord=2, dtype=None: reductions.norm(
        t if dtype is None else t.to(dtype), ord))
    found["_foreach_max"] = _foreach("max", lambda t: t.max())
    return found


declare({"function as-is": {**_FUNCTIONS, **_lists()}.items()})
