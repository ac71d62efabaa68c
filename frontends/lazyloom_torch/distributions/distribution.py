"""The base of all families: parameters, their broadcasting, expansion and validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Size, Tensor

from . import constraints
from .constraints import Constraint
from .utils import (
    broadcast_all,
    checked,
    derived,
    lazy_property,
    logits_to_probs,
    not_given,
    probs_to_logits,
    undeclared,
)


class Distribution:
    """Events of ``event_shape``, a batch of ``batch_shape`` distributions of them.

    Arguments and values are checked unless ``validate_args`` is False: numbers and shapes at
    once, the elements of tensors when something that depends on them is read; either way what
    does not fit is a ValueError.

    A family of this package is a declaration. ``__init__`` hands its parameters to
    :meth:`_parametrise`; ``arg_constraints`` tells what they satisfy and, by ``event_dim``, how
    many of their last dimensions belong to one member of the batch. ``support``, ``mean``,
    ``mode`` and ``variance`` are what they say. ``_draw(shape)`` gives samples,
    ``_log_prob(value)`` and ``_cdf(value)`` take values that were checked, ``_icdf`` and
    ``_entropy`` have no more to do than their formula, and ``_values()`` lists all values of a
    discrete distribution. Sampling, validation and expansion follow from these.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    #: which one was given of parameters that follow from each other
    _given = ""

    arg_constraints: Any = not_given("The constraint of each parameter.")
    support: Any = not_given("The constraint that values satisfy.")
    mean: Any = not_given("The expected value.")
    mode: Any = not_given("The most probable value.", "{} does not implement mode")
    variance: Any = not_given("The expected square of the distance from the mean.")
    stddev: Any = property(lambda d: d.variance.sqrt(), doc="The root of the variance.")
    batch_shape: Any = property(lambda d: d._batch_shape, doc="The shape of the batch.")
    event_shape: Any = property(lambda d: d._event_shape, doc="The shape of one value.")

    _draw: Any = undeclared
    _log_prob: Any = undeclared
    _cdf: Any = undeclared
    _icdf: Any = undeclared
    _entropy: Any = undeclared
    _values: Any = undeclared

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: Any = None
                 ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments are checked where a distribution is not told."""
        if value not in (True, False):
            raise ValueError(f"validate_args must be True or False, not {value!r}")
        Distribution._validate_args = value

    def _parametrise(self, validate_args: Any, **parameters: Any) -> None:
        """Take numbers and tensors as parameters of one batch shape."""
        tensors = broadcast_all(*parameters.values())
        for name, value in zip(parameters, tensors):
            setattr(self, name, value)
        Distribution.__init__(self, tensors[0].shape, validate_args=validate_args)

    def _known_constraints(self) -> dict[str, Any] | None:
        try:
            return self.arg_constraints
        except NotImplementedError:
            return None

    def _check_arguments(self) -> None:
        known = self._known_constraints()
        if known is None:
            warnings.warn(f"{type(self)} does not define `arg_constraints`. Please set "
                          "`arg_constraints = {}` or initialize the distribution with "
                          "`validate_args=False` to turn off validation.", stacklevel=3)
            return
        for name, constraint in known.items():
            if constraints.is_dependent(constraint) or (
                    name not in vars(self) and self._follows(name)):
                continue
            self._require(name, constraint.check, (
                f"Expected parameter {name} of distribution {type(self).__name__} to satisfy "
                f"the constraint {constraints.described(constraint)}"), constraint.event_dim > 0)

    def _follows(self, name: str) -> bool:
        """Whether a parameter is computed from others, which are checked."""
        declared = getattr(type(self), name, None)
        return isinstance(declared, lazy_property) or (
            isinstance(declared, property) and declared.fset is None)

    def _require(self, name: str, test: Callable[[Any], Any], text: str,
                 only_tensors: bool = False) -> None:
        """Refuse a parameter: a number at once, elements of a tensor when it is read."""
        value = getattr(self, name)
        number = None if only_tensors else getattr(value, "_number", None)
        holds = test(value if number is None else number)
        if holds is False:
            raise ValueError(f"{text}, but found the value {number!r}")
        if isinstance(holds, Tensor) and isinstance(value, Tensor):
            setattr(self, name, checked(value, holds, text))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its batch broadcast to another shape."""
        ours = next(c for c in type(self).__mro__ if c.__module__.startswith(f"{__package__}."))
        new = self._get_checked_instance(ours, _instance)
        batch_shape = Size(batch_shape)
        known = self.arg_constraints
        for name, value in vars(self).items():
            if name in known and isinstance(value, Tensor):
                event = value.shape[value.ndim - known[name].event_dim:]
                setattr(new, name, value.expand(batch_shape + event))
            elif not isinstance(getattr(type(self), name, None), lazy_property):
                vars(new).setdefault(name, value)
        new._batch_shape = batch_shape
        self._expand_into(new, batch_shape)
        return new

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        """Expand the distributions that this one has inside."""

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is not None:
            return _instance
        if type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom "
                "__init__ method must also define a custom .expand() method.")
        return self.__new__(type(self))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Values of shape ``sample_shape + batch_shape + event_shape``, without gradient."""
        with torch.no_grad():
            if self.has_rsample or type(self)._draw is undeclared:
                return self.rsample(sample_shape)
            return self._draw(self._extended_shape(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Values that are differentiable by the parameters, where ``has_rsample`` says so."""
        if not self.has_rsample:
            raise NotImplementedError
        return self._draw(self._extended_shape(sample_shape))

    def sample_n(self, n: int) -> Tensor:
        """n values; use ``sample((n,))``."""
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        return self._log_prob(self._validate_sample(value))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to this one."""
        return self._cdf(self._validate_sample(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of :meth:`cdf`."""
        return self._icdf(value)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a first dimension."""
        values = self._values()
        ones = (1,) * len(self._batch_shape)
        values = values.reshape((len(values), *ones, *self._event_shape))
        return values.expand((-1, *self._batch_shape, *self._event_shape)) if expand else values

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        return self._entropy()

    def perplexity(self) -> Tensor:
        """``exp(entropy)``."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> Any:
        """The value, checked; ValueError at once for what is no tensor or has a wrong shape."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        n = len(self._event_shape)
        if value.ndim < n or value.shape[value.ndim - n:] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs "
                f"{self._event_shape}.")
        expected = self._extended_shape()
        if any(1 != i != j != 1 for i, j in zip(reversed(value.shape), reversed(expected))):
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                f"{expected}.")
        if not self._validate_args:
            return value
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `support` to enable sample validation. "
                          "Please initialize the distribution with `validate_args=False` to turn "
                          "off validation.", stacklevel=3)
            return value
        return checked(value, support.check(value), (
            f"Expected value argument to be within the support ({constraints.described(support)}) "
            f"of the distribution {type(self).__name__}"))

    def __repr__(self) -> str:
        shown = []
        for name in self._known_constraints() or ():
            value = vars(self).get(name)
            if isinstance(value, Tensor) and value.ndim:
                value = value if value.numel() == 1 else value.size()
            elif isinstance(value, Tensor):
                value = value.item()
            if name in vars(self):
                shown.append(f"{name}: {value}")
        return f"{type(self).__name__}({', '.join(shown)})"


class ByProbabilityOrLogit(Distribution):
    """A family given by ``probs`` or by ``logits``, each of which follows from the other.

    They are a probability and its log odds if ``_binary``, else probabilities along the last
    dimension and their logarithms.
    """

    arg_constraints: dict[str, Constraint] = {
        "probs": constraints.unit_interval, "logits": constraints.real}
    _binary = True

    probs: Any = lazy_property(lambda d: logits_to_probs(d.logits, d._binary))
    logits: Any = lazy_property(lambda d: probs_to_logits(d.probs, d._binary))
    _param: Any = derived(lambda d: vars(d)[d._given])
    param_shape: Any = derived(lambda d: d._param.shape)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self._parametrise(validate_args, **self._choose(probs, logits))

    def _choose(self, probs: Any, logits: Any) -> dict[str, Any]:
        """The one that was given."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._given = "logits" if probs is None else "probs"
        return {self._given: logits if probs is None else probs}
