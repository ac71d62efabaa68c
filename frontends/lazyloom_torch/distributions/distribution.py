"""The base class of distributions."""

from __future__ import annotations

import warnings
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Size, Tensor

from . import constraints
from .constraints import Constraint
from .utils import checked, lazy_property


class Distribution:
    """Events of ``event_shape``, a batch of ``batch_shape`` distributions of them.

    Arguments and values are checked unless ``validate_args`` is False: numbers and shapes at
    once, the elements of tensors when something that depends on them is read; either way what
    does not fit is a ValueError.

    A subclass names in ``_parameters`` the tensors that belong to each member of the batch, with
    the number of dimensions that one of them has; :meth:`expand` follows from that.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _parameters: dict[str, int] = {}

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments are checked where a distribution is not told."""
        if value not in (True, False):
            raise ValueError(f"validate_args must be True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: Any = None
                 ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()

    def _check_arguments(self) -> None:
        try:
            known = self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `arg_constraints`. Please set "
                          "`arg_constraints = {}` or initialize the distribution with "
                          "`validate_args=False` to turn off validation.", stacklevel=3)
            return
        for name, constraint in known.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(
                    getattr(type(self), name, None), (lazy_property, property)):
                continue  # computed from a parameter that is looked at
            value = getattr(self, name)
            text = (f"Expected parameter {name} of distribution {type(self).__name__} to satisfy "
                    f"the constraint {constraint!r}")
            number = getattr(value, "_number", None)
            if number is not None and not constraint.event_dim:
                holds = constraint.check(number)
                if isinstance(holds, bool):
                    if not holds:
                        raise ValueError(f"{text}, but found the value {number!r}")
                    continue
            if isinstance(value, Tensor):
                setattr(self, name, checked(value, constraint.check(value), text))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its batch broadcast to another shape."""
        owner = next(c for c in type(self).__mro__ if "_parameters" in c.__dict__)
        new = self._get_checked_instance(owner, _instance)
        batch_shape = Size(batch_shape)
        for name, n in self._parameters.items():
            if name in self.__dict__:
                value = getattr(self, name)
                event = value.shape[value.ndim - n:] if n else ()
                setattr(new, name, value.expand(batch_shape + tuple(event)))
        self._expand_into(new, batch_shape)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        """Set what else the expanded distribution has."""

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom "
                "__init__ method must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The constraint of each parameter."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that values satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The expected square of the distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Values of shape ``sample_shape + batch_shape + event_shape``, without gradient."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Values that are differentiable by the parameters, where ``has_rsample`` says so."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """n values; use ``sample((n,))``."""
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to this one."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of :meth:`cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a first dimension."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """``exp(entropy)``."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def _validate_sample(self, value: Any) -> Any:
        """The value, checked; ValueError at once for what is no tensor or has a wrong shape."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event = tuple(self._event_shape)
        start = value.ndim - len(event)
        if start < 0 or tuple(value.shape[start:]) != event:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs "
                f"{self._event_shape}.")
        expected = tuple(self._batch_shape) + event
        for i, j in zip(reversed(value.shape), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                    f"{Size(expected)}.")
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
            f"Expected value argument to be within the support ({support!r}) of the distribution "
            f"{type(self).__name__}"))

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """Values along a first dimension, for each member of the batch if asked for."""
        values = values.reshape((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def __repr__(self) -> str:
        names = [n for n in self._shown() if n in self.__dict__]
        said = []
        for n in names:
            value = self.__dict__[n]
            if isinstance(value, Tensor):
                value = value.item() if not value.ndim else (
                    value if value.numel() == 1 else value.size())
            said.append(f"{n}: {value}")
        return f"{type(self).__name__}({', '.join(said)})"

    def _shown(self) -> Any:
        try:
            return self.arg_constraints
        except NotImplementedError:
            return ()
