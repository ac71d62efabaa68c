"""Stochastic gradient descent, its average, and resilient propagation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lazyloom
from lazyloom import Scalar, Value
from lazyloom.frontend import write_lock

from .._core import record, record_number, record_two, spec
from .._tensor import Tensor
from ._recorded import (
    Batch,
    RecordedOptimizer,
    check,
    check_flags,
    check_rate,
    counter,
    filled,
)

_ADD, _SUBTRACT, _MULTIPLY = (spec(op, 2) for op in ("add", "subtract", "multiply"))


class SGD(RecordedOptimizer):
    """SGD with momentum, dampening, Nesterov's variant, weight decay and maximisation.

    A step is one op for all parameters; with ``foreach=False``, PyTorch's loop over parameters,
    it is recorded in the elementary ops that a program by hand would write.

    A momentum starts as zeros. PyTorch's first step leaves the dampening out; here the factor of
    the gradient, ``1 - dampening``, is a run-time number that is 1 in the first step, so that
    step has the structure of the later ones.
    """

    counters = {}

    def __init__(
        self, params: Any, lr: Any = 1e-3, momentum: float = 0, dampening: float = 0,
        weight_decay: Any = 0, nesterov: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check("momentum value", momentum, momentum >= 0.0)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_flags(foreach, fused, differentiable)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for own in self.state.values():
            if isinstance(own, dict) and own.get("momentum_buffer", 0) is None:
                del own["momentum_buffer"]

    def _names(self, group: dict[str, Any]) -> Sequence[str]:
        return ()

    def _key(self, p: Tensor, state: dict[str, Any]) -> Any:
        return "momentum_buffer" in state

    def selectable(self) -> bool:
        """Not a first step with dampening, after which the next one would be no first one."""
        return not any(
            group["momentum"] != 0 and group["dampening"] != 0 and any(
                p.grad is not None and "momentum_buffer" not in self.state.get(p, ())
                for p in group["params"])
            for group in self._groups())

    def _update(self, batch: Batch, group: dict[str, Any]) -> None:
        momentous = bool(group["momentum"] != 0)
        dampening = group["dampening"]
        share, detached = 1.0 if dampening == 0 else 1.0 - dampening, False
        if momentous and "momentum_buffer" not in batch.states[0]:
            # PyTorch's first momentum is a copy of the gradient, without its history
            share, detached = 1.0, lazyloom.grad_enabled()
            for p, state in zip(batch.params, batch.states, strict=True):
                state["momentum_buffer"] = filled(p, 0)
                self.state[p] = state
        decay = group["weight_decay"]
        numbers = (group["lr"], decay, group["momentum"], share)
        if group["foreach"] is False and not lazyloom.grad_enabled() and not any(
            isinstance(n, Tensor) for n in numbers
        ):
            _one_by_one(batch, group, share)
            self._drop_empty(batch, momentous)
            return
        self._record(
            batch, "step_sgd", [group["lr"], decay, group["momentum"], share],
            ("momentum_buffer",) if momentous else (),
            {"momentous": momentous, "nesterov": momentous and bool(group["nesterov"]),
             "decays": isinstance(decay, Tensor) or decay != 0,
             "maximize": bool(group["maximize"]), "detached": detached})
        self._drop_empty(batch, momentous)

    def _drop_empty(self, batch: Batch, momentous: bool) -> None:
        if not momentous and self.state:
            for p, state in zip(batch.params, batch.states, strict=True):
                if not state:
                    self.state.pop(p, None)


def _one_by_one(batch: Batch, group: dict[str, Any], share: float) -> None:
    """The step as PyTorch's loop over parameters writes it, in elementary ops."""
    kind = batch.kind

    def times(value: Value, number: float) -> Value:
        return record_number(_MULTIPLY, value, Scalar(number, kind, bake=False))

    for p, grad, state in zip(batch.params, batch.grads, batch.states, strict=True):
        if group["maximize"]:
            grad = record("negative", [grad])
        if group["weight_decay"] != 0:
            grad = record_two(_ADD, grad, times(p.value, group["weight_decay"]))
        if group["momentum"] != 0:
            buffer = state["momentum_buffer"]
            scaled = grad if group["dampening"] == 0 else times(grad, share)
            with write_lock(buffer):
                kept = record_two(_ADD, times(buffer.value, group["momentum"]), scaled)
                buffer._update(kept)
            grad = kept if not group["nesterov"] else record_two(
                _ADD, grad, times(kept, group["momentum"]))
        with write_lock(p):
            p._update(record_two(_SUBTRACT, p.value, times(grad, group["lr"])))


class ASGD(RecordedOptimizer):
    """Averaged SGD (Polyak and Juditsky, 1992); the averages are the state ``ax``."""

    counters = {"step": 0.0, "eta": 0.0, "mu": 1.0}

    def __init__(
        self, params: Any, lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
        t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable})

    def _start_counter(self, name: str, group: dict[str, Any]) -> Tensor:
        if name != "eta":
            return super()._start_counter(name, group)
        lr = group["lr"]
        if not isinstance(lr, Tensor):
            return counter(lr)
        made: Tensor = lr.detach().reshape(()).to(counter(0.0).dtype).clone()
        return made

    def _names(self, group: dict[str, Any]) -> Sequence[str]:
        return ("ax",)

    def _update(self, batch: Batch, group: dict[str, Any]) -> None:
        self._record(
            batch, "step_asgd",
            [group[n] for n in ("lr", "lambd", "alpha", "t0", "weight_decay")], ("ax",),
            {"decays": group["weight_decay"] != 0, "maximize": bool(group["maximize"])})


class Rprop(RecordedOptimizer):
    """Resilient propagation (Riedmiller and Braun, 1993): step sizes by the gradients' signs."""

    def __init__(
        self, params: Any, lr: Any = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _names(self, group: dict[str, Any]) -> Sequence[str]:
        return ("prev", "step_size")

    def _start(self, p: Tensor, name: str, group: dict[str, Any]) -> Tensor:
        if name == "prev":
            return filled(p, 0)
        lr = group["lr"]
        if isinstance(lr, Tensor):
            lr = lr.item()
        return filled(p, complex(lr, lr) if p.is_complex() else lr)

    def _update(self, batch: Batch, group: dict[str, Any]) -> None:
        self._record(batch, "step_rprop", [*group["etas"], *group["step_sizes"]],
                     self._names(group), {"maximize": bool(group["maximize"])})
