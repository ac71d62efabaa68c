"""Learning rate schedules: each sets ``group["lr"]`` from the epoch's number.

The rates are Python numbers that travel as run-time scalars: no schedule costs a compile.
"""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Sequence
from math import inf
from typing import Any

from ._cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from ._schedules import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
    rates,
    set_group,
)
from .optimizer import Optimizer


class _Several(LRScheduler):
    """Schedules made of others of the same optimizer."""

    _schedulers: Sequence[Any]

    def _check(self, optimizer: Optimizer, schedulers: Sequence[Any]) -> None:
        name = type(self).__name__
        for i, s in enumerate(schedulers):
            if not hasattr(s, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(s, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau`, whose step takes a metric, but "
                    f"got one at index {i}")
            if s.optimizer is not optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but the "
                    f"{type(s).__name__} at index {i} has another")

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; the schedules' own state dicts under ``_schedulers``."""
        found = {k: v for k, v in super().state_dict().items() if k != "_schedulers"}
        found["_schedulers"] = [s.state_dict() for s in self._schedulers]
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for s, given in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            s.load_state_dict(given)


class SequentialLR(_Several):
    """One schedule after another, from milestone to milestone."""

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler],
                 milestones: list[int], last_epoch: int = -1) -> None:
        if not schedulers:
            raise ValueError(
                "SequentialLR expects at least one scheduler, but got no scheduler.")
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "SequentialLR expects one milestone less than schedulers, but got "
                f"{len(schedulers)} schedulers and {len(milestones)} milestones")
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            set_group(group, "lr", group["initial_lr"])
        # each schedule went to its first epoch when it was made; only one may have
        _step_back(self)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch, by the schedule whose turn it is."""
        self.last_epoch += 1
        which = bisect_right(self._milestones, self.last_epoch)
        begins = which > 0 and self._milestones[which - 1] == self.last_epoch
        if begins:
            self._schedulers[which]._update_lr(0)
        else:
            self._schedulers[which].step()
        self._last_lr = rates(self.optimizer)


def _step_back(scheduler: Any) -> None:
    if hasattr(scheduler, "_schedulers"):
        for s in scheduler._schedulers:
            _step_back(s)
    elif hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch -= 1


class ChainedScheduler(_Several):
    """Several schedules at once, whose factors multiply."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
                 ) -> None:
        if not schedulers:
            raise ValueError(
                "ChainedScheduler expects at least one scheduler to be chained, but got no "
                "scheduler.")
        self.optimizer = optimizer or schedulers[0].optimizer
        self._check(self.optimizer, schedulers)
        self._schedulers = schedulers
        self._last_lr = rates(self.optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch in all of them."""
        for s in self._schedulers:
            s.step()
        self._last_lr = rates(self.optimizer)


class ReduceLROnPlateau(LRScheduler):
    """Multiplies by factor when a metric has not improved for more than patience epochs.

    ``step(metric)`` reads the metric. Raises ValueError for invalid arguments.
    """

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
        threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
        min_lr: Any = 0, eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        groups = len(optimizer.param_groups)
        self.default_min_lr = None
        if not isinstance(min_lr, (list, tuple)):
            self.default_min_lr = min_lr
            min_lr = [min_lr] * groups
        elif len(min_lr) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
        self.min_lrs = list(min_lr)
        self.factor, self.optimizer = factor, optimizer
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch = 0
        self._last_lr = rates(optimizer)
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = inf if mode == "min" else -inf
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether the rate was reduced so lately that bad epochs do not count."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            edge = best * (1.0 + sign * self.threshold)
        else:
            edge = best + sign * self.threshold
        return a < edge if self.mode == "min" else a > edge

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of the epoch's metric."""
        current = float(metrics)
        if epoch is not None:
            warnings.warn("The epoch parameter of `scheduler.step()` is deprecated.", UserWarning,
                          stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        better, cooling = self._is_better(current, self.best), self.in_cooldown
        if better:
            self.best = current
        self.num_bad_epochs = 0 if better or cooling else self.num_bad_epochs + 1
        self.cooldown_counter -= cooling
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = rates(self.optimizer)

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"the optimizer has {len(groups)} parameter groups now and had "
                    f"{len(self.min_lrs)} before; set min_lrs to as many")
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_group(group, "lr", new)


_LRScheduler = LRScheduler

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
    "StepLR",
]  # fmt: skip
