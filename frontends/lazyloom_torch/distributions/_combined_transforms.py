"""Maps made of several maps, one for each part of a dimension; maps by a distribution's cdf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lazyloom_torch as torch

from . import constraints
from ._basic_transforms import Transform
from .constraints import Constraint
from .distribution import Distribution
from .utils import sum_rightmost


class CatTransform(Transform):
    """A map for each part, of given lengths, of a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Any = None,
                 cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(f"{len(self.transforms)} transforms need as many lengths, got "
                             f"{len(self.lengths)}")
        self.dim = dim

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The size of the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else CatTransform(
            self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, x: Any) -> Any:
        if not -x.ndim <= self.dim < x.ndim or x.size(self.dim) != self.length:
            raise ValueError(f"expected size {self.length} in dimension {self.dim} of "
                             f"{tuple(x.shape)}")
        return x.split(self.lengths, self.dim)

    def _call(self, x: Any) -> Any:
        return torch.cat([t(p) for t, p in zip(self.transforms, self._parts(x))], self.dim)

    def _inverse(self, y: Any) -> Any:
        return torch.cat([t.inv(p) for t, p in zip(self.transforms, self._parts(y))], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        found = []
        for t, a, b in zip(self.transforms, self._parts(x), self._parts(y)):
            found.append(sum_rightmost(
                t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim))
        dim = self.dim - x.ndim if self.dim >= 0 else self.dim
        dim += self.event_dim
        if dim < 0:
            return torch.cat(found, dim)
        total = found[0]
        for f in found[1:]:
            total = total + f
        return total

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Constraint:  # type: ignore[override]
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """A map for each place of a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else StackTransform(
            self.transforms, self.dim, cache_size)

    def _parts(self, z: Any) -> Any:
        if not -z.ndim <= self.dim < z.ndim or z.size(self.dim) != len(self.transforms):
            raise ValueError(f"expected size {len(self.transforms)} in dimension {self.dim} of "
                             f"{tuple(z.shape)}")
        return z.unbind(self.dim)

    def _call(self, x: Any) -> Any:
        return torch.stack([t(p) for t, p in zip(self.transforms, self._parts(x))], self.dim)

    def _inverse(self, y: Any) -> Any:
        return torch.stack([t.inv(p) for t, p in zip(self.transforms, self._parts(y))], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return torch.stack([t.log_abs_det_jacobian(a, b) for t, a, b in zip(
            self.transforms, self._parts(x), self._parts(y))], self.dim)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Constraint:  # type: ignore[override]
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """Values as probabilities, by the cdf of a distribution."""

    bijective = True
    codomain = constraints.unit_interval

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def sign(self) -> Any:
        return 1

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        found: Constraint = self.distribution.support
        return found

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else CumulativeDistributionTransform(
            self.distribution, cache_size=cache_size)
