"""Averages of a model's parameters over training: stochastic weight averaging and EMA.

Averaging records an operation a parameter and reads nothing: how many models were averaged is
known here as long as nobody else writes the count.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._functions.creation import tensor
from .._grad_mode import no_grad
from .._tensor import Tensor
from ..nn import Module
from ._schedules import LRScheduler, per_group
from .optimizer import Optimizer


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _is_inexact(t: Tensor) -> bool:
    return t.is_floating_point() or t.is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """A function that moves averages towards parameters, both given as lists of one dtype."""
    _check_decay(decay)

    @no_grad()
    def ema_update(averages: Sequence[Tensor], current: Sequence[Tensor], _: Any) -> None:
        for average, p in zip(averages, current, strict=True):
            if _is_inexact(average):
                average.lerp_(p, 1 - decay)
            else:
                average.copy_(average * decay + p * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """A function that takes parameters into averages of ``num_averaged``, given as lists."""

    @no_grad()
    def swa_update(
        averages: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Any
    ) -> None:
        weight = 1.0 / (num_averaged + 1)
        for average, p in zip(averages, current, strict=True):
            if _is_inexact(average):
                part = weight.to(average.dtype) if isinstance(weight, Tensor) else weight
                average.lerp_(p, part)
            else:
                average.copy_(average + (p - average) * weight)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """A function that gives the exponential moving average of one parameter."""
    _check_decay(decay)

    @no_grad()
    def ema_update(average: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        return decay * average + (1 - decay) * current

    return ema_update


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """A function that gives the equal average of one parameter."""

    @no_grad()
    def swa_update(average: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        return average + (current - average) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's.

    Args:
        avg_fn: gives an average from (average, parameter, how many were averaged).
        multi_avg_fn: the same for lists of parameters of one dtype, in place.
        use_buffers: average buffers too, which are copied otherwise.

    Without functions the average is an equal one. The state dict has ``n_averaged`` and the
    model's names after ``module.``. Raises AssertionError if both functions are given.
    """

    n_averaged: Tensor

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Callable[..., Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None, use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers
        self._note(True)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The averaged model's result."""
        return self.module(*args, **kwargs)

    def _note(self, first: bool) -> None:
        self._known: tuple[Tensor, int, bool] | None = (
            self.n_averaged, self.n_averaged._version, first)

    def _is_first(self) -> bool:
        count, known = self.n_averaged, self._known
        if known is not None and known[0] is count and known[1] == count._version:
            return known[2]
        return bool(count == 0)  # somebody else wrote it: a checkpoint, mostly

    def __deepcopy__(self, memo: dict[int, Any]) -> AveragedModel:
        made = copy.copy(self)
        memo[id(self)] = made
        made.__dict__.update({
            k: copy.deepcopy(v, memo) for k, v in self.__dict__.items() if k != "_known"})
        made._known = None
        return made

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters into the averages; the first time they become them."""
        if self.use_buffers:
            mine = itertools.chain(self.module.parameters(), self.module.buffers())
            theirs = itertools.chain(model.parameters(), model.buffers())
        else:
            mine, theirs = self.module.parameters(), model.parameters()  # type: ignore[assignment]
        pairs = [(a.detach(), p.detach()) for a, p in zip(mine, theirs, strict=False)]
        if self._is_first():
            for average, p in pairs:
                average.copy_(p)
        elif self.avg_fn is not None:
            for average, p in pairs:
                average.copy_(self.avg_fn(average, p, self.n_averaged))
        else:
            function = self.multi_avg_fn or get_swa_multi_avg_fn()
            by_dtype: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
            for average, p in pairs:
                averages, current = by_dtype.setdefault(average.dtype, ([], []))
                averages.append(average)
                current.append(p)
            for averages, current in by_dtype.values():
                function(averages, current, self.n_averaged)
        if not self.use_buffers:
            for a, b in zip(self.module.buffers(), model.buffers(), strict=True):
                a.detach().copy_(b.detach())
        self.n_averaged += 1
        self._note(False)


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Set the running statistics of the model's batch normalisations by a pass over the data.

    A batch that is a list or tuple gives its first member to the model.
    """
    from ..nn.modules.batchnorm import _BatchNorm

    found = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not found:
        return
    training = model.training
    model.train()
    for m in found:
        m.reset_running_stats()
        m.momentum = None
    for batch in loader:
        given = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(given if device is None else given.to(device))
    for m, momentum in found.items():
        m.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """Brings each group's rate to ``swa_lr`` in anneal_epochs epochs and keeps it there.

    ``anneal_strategy`` is ``"cos"`` or ``"linear"``. Raises ValueError for other arguments.
    """

    def __init__(self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10,
                 anneal_strategy: str = "cos", last_epoch: int = -1) -> None:
        for rate, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups,
                               strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError("anneal_strategy must be one of 'cos' or 'linear', instead got "
                             f"{anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(
                f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        done = max(0, min(1, step / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        found = []
        for group in self.optimizer.param_groups:
            target, lr = group["swa_lr"], group["lr"]
            start = target if before == 1 else (lr - before * target) / (1 - before)
            found.append(target * now + start * (1 - now))
        return found
