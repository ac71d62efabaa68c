"""What distributions share: parameters of one shape, odds and probabilities, random numbers."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import lazyloom
import lazyloom_torch as torch
from lazyloom.errors import type_name
from lazyloom_torch import Tensor

from .._samples import draw
from .._tensor import operand

euler_constant = 0.57721566490153286060


def formula(function: Callable[..., Any]) -> Any:
    """A method of a declaration, from a function of the object and the arguments."""
    return function


def derived(function: Callable[[Any], Any]) -> Any:
    """A read-only property of a declaration, computed from the object."""
    return property(function)


def delegated(path: str) -> Any:
    """An attribute that an inner object has, by its dotted path from the outer one."""
    owner, _, name = path.rpartition(".")
    inner = operator.attrgetter(owner)
    return property(operator.attrgetter(path), lambda d, value: setattr(inner(d), name, value))


def undeclared(*arguments: Any) -> Any:
    """What a declaration may lack: calling it is an error."""
    raise NotImplementedError


def not_given(what: str, text: str = "") -> Any:
    """The declaration of a quantity that a family may lack; reading it is an error."""

    def refuse(self: Any) -> Any:
        raise NotImplementedError(text.format(type(self)))

    return property(refuse, doc=what)


class _RefusedError(lazyloom.errors.ExecutionError, ValueError):
    """A value outside of its constraint, which became known when the program had run."""


def _judge(data: Any, check: lazyloom.Check) -> lazyloom.LoomError:
    return _RefusedError(f"{check.of} (recorded at {check.site})", op="distributions",
                         site=str(check.site))


lazyloom.register_check("torch.distributions", _judge)


def checked(value: Tensor, holds: Tensor, text: str) -> Tensor:
    """The value, whose readers get a ValueError where ``holds`` has an element that is false."""
    bad = operand(~holds if holds.ndim == 0 else ~holds.all())
    found = lazyloom.record("checked", [operand(value), bad], {
        "kind": "torch.distributions", "of": text})[0]
    return Tensor.from_value(found)


def is_number(x: Any) -> bool:
    """Whether x is a Python number."""
    return isinstance(x, (int, float)) and not isinstance(x, Tensor)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape; numbers take the dtype of the tensors.

    Raises ValueError for anything else.
    """
    tensors = [v for v in values if isinstance(v, Tensor)]
    kind = tensors[0].dtype if tensors else torch.get_default_dtype()
    for v in values:
        if not (isinstance(v, Tensor) or is_number(v)):
            raise ValueError(
                "Input arguments must all be instances of Number, torch.Tensor or objects "
                f"implementing __torch_function__, not {type_name(v)}.")
    found: Any = torch.broadcast_tensors(*(
        torch.full((), v, dtype=kind) if is_number(v) else v for v in values))
    for v, t in zip(values, found):
        if is_number(v):
            t._number = v  # looked at at once where a tensor is looked at when it is read
    return tuple(found)


def standard_normal(shape: Any, dtype: Any) -> Tensor:
    """Numbers of the standard normal distribution."""
    return draw("random_normal", [], shape, dtype)


def uniform(shape: Any, dtype: Any) -> Tensor:
    """Numbers uniform on [0, 1)."""
    zero, one = (torch.full((), x, dtype=dtype) for x in (0.0, 1.0))
    return draw("random_uniform", [zero, one], shape)


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last ``dim`` dimensions."""
    if dim == 0 or not isinstance(value, Tensor):
        return value
    return value.flatten(-dim).sum(-1)


#: names that libraries import from here
_standard_normal, _sum_rightmost = standard_normal, sum_rightmost


def diagonal_of(matrix: Tensor) -> Tensor:
    """The diagonals of a batch of matrices."""
    return matrix.diagonal(dim1=-2, dim2=-1)


def inside_unit(x: Tensor, least: float | None = None) -> Tensor:
    """Numbers kept away from 0, by ``least`` or the smallest normal number, and by eps from 1."""
    limits = torch.finfo(x.dtype)
    return x.clamp(min=limits.tiny if least is None else least, max=1 - limits.eps)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept an eps away from 0 and 1."""
    return inside_unit(probs, torch.finfo(probs.dtype).eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from log odds, or from logarithms of weights in the last dimension."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds from probabilities, or logarithms of them."""
    kept = clamp_probs(probs)
    return kept.log() - (-kept).log1p() if is_binary else kept.log()


class lazy_property:  # noqa: N801  (PyTorch's name)
    """A property computed on first use, on the tape, and then kept on the object."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__
        self.name = wrapped.__name__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with torch.enable_grad():
            found = vars(instance)[self.name] = self.wrapped(instance)
        return found


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal of (..., n, n), row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = torch.tril_indices(n, n, diag).unbind()
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of :func:`tril_matrix_to_vec`; zeros elsewhere."""
    count = vec.shape[-1]
    n = next(n for n in itertools.count() if _below(n, diag) >= count)
    if _below(n, diag) != count:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as the "
                         "lower triangular part of a square D x D matrix.")
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    rows, columns = torch.tril_indices(n, n, diag).unbind()
    mat[..., rows, columns] = vec
    return mat


def _below(n: int, diag: int) -> int:
    """How many elements of n by n are on or below a diagonal."""
    return sum(min(max(row + 1 + diag, 0), n) for row in range(n))


__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs",
    "probs_to_logits", "tril_matrix_to_vec", "vec_to_tril_matrix",
]
