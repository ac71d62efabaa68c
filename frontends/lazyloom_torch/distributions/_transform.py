"""What a map is, its inverse and cache, and maps that are made of others."""

from __future__ import annotations

import copy
import functools
import math
import operator
import weakref
from collections.abc import Sequence
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .constraints import Constraint
from .utils import delegated, derived, formula, not_given, sum_rightmost, undeclared


def _same(a: Any, b: Any) -> bool:
    """Whether two parameters are equal; reads those that are tensors."""
    found = a == b
    return bool(found.all().item()) if isinstance(found, Tensor) else bool(found)


def _cached(part: Any, cache_size: int) -> Any:
    """A map, or a list of them, with caches of that size; anything else as it is."""
    if isinstance(part, list):
        return [_cached(p, cache_size) for p in part]
    return part.with_cache(cache_size) if isinstance(part, Transform) else part


class Transform:
    """A differentiable map, called as a function; ``inv`` is its inverse.

    Attributes:
        domain, codomain: constraints of what goes in and comes out.
        bijective: each value comes from one value.

    A map of this package declares ``_call(x)``, ``_inverse(y)`` and ``_slope(x, y)``, which is
    ``log |dy/dx|``.
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    sign: Any = not_given("1 or -1: whether a monotone map rises or falls.")
    _call: Any = undeclared
    _inverse: Any = undeclared
    _slope: Any = undeclared
    #: the attributes that make two maps of a class equal, or None: only the same map is equal
    _equal_by: tuple[str, ...] | None = None

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)

    @property
    def event_dim(self) -> int:
        """So many last dimensions belong to one value."""
        dims: int = self.domain.event_dim
        if self.codomain.event_dim != dims:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return dims

    @property
    def inv(self) -> Transform:
        """The inverse map."""
        found: Transform | None = self._inv and self._inv()
        if found is None:
            found = self._inverted()
            self._inv = weakref.ref(found)
        return found

    _inverted: Any = formula(lambda t: _InverseTransform(t))

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same map with a cache of another size."""
        if cache_size == self._cache_size:
            return self
        new = copy.copy(self)
        Transform.__init__(new, cache_size)
        vars(new).update({name: _cached(part, cache_size) for name, part in vars(new).items()})
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_inv": None, "_cached_x_y": (None, None)}

    def __eq__(self, other: object) -> bool:
        if self is other or self._equal_by is None or type(other) is not type(self):
            return self is other
        return all(_same(getattr(self, n), getattr(other, n)) for n in self._equal_by)

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        if not self._cache_size:
            return self._call(x)
        if x is None or x is not self._cached_x_y[0]:
            self._cached_x_y = (x, self._call(x))
        return self._cached_x_y[1]

    def _inv_call(self, y: Any) -> Any:
        if not self._cache_size:
            return self._inverse(y)
        if y is None or y is not self._cached_x_y[1]:
            self._cached_x_y = (self._inverse(y), y)
        return self._cached_x_y[0]

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of ``|dy/dx|`` for an input and its output."""
        return self._slope(x, y)

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the output for a shape of the input."""
        parameters = [getattr(self, name) for name in self._equal_by or ()]
        shapes = [p.shape for p in parameters if isinstance(p, Tensor)]
        return torch.broadcast_shapes(shape, *shapes) if shapes else shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the input for a shape of the output."""
        return Transform.forward_shape(self, shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """What :attr:`Transform.inv` gives."""

    domain, codomain = delegated("_forward.codomain"), delegated("_forward.domain")
    bijective, sign = delegated("_forward.bijective"), delegated("_forward.sign")
    inv = derived(lambda t: t._forward)
    forward_shape = delegated("_forward.inverse_shape")
    inverse_shape = delegated("_forward.forward_shape")
    _equal_by = ("_forward",)
    _slope = formula(lambda t, x, y: -t._forward.log_abs_det_jacobian(y, x))

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._forward = transform

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._forward.with_cache(cache_size).inv

    def __call__(self, x: Any) -> Any:
        return self._forward._inv_call(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._forward!r})"


def with_more(constraint: Constraint, dims: int) -> Constraint:
    """The constraint with so many more dimensions to a value."""
    return constraints.independent(constraint, dims) if dims else constraint


class ComposeTransform(Transform):
    """Maps one after the other."""

    bijective = derived(lambda t: all(part.bijective for part in t.parts))
    sign = derived(lambda t: math.prod(part.sign for part in t.parts))
    domain = derived(lambda t: t._end(0, "domain"))
    codomain = derived(lambda t: t._end(-1, "codomain"))
    _equal_by = ("parts",)

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = _cached(list(parts), cache_size) if cache_size else list(parts)

    def _inverted(self) -> Transform:
        found = ComposeTransform([part.inv for part in reversed(self.parts)])
        found._inv = weakref.ref(self)
        return found

    def _dims(self) -> list[int]:
        """How many dimensions belong to one value before each map and after the last.

        A map of values of n dimensions works on each of those of a value of more than n.
        """
        grown = [0]
        for part in self.parts:
            grown.append(grown[-1] + part.codomain.event_dim - part.domain.event_dim)
        first = max(part.domain.event_dim - n for part, n in zip(self.parts, grown))
        return [first + n for n in grown]

    def _end(self, at: int, which: str) -> Constraint:
        if not self.parts:
            return constraints.real
        found = getattr(self.parts[at], which)
        return with_more(found, self._dims()[at] - found.event_dim)

    def __call__(self, x: Any) -> Any:
        return functools.reduce(lambda value, part: part(value), self.parts, x)

    def _slope(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return torch.zeros_like(x)
        terms = []
        for at, (part, dims) in enumerate(zip(self.parts, self._dims()), 1):
            after = y if at == len(self.parts) else part(x)
            slope = part.log_abs_det_jacobian(x, after)
            terms.append(sum_rightmost(slope, dims - part.domain.event_dim))
            x = after
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        return functools.reduce(lambda s, part: part.forward_shape(s), self.parts, shape)

    def inverse_shape(self, shape: Any) -> Any:
        return functools.reduce(lambda s, part: part.inverse_shape(s), self.parts[::-1], shape)

    def __repr__(self) -> str:
        lines = [f"    {part!r}" for part in self.parts] or ["    "]
        return "ComposeTransform(\n" + ",\n".join(lines) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A map whose last batch dimensions belong to its values."""

    bijective, sign = delegated("base_transform.bijective"), delegated("base_transform.sign")
    forward_shape = delegated("base_transform.forward_shape")
    inverse_shape = delegated("base_transform.inverse_shape")
    domain = derived(lambda t: constraints.independent(t.base_transform.domain, t._more))
    codomain = derived(lambda t: constraints.independent(t.base_transform.codomain, t._more))
    _more = derived(lambda t: t.reinterpreted_batch_ndims)
    _call = formula(lambda t, x: t._apply(t.base_transform, x, t.domain))
    _inverse = formula(lambda t, y: t._apply(t.base_transform.inv, y, t.codomain))
    _slope = formula(lambda t, x, y: sum_rightmost(
        t.base_transform.log_abs_det_jacobian(x, y), t._more))

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int,
                 cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @staticmethod
    def _apply(f: Transform, x: Any, constraint: Constraint) -> Any:
        if x.ndim < constraint.event_dim:
            raise ValueError("Too few dimensions on input")
        return f(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self._more})"


class _PartsTransform(Transform):
    """A map for each part of a dimension; a subclass says how a tensor comes apart."""

    bijective = derived(lambda t: all(part.bijective for part in t.transforms))
    domain = derived(lambda t: t._constraint([part.domain for part in t.transforms]))
    codomain = derived(lambda t: t._constraint([part.codomain for part in t.transforms]))
    length: Any = property(lambda t: len(t.transforms), doc="The size of the dimension.")
    _constraint: Any = undeclared
    _split: Any = undeclared
    _join: Any = undeclared
    _call = formula(lambda t, x: t._join(
        [f(part) for f, part in zip(t.transforms, t._parts(x))], t.dim))
    _inverse = formula(lambda t, y: t._join(
        [f.inv(part) for f, part in zip(t.transforms, t._parts(y))], t.dim))
    _slopes = formula(lambda t, x, y: [f.log_abs_det_jacobian(a, b) for f, a, b in zip(
        t.transforms, t._parts(x), t._parts(y))])
    _slope = formula(lambda t, x, y: t._join(t._slopes(x, y), t.dim))

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = _cached(list(tseq), cache_size), dim

    def _parts(self, x: Any) -> Any:
        if not -x.ndim <= self.dim < x.ndim or x.size(self.dim) != self.length:
            raise ValueError(f"expected size {self.length} in dimension {self.dim} of "
                             f"{tuple(x.shape)}")
        return self._split(x)


class StackTransform(_PartsTransform):
    """A map for each place of a dimension."""

    _constraint = formula(lambda t, parts: constraints.stack(parts, t.dim))
    _split = formula(lambda t, x: x.unbind(t.dim))
    _join = formula(lambda t, parts, dim: torch.stack(parts, dim))


class CatTransform(_PartsTransform):
    """A map for each part, of given lengths, of a dimension."""

    event_dim: Any = derived(lambda t: max(part.event_dim for part in t.transforms))
    length: Any = property(lambda t: sum(t.lengths), doc="The size of the dimension.")
    _constraint = formula(lambda t, parts: constraints.cat(parts, t.dim, t.lengths))
    _split = formula(lambda t, x: x.split(t.lengths, t.dim))
    _join = formula(lambda t, parts, dim: torch.cat(parts, dim))

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Any = None,
                 cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(f"{len(self.transforms)} transforms need as many lengths, got "
                             f"{len(self.lengths)}")

    def _slope(self, x: Any, y: Any) -> Any:
        slopes = [sum_rightmost(slope, self.event_dim - part.event_dim)
                  for part, slope in zip(self.transforms, self._slopes(x, y))]
        # counted from the end of what is left of the shape
        dim = self.dim - (x.ndim if self.dim >= 0 else 0) + self.event_dim
        return self._join(slopes, dim) if dim < 0 else functools.reduce(operator.add, slopes)


class CumulativeDistributionTransform(Transform):
    """Values as probabilities, by the cdf of a distribution."""

    bijective, sign = True, 1
    domain, codomain = delegated("distribution.support"), constraints.unit_interval
    _call, _inverse = delegated("distribution.cdf"), delegated("distribution.icdf")
    _slope = formula(lambda t, x, y: t.distribution.log_prob(x))

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution
