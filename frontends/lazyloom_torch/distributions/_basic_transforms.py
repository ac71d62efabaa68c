"""Maps of numbers with the logarithms of their slopes, and their composition."""

from __future__ import annotations

import functools
import math
import operator
import weakref
from collections.abc import Sequence
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor
from lazyloom_torch.nn.functional import softplus

from . import constraints
from .constraints import Constraint
from .utils import broadcast_all, is_number, sum_rightmost


class Transform:
    """A differentiable map, called as a function; ``inv`` is its inverse.

    Attributes:
        domain, codomain: constraints of what goes in and comes out.
        bijective: each value comes from one value.
        sign: of the slope of a monotone map, 1 or -1.
    """

    bijective = False
    domain: Constraint
    codomain: Constraint

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: weakref.ReferenceType[Transform] | None = None
        self._kept: tuple[Any, Any] = (None, None)

    @property
    def event_dim(self) -> int:
        """So many last dimensions belong to one value."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse map."""
        found = None if self._inv is None else self._inv()
        if found is None:
            found = _InverseTransform(self)
            self._inv = weakref.ref(found)
        return found

    @property
    def sign(self) -> Any:
        """1 or -1: whether a monotone map rises or falls."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same map with a cache of another size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        if not self._cache_size:
            return self._call(x)
        known, result = self._kept
        if x is known and x is not None:
            return result
        y = self._call(x)
        self._kept = (x, y)
        return y

    def _inv_call(self, y: Any) -> Any:
        if not self._cache_size:
            return self._inverse(y)
        source, known = self._kept
        if y is known and y is not None:
            return source
        x = self._inverse(y)
        self._kept = (x, y)
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of ``|dy/dx|`` for an input and its output."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__ + "()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the output for a shape of the input."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the input for a shape of the output."""
        return shape


class _InverseTransform(Transform):
    """What :attr:`Transform.inv` gives."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._forward = transform

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        return self._forward.codomain

    @property
    def codomain(self) -> Constraint:  # type: ignore[override]
        return self._forward.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._forward.bijective

    @property
    def sign(self) -> Any:
        return self._forward.sign

    @property
    def inv(self) -> Transform:
        return self._forward

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._forward.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._forward == other._forward

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._forward!r})"

    def __call__(self, x: Any) -> Any:
        return self._forward._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._forward.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._forward.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._forward.forward_shape(shape)


def _independent(constraint: Constraint, n: int) -> Constraint:
    return constraints.independent(constraint, n) if n else constraint


class ComposeTransform(Transform):
    """Maps one after the other."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = list(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        if not self.parts:
            return constraints.real
        dims = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            dims = max(dims + part.domain.event_dim - part.codomain.event_dim,
                       part.domain.event_dim)
        first = self.parts[0].domain
        return _independent(first, dims - first.event_dim)

    @property
    def codomain(self) -> Constraint:  # type: ignore[override]
        if not self.parts:
            return constraints.real
        dims = self.parts[0].domain.event_dim
        for part in self.parts:
            dims = max(dims + part.codomain.event_dim - part.domain.event_dim,
                       part.codomain.event_dim)
        last = self.parts[-1].codomain
        return _independent(last, dims - last.event_dim)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(p.bijective for p in self.parts)

    @property
    def sign(self) -> Any:
        return functools.reduce(operator.mul, (p.sign for p in self.parts), 1)

    @property
    def inv(self) -> Transform:
        found = None if self._inv is None else self._inv()
        if found is None:
            found = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv = weakref.ref(found)
            found._inv = weakref.ref(self)
        return found

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ComposeTransform(
            self.parts, cache_size=cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return torch.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        dims = self.domain.event_dim
        terms = []
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            terms.append(sum_rightmost(
                part.log_abs_det_jacobian(before, after), dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        inner = ",\n    ".join(repr(p) for p in self.parts)
        return f"{type(self).__name__}(\n    {inner}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A map whose last batch dimensions belong to its values."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int,
                 cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else IndependentTransform(
            self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Constraint:  # type: ignore[override]
        return constraints.independent(self.base_transform.codomain,
                                       self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        if x.ndim < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        if y.ndim < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y),
                             self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}({self.base_transform!r}, "
                f"{self.reinterpreted_batch_ndims})")

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Values of one shape as values of another."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = torch.Size(in_shape), torch.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Constraint:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ReshapeTransform(
            self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[:x.ndim - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[:y.ndim - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[:x.ndim - len(self.in_shape)])

    def _other(self, shape: Any, before: Any, after: Any) -> Any:
        if len(shape) < len(before) or tuple(shape[len(shape) - len(before):]) != tuple(before):
            raise ValueError(f"Shape mismatch: expected {tuple(before)} at the end of "
                             f"{tuple(shape)}")
        return tuple(shape[:len(shape) - len(before)]) + tuple(after)

    def forward_shape(self, shape: Any) -> Any:
        return self._other(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._other(shape, self.out_shape, self.in_shape)


class _Elementwise(Transform):
    """A rising bijection of each element on its own, without parameters."""

    bijective = True
    domain = constraints.real

    @property
    def sign(self) -> Any:
        return 1

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    __hash__ = object.__hash__


class ExpTransform(_Elementwise):
    """``exp(x)``."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """``x ** exponent`` of positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else PowerTransform(
            self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(
            self.exponent.eq(other.exponent).all().item())

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return torch.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def inside_unit(y: Tensor) -> Tensor:
    """Numbers kept away from 0 and 1."""
    limits = torch.finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1.0 - limits.eps)


class SigmoidTransform(_Elementwise):
    """``1 / (1 + exp(-x))``."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return inside_unit(torch.sigmoid(x))

    def _inverse(self, y: Any) -> Any:
        y = inside_unit(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Elementwise):
    """``log(1 + exp(x))``."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(_Elementwise):
    """``tanh(x)``; stabler than its inverse near 1."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        # log(1 - tanh(x)**2), written so that it does not cancel
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """``|x|``; its inverse is the positive branch."""

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """``loc + scale * x``, for values of ``event_dim`` dimensions."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        return _independent(constraints.real, self._event_dim)

    codomain = domain  # type: ignore[assignment]

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else AffineTransform(
            self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(a == b if is_number(a) and is_number(b) else bool(
            torch.as_tensor(a == b).all().item()) for a, b in pairs)

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        if is_number(self.scale):
            return 1 if float(self.scale) > 0 else -1 if float(self.scale) < 0 else 0
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if is_number(self.scale):
            found = torch.full_like(x, math.log(abs(self.scale)))
        else:
            found = torch.abs(self.scale).log()
        n = self._event_dim
        if n:
            found = found.expand(torch.broadcast_shapes(found.shape, x.shape))
            found = sum_rightmost(found, n)
        return found.expand(x.shape[:x.ndim - n] if n else torch.broadcast_shapes(
            x.shape, found.shape))

    def forward_shape(self, shape: Any) -> Any:
        return torch.broadcast_shapes(
            shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape
