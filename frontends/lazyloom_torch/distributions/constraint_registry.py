"""Maps from all numbers to constrained ones: ``biject_to`` and ``transform_to``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .constraints import Constraint
from .transforms import Transform

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
        if not isinstance(kind, type) or not issubclass(kind, Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Factory], Factory]:
    def enter(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return enter


@_both(constraints.real)
def _to_real(constraint: Any) -> Transform:
    return transforms.identity_transform


def _to_independent(registry: ConstraintRegistry) -> Factory:
    return lambda constraint: transforms.IndependentTransform(
        registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


for _registry in (biject_to, transform_to):
    _registry.register(constraints.independent, _to_independent(_registry))


@_both(constraints.greater_than, constraints.greater_than_eq)
def _to_greater_than(constraint: Any) -> Transform:
    return transforms.ComposeTransform([
        transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)])


@_both(constraints.less_than)
def _to_less_than(constraint: Any) -> Transform:
    return transforms.ComposeTransform([
        transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


@_both(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and low == 0 and (
            isinstance(high, (int, float)) and high == 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([
        transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@biject_to.register(constraints.simplex)
def _biject_to_simplex(constraint: Any) -> Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_to_simplex(constraint: Any) -> Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _to_lower_cholesky(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
def _to_positive_definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


transform_to.register(constraints.positive_semidefinite, _to_positive_definite)


@_both(constraints.corr_cholesky)
def _to_corr_cholesky(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


def _to_parts(registry: ConstraintRegistry) -> None:
    registry.register(constraints.cat, lambda c: transforms.CatTransform(
        [registry(part) for part in c.cseq], c.dim, c.lengths))
    registry.register(constraints.stack, lambda c: transforms.StackTransform(
        [registry(part) for part in c.cseq], c.dim))


for _registry in (biject_to, transform_to):
    _to_parts(_registry)

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
