"""What values satisfy: the ranges of parameters and the supports of distributions.

``check(value)`` gives a bool for each element, or for each event of ``event_dim`` dimensions.
"""
# ruff: noqa: N801  (PyTorch's names)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lazyloom_torch as torch

from .utils import diagonal_of


def _all_of(holds: Any, dims: int) -> Any:
    """Whether it holds for everything along the last ``dims`` dimensions."""
    return holds.flatten(-dims).all(-1) if dims else holds


class Constraint:
    """A set of values.

    Attributes:
        is_discrete: the values are isolated points.
        event_dim: so many last dimensions belong to one value.
    """

    is_discrete: Any = False
    event_dim: Any = 0
    #: the attributes that a constraint is made from, which are positional arguments, too
    _bounds: tuple[str, ...] = ()
    _title = "Constraint"

    def check(self, value: Any) -> Any:
        """Whether each value is in the set."""
        raise NotImplementedError

    def __init_subclass__(cls) -> None:
        words = cls.__name__.strip("_").split("_")
        cls._title = "".join(word[:1].upper() + word[1:] for word in words)

    def _told(self, say: Callable[[Any], str]) -> str:
        if not self._bounds:
            return f"{self._title}()"
        bounds = ", ".join([f"{name}={say(getattr(self, name))}" for name in self._bounds])
        return f"{self._title}({bounds})"

    def __repr__(self) -> str:
        return self._told(str)


def described(constraint: Constraint) -> str:
    """A constraint for a message: a tensor by its shape, which reads nothing and names no value
    that would make each message another program."""
    if type(constraint).__repr__ is not Constraint.__repr__:
        return repr(constraint)
    return constraint._told(
        lambda x: f"a tensor of {tuple(x.shape)}" if isinstance(x, torch.Tensor) else str(x))


class _Dependent(Constraint):
    """A set that depends on other values, and so cannot be looked at by itself."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
                 ) -> None:
        self._facts = {"is_discrete": is_discrete, "event_dim": event_dim}

    def _fact(self, name: str) -> Any:
        if self._facts[name] is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return self._facts[name]

    is_discrete: Any = property(lambda self: self._fact("is_discrete"))
    event_dim: Any = property(lambda self: self._fact("event_dim"))

    def __call__(self, **facts: Any) -> _Dependent:
        """The same with what is known of it: ``is_discrete``, ``event_dim``."""
        return _Dependent(**{**self._facts, **facts})

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


class dependent_property(property, _Dependent):
    """A property that computes the constraint; on the class it is a dependent one."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented,
                 event_dim: Any = NotImplemented) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Any) -> dependent_property:  # type: ignore[override]
        return dependent_property(fn, **self._facts)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other values."""
    return isinstance(constraint, _Dependent)


class _Above(Constraint):
    _bounds = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _Below(Constraint):
    _bounds = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _Between(Constraint):
    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


def _kind(name: str, text: str, holds: Callable[[Any, Any], Any], base: type = Constraint,
          **facts: Any) -> Any:
    """A class of constraints, from the test that a constraint makes of values."""

    def check(self: Any, value: Any) -> Any:
        return holds(self, value)

    return type(name, (base,), {
        "__doc__": text, "__module__": __name__, "check": check, **facts})


def _is_whole(x: Any) -> Any:
    return x % 1 == 0


def _is_lower(x: Any) -> Any:
    return _all_of(x.tril() == x, 2)


def _has_unit_rows(x: Any) -> Any:
    slack = 10 * x.shape[-1] * torch.finfo(x.dtype).eps
    return ((x.detach().square().sum(-1).sqrt() - 1).abs() <= slack).all(-1)


def _is_square(x: Any, then: Callable[[Any], Any] | None = None) -> Any:
    """Whether matrices are square, and what is asked of those that are."""
    square = x.shape[-2] == x.shape[-1]
    return then(x) if then and square else torch.full(x.shape[:-2], square, dtype=torch.bool)


def _is_symmetric(x: Any) -> Any:
    return _all_of(torch.isclose(x, x.mT, atol=1e-6), 2)


greater_than = _kind("greater_than", "Numbers above a bound.",
                     lambda c, x: x > c.lower_bound, _Above)
greater_than_eq = _kind("greater_than_eq", "Numbers above a bound, and the bound.",
                        lambda c, x: x >= c.lower_bound, _Above)
less_than = _kind("less_than", "Numbers below a bound.", lambda c, x: x < c.upper_bound, _Below)
interval = _kind("interval", "Numbers between two bounds, and the bounds.",
                 lambda c, x: (x >= c.lower_bound) & (x <= c.upper_bound), _Between)
half_open_interval = _kind(
    "half_open_interval", "Numbers between two bounds, and the lower one.",
    lambda c, x: (x >= c.lower_bound) & (x < c.upper_bound), _Between)
integer_interval = _kind(
    "integer_interval", "Whole numbers between two bounds, and the bounds.",
    lambda c, x: _is_whole(x) & (x >= c.lower_bound) & (x <= c.upper_bound), _Between,
    is_discrete=True)
multinomial = _kind(
    "multinomial", "Counts of a sum of ``upper_bound`` at most.",
    lambda c, x: (x >= 0).all(-1) & (x.sum(-1) <= c.upper_bound), _Below,
    is_discrete=True, event_dim=1, _bounds=())
_IntegerGreaterThan = _kind(
    "_IntegerGreaterThan", "Whole numbers above a bound, and the bound.",
    lambda c, x: _is_whole(x) & (x >= c.lower_bound), _Above, is_discrete=True)
_Real = _kind("_Real", "All numbers; NaN is none.", lambda c, x: x == x)
_Boolean = _kind("_Boolean", "0 and 1.", lambda c, x: (x == 0) | (x == 1), is_discrete=True)
_OneHot = _kind("_OneHot", "Vectors of zeros and one 1.",
                lambda c, x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1),
                is_discrete=True, event_dim=1)
_Simplex = _kind("_Simplex", "Vectors of no negative numbers, of sum 1.",
                 lambda c, x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), event_dim=1)
_LowerTriangular = _kind("_LowerTriangular", "Matrices that are 0 above the diagonal.",
                         lambda c, x: _is_lower(x), event_dim=2)
_LowerCholesky = _kind("_LowerCholesky", "Lower triangular matrices of a positive diagonal.",
                       lambda c, x: _is_lower(x) & (diagonal_of(x) > 0).all(-1), event_dim=2)
_CorrCholesky = _kind(
    "_CorrCholesky", "Lower Cholesky factors whose rows have the length 1.",
    lambda c, x: _is_lower(x) & (diagonal_of(x) > 0).all(-1) & _has_unit_rows(x), event_dim=2)
_Square = _kind("_Square", "Square matrices.", lambda c, x: _is_square(x), event_dim=2)
_Symmetric = _kind("_Symmetric", "Symmetric matrices.",
                   lambda c, x: _is_square(x, _is_symmetric), event_dim=2)
_PositiveSemidefinite = _kind(
    "_PositiveSemidefinite", "Symmetric matrices without a negative eigenvalue.",
    lambda c, x: _is_square(x, lambda m: (
        _is_symmetric(m) & (torch.linalg.eigvalsh(m) >= 0).all(-1))), event_dim=2)
_PositiveDefinite = _kind(
    "_PositiveDefinite", "Symmetric matrices with a Cholesky factor.",
    lambda c, x: _is_square(x, lambda m: (
        _is_symmetric(m) & (torch.linalg.cholesky_ex(m).info == 0))), event_dim=2)


class independent(Constraint):
    """A constraint that everything along ``reinterpreted_batch_ndims`` dimensions satisfies."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    is_discrete: Any = property(lambda self: self.base_constraint.is_discrete)
    event_dim: Any = property(
        lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value: Any) -> Any:
        holds = self.base_constraint.check(value)
        if holds.ndim < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        return _all_of(holds, self.reinterpreted_batch_ndims)

    def _told(self, say: Callable[[Any], str]) -> str:
        inner = self.base_constraint._told(say)
        return f"IndependentConstraint({inner}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: that of each of its components."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    is_discrete: Any = property(lambda self: self.base_constraint.is_discrete)
    event_dim: Any = property(lambda self: self.base_constraint.event_dim)

    def check(self, value: Any) -> Any:
        batch = value.ndim - self.event_dim
        if batch < 0:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        holds = self.base_constraint.check(value.unsqueeze(batch))
        return _all_of(holds, holds.ndim - batch)

    def _told(self, say: Callable[[Any], str]) -> str:
        return f"{type(self).__name__}({self.base_constraint._told(say)})"


class _Parts(Constraint):
    """A constraint for each part of a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim

    is_discrete: Any = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim: Any = property(lambda self: max(c.event_dim for c in self.cseq))

    def _each(self, parts: Any) -> list[Any]:
        return [c.check(part) for c, part in zip(self.cseq, parts, strict=True)]


class cat(_Parts):
    """A constraint for each part, of given lengths, of a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Any = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = list(lengths or [1] * len(self.cseq))

    def check(self, value: Any) -> Any:
        return torch.cat(self._each(value.split(self.lengths, self.dim)), self.dim)


class stack(_Parts):
    """A constraint for each place of a dimension."""

    @property
    def event_dim(self) -> int:
        inner: int = max(c.event_dim for c in self.cseq)
        return inner + (self.dim + inner < 0)

    def check(self, value: Any) -> Any:
        return torch.stack(self._each(value.unbind(self.dim)), self.dim)


dependent = _Dependent()
real, boolean = _Real(), _Boolean()
positive, nonnegative = greater_than(0.0), greater_than_eq(0.0)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
unit_interval = interval(0.0, 1.0)
real_vector = independent(real, 1)
one_hot, simplex = _OneHot(), _Simplex()
lower_triangular, lower_cholesky = _LowerTriangular(), _LowerCholesky()
corr_cholesky = _CorrCholesky()
square, symmetric = _Square(), _Symmetric()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent",
    "dependent_property", "greater_than", "greater_than_eq", "half_open_interval", "independent",
    "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector",
    "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip
