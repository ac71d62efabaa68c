"""The base class of schedules, and those that multiply the rate by a factor each epoch."""

from __future__ import annotations

import math
import types
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from lazyloom.errors import type_name

from .._tensor import Tensor
from .optimizer import Optimizer


def set_group(group: dict[str, Any], name: str, value: Any) -> None:
    """Set a hyperparameter; one that is a tensor keeps being that tensor."""
    held = group[name]
    if isinstance(held, Tensor):
        held.fill_(value.reshape(()) if isinstance(value, Tensor) else value)
    else:
        group[name] = value


def rates(optimizer: Optimizer, name: str = "lr") -> list[Any]:
    """The groups' rates; tensors as copies, as later steps change them in place."""
    return [copied(group[name]) for group in optimizer.param_groups]


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value, or one for each group, as a list. Raises ValueError for another number."""
    count = len(optimizer.param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has "
                f"{len(value)} values, param_groups has {count}.")
        return [copied(v) for v in value]
    return [copied(value) for _ in range(count)]


class LRScheduler:
    """Sets the learning rates of an optimizer; :meth:`step` goes to the next epoch.

    A subclass defines ``get_lr``, the rates of ``last_epoch``, mostly from the rates that the
    groups have, so that several schedules multiply.

    Args:
        last_epoch: -1 to start, or the epoch to resume after, with ``initial_lr`` in the groups.
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming an "
                    "optimizer")
        self.base_lrs = rates(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._step_count = 0
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave; the optimizer's own rates are not touched."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of ``last_epoch``; to be called by :meth:`step` only."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use "
                          "`get_last_lr()`.", UserWarning, stacklevel=3)

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to the given one (which is deprecated, as in PyTorch)."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "`lr_scheduler.step()` was called before `optimizer.step()`: the first rate of "
                "the schedule is skipped. Call the optimizer's step first.", UserWarning,
                stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn("The epoch parameter of `scheduler.step()` is deprecated.", UserWarning,
                          stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        compute = self.get_lr if epoch is None else getattr(
            self, "_get_closed_form_lr", self.get_lr)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._set_rates(compute)

    def _set_rates(self, compute: Callable[[], list[Any]]) -> None:
        """Set the rates of ``last_epoch``, which a method computes inside of a step."""
        self._get_lr_called_within_step = True
        try:
            values = compute()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_group(group, "lr", lr)
        self._last_lr: list[Any] = rates(self.optimizer)


class _ByFactor(LRScheduler):
    """Schedules whose rates are ``base * factor``.

    An epoch multiplies the rates that it finds by how the factor changes, so that several
    schedules of one optimizer multiply; an epoch that is given is computed from the base.
    """

    def _factor(self) -> float:
        """The factor of ``last_epoch``."""
        raise NotImplementedError(f"{type(self).__name__} does not define a factor")

    def _change(self) -> float | None:
        """The factor of ``last_epoch`` divided by that of the epoch before; None for 1."""
        raise NotImplementedError(f"{type(self).__name__} does not define a change of its factor")

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        change = self._change()
        found = rates(self.optimizer)
        return found if change is None else [lr * change for lr in found]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self._factor()
        return [base * factor for base in self.base_lrs]


class _Functions(LRScheduler):
    """Schedules by functions of the epoch, one for all groups or one for each."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        given = lr_lambda if isinstance(lr_lambda, (list, tuple)) else (
            [lr_lambda] * len(optimizer.param_groups))
        if len(given) != len(optimizer.param_groups):
            raise ValueError(
                f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(given)}")
        for function in given:
            if not callable(function):
                raise TypeError(
                    f"lr_lambda should be a function, but got {type_name(function)}")
        self.lr_lambdas: list[Callable[[int], float]] = list(given)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions; of callable objects their attributes."""
        found = {k: v for k, v in super().state_dict().items() if k != "lr_lambdas"}
        found["lr_lambdas"] = [
            None if isinstance(f, types.FunctionType) else dict(f.__dict__)
            for f in self.lr_lambdas]
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_Functions):
    """The initial rate times a function of the epoch."""

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        return [base * f(self.last_epoch)
                for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_Functions):
    """The last rate times a function of the epoch."""

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        if self._is_initial:
            return rates(self.optimizer)
        return [group["lr"] * f(self.last_epoch) for f, group in zip(
            self.lr_lambdas, self.optimizer.param_groups, strict=True)]


class StepLR(_ByFactor):
    """Multiplies by gamma every step_size epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1,
                 last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _change(self) -> float | None:
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return None
        return self.gamma

    def _factor(self) -> float:
        return float(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(_ByFactor):
    """Multiplies by gamma at each milestone, as often as it is named."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1,
                 last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _change(self) -> float | None:
        if self.last_epoch not in self.milestones:
            return None
        return self.gamma ** self.milestones[self.last_epoch]

    def _factor(self) -> float:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return float(self.gamma**passed)


class ConstantLR(_ByFactor):
    """A fraction of the rate for total_iters epochs, then all of it."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5,
                 last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _change(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        if self.last_epoch != self.total_iters:
            return None
        return 1.0 / self.factor

    def _factor(self) -> float:
        return 1.0 if self.last_epoch >= self.total_iters else self.factor


class LinearLR(_ByFactor):
    """A fraction that goes from start_factor to end_factor, linearly, in total_iters epochs."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3,
                 end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and "
                             "less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _change(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        slope = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * slope
        return 1.0 + slope / before

    def _factor(self) -> float:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class ExponentialLR(_ByFactor):
    """Multiplies by gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _change(self) -> float | None:
        return None if self._is_initial else self.gamma

    def _factor(self) -> float:
        return float(self.gamma**self.last_epoch)


class PolynomialLR(_ByFactor):
    """``(1 - epoch / total_iters) ** power`` of the rate, and 0 after that."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0,
                 last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _change(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        left = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return float((left / before) ** self.power)

    def _factor(self) -> float:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return float((1.0 - done) ** self.power)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate to eta_min in T_max epochs, and back."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0,  # noqa: N803
                 last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        epoch, low = self.last_epoch, self.eta_min
        if self._is_initial:
            return rates(self.optimizer)
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # the cosine was at its lowest, where nothing can be told from its ratio
            rise = 1 - math.cos(math.pi / self.T_max)
            return [group["lr"] + (base - low) * rise / 2 for base, group in zip(
                self.base_lrs, self.optimizer.param_groups, strict=True)]
        ratio = self._height(epoch) / self._height(epoch - 1)
        return [ratio * (group["lr"] - low) + low for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        return [self.eta_min + (base - self.eta_min) * self._height(self.last_epoch) / 2
                for base in self.base_lrs]
