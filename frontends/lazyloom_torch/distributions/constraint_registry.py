"""Maps from all numbers to constrained ones: ``biject_to`` and ``transform_to``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .constraints import Constraint
from .transforms import Transform
from .utils import is_number

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Which map leads to which constraint; called with a constraint it gives the map."""

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Say how the map to a constraint, or to a class of them, is made; also a decorator.

        Raises TypeError for what is no constraint.
        """
        if factory is None:
            return lambda given: self.register(constraint, given)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        if type(constraint) not in self._registry:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints")
        return self._registry[type(constraint)](constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _half_line(bound: str, direction: int) -> Factory:
    return lambda c: transforms.ComposeTransform([
        transforms.ExpTransform(), transforms.AffineTransform(getattr(c, bound), direction)])


def _between(c: Any) -> Transform:
    low, high = c.lower_bound, c.upper_bound
    unit = transforms.SigmoidTransform()
    if is_number(low) and is_number(high) and (low, high) == (0, 1):
        return unit
    return transforms.ComposeTransform([unit, transforms.AffineTransform(low, high - low)])


_BIJECTIONS: dict[Any, Factory] = {
    constraints.real: lambda c: transforms.identity_transform,
    constraints.greater_than: _half_line("lower_bound", 1),
    constraints.greater_than_eq: _half_line("lower_bound", 1),
    constraints.less_than: _half_line("upper_bound", -1),
    constraints.interval: _between,
    constraints.half_open_interval: _between,
    constraints.simplex: lambda c: transforms.StickBreakingTransform(),
    constraints.corr_cholesky: lambda c: transforms.CorrCholeskyTransform(),
}
#: of coordinates that need not be unique, where these are better behaved or there is no bijection
_OTHERS: dict[Any, Factory] = {
    constraints.simplex: lambda c: transforms.SoftmaxTransform(),
    constraints.lower_cholesky: lambda c: transforms.LowerCholeskyTransform(),
    constraints.positive_definite: lambda c: transforms.PositiveDefiniteTransform(),
    constraints.positive_semidefinite: lambda c: transforms.PositiveDefiniteTransform(),
}


def _by_parts(to: ConstraintRegistry) -> dict[Any, Factory]:
    return {
        constraints.independent: lambda c: transforms.IndependentTransform(
            to(c.base_constraint), c.reinterpreted_batch_ndims),
        constraints.cat: lambda c: transforms.CatTransform(
            [to(part) for part in c.cseq], c.dim, c.lengths),
        constraints.stack: lambda c: transforms.StackTransform(
            [to(part) for part in c.cseq], c.dim),
    }


for _to, _table in ((biject_to, _BIJECTIONS), (transform_to, _BIJECTIONS | _OTHERS)):
    for _constraint, _factory in (_table | _by_parts(_to)).items():
        _to.register(_constraint, _factory)

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
