"""Schedules in cycles: warm restarts, cyclical rates and one cycle."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from ._schedules import LRScheduler, per_group, set_group
from .optimizer import Optimizer


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines to eta_min, of T_0 epochs, then of T_mult times as many, and so on."""

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1,  # noqa: N803
                 eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to the given one, which may be a fraction (of batches)."""
        if epoch is not None and epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch is None and self.last_epoch >= 0:
            self.last_epoch += 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            start = epoch or 0
            self.last_epoch = math.floor(start)
            self.T_cur, self.T_i = self._in_cycle(start)
        self._set_rates(self.get_lr)

    def _in_cycle(self, epoch: float) -> tuple[float, int]:
        """How far an epoch is in its cycle, and that cycle's length."""
        if epoch < self.T_0 or self.T_mult == 1:
            return epoch % self.T_0, self.T_0
        # after n cycles, T_0 * (T_mult**n - 1) / (T_mult - 1) epochs have passed
        passed = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        length = self.T_mult**passed * self.T_0
        return epoch - (length - self.T_0) / (self.T_mult - 1), length


class _WithMomentum(LRScheduler):
    """Schedules that move momentum (or Adam's first beta) against the rate."""

    cycle_momentum: bool
    use_beta1: bool

    def _cycle_momentum(self, optimizer: Optimizer, base: Any, most: Any, start: bool) -> None:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        if not start:
            return
        lows = per_group("base_momentum", optimizer, base)
        highs = per_group("max_momentum", optimizer, most)
        for low, high, group in zip(lows, highs, optimizer.param_groups, strict=True):
            self._set_momentum(group, high)
            group["max_momentum"], group["base_momentum"] = high, low

    def _set_momentum(self, group: dict[str, Any], momentum: Any) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """Rates that rise from base_lr to max_lr and fall again (Smith, 2017), each batch a step.

    Args:
        mode: ``"triangular"``, ``"triangular2"`` (half as high each cycle), ``"exp_range"``
            (times ``gamma ** step``).
        scale_fn: another height, a function of the cycle or, by scale_mode, of the step.
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000,
        step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle",
        cycle_momentum: bool = True, base_momentum: Any = 0.8, max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        lows = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(lows, optimizer.param_groups, strict=True):
                set_group(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
            self._cycle_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x: float) -> float:
        """The height of the cycle x (or at the step x)."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / 2.0 ** (x - 1)
        return float(self.gamma**x) if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums,
                                        self.max_momentums, strict=True):
                self._set_momentum(group, high - (high - low) * part * scale)
        return [low + (high - low) * part * scale
                for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and a scale function; of an object its attributes."""
        found = super().state_dict()
        own = found.pop("_scale_fn_custom")
        kept = own is not None and not isinstance(own, types.FunctionType)
        found["_scale_fn_custom"] = dict(own.__dict__) if kept else None
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        rest = {k: v for k, v in state_dict.items() if k != "_scale_fn_custom"}
        super().load_state_dict(rest)
        attributes = state_dict["_scale_fn_custom"]
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


class OneCycleLR(_WithMomentum):
    """One rise to max_lr and fall far below the start (Smith and Topin, 2018), by batches.

    Args:
        total_steps: or ``epochs`` and ``steps_per_epoch``.
        pct_start: the part of the steps in which the rate rises.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        three_phase: fall to the initial rate as long as it rose, then on.

    Raises ValueError for invalid arguments, and by ``step`` after the last of the steps.
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None,
        epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
        anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: Any = 0.85,
        max_momentum: Any = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
        three_phase: bool = False, last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if total_steps is not None:
            self.total_steps = _positive("total_steps", total_steps)
        elif epochs is not None and steps_per_epoch is not None:
            self.total_steps = _positive("epochs", epochs) * _positive(
                "steps_per_epoch", steps_per_epoch)
        else:
            raise ValueError(
                "You must define either total_steps OR (epochs AND steps_per_epoch)")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError("anneal_strategy must be one of 'cos' or 'linear', instead got "
                             f"{anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        rise = float(pct_start * self.total_steps)
        up, down = ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")
        last = self.total_steps - 1
        if three_phase:
            self._schedule_phases = [
                _phase(rise - 1, "initial_lr", "max_lr", up),
                _phase(float(2 * pct_start * self.total_steps) - 2, "max_lr", "initial_lr", down),
                _phase(last, "initial_lr", "min_lr", ("max_momentum", "max_momentum"))]
        else:
            self._schedule_phases = [
                _phase(rise - 1, "initial_lr", "max_lr", up),
                _phase(last, "max_lr", "min_lr", down)]
        highest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for high, group in zip(highest, optimizer.param_groups, strict=True):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._cycle_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: Any, end: Any, part: float) -> Any:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is "
                             f"{self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        part = (step - start) / (end - start)
        found = []
        for group in self.optimizer.param_groups:
            found.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                self._set_momentum(group, self._between(
                    group[phase["start_momentum"]], group[phase["end_momentum"]], part))
        return found


def _positive(name: str, value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value


def _phase(end: float, start_lr: str, end_lr: str, momenta: tuple[str, str]) -> dict[str, Any]:
    return {"end_step": end, "start_lr": start_lr, "end_lr": end_lr,
            "start_momentum": momenta[0], "end_momentum": momenta[1]}
