"""Adam and AdamW."""

from __future__ import annotations

import math
from typing import Any

from .._core import record
from .._tensor import Tensor
from .optimizer import Optimizer, check, hyper, zeros_for


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), with AMSGrad.

    Bias corrections are Python numbers that travel as run-time scalars; every step has
    the same structure, the first included.
    """

    decoupled = False

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0.0, amsgrad: bool = False, *,
        foreach: Any = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False, fused: Any = None, decoupled_weight_decay: bool = False,
    ) -> None:
        check("learning rate", lr, lr >= 0.0)
        check("epsilon value", eps, eps >= 0.0)
        check("beta parameter at index 0", betas[0], 0.0 <= betas[0] < 1.0)
        check("beta parameter at index 1", betas[1], 0.0 <= betas[1] < 1.0)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        super().__init__(params, {
            "lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize,
            "decoupled_weight_decay": decoupled_weight_decay or self.decoupled})

    def _update(self, p: Tensor, grad: Any, group: dict[str, Any]) -> None:
        kind = p._type.dtype
        state = self.state[p]
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_for(p)
            state["exp_avg_sq"] = zeros_for(p)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_for(p)
        state["step"] = step = int(state["step"]) + 1
        beta1, beta2 = group["betas"]
        lr = float(group["lr"])
        value = p.value
        if group["maximize"]:
            grad = record("negative", (grad,))
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                value = record("multiply", (value, hyper(1.0 - lr * group["weight_decay"], kind)))
            else:
                grad = record("add", (
                    grad, record("multiply", (value, hyper(group["weight_decay"], kind)))))
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean._assign(record("lerp", (mean.value, grad, hyper(1.0 - beta1, kind))))
        square._assign(record("add", (
            record("multiply", (square.value, hyper(beta2, kind))),
            record("multiply", (record("multiply", (grad, grad)), hyper(1.0 - beta2, kind))))))
        spread = square.value
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            largest._assign(record("maximum", (largest.value, spread)))
            spread = largest.value
        root = record("divide", (
            record("sqrt", (spread,)), hyper(math.sqrt(1.0 - beta2**step), kind)))
        scale = record("add", (root, hyper(group["eps"], kind)))
        move = record("multiply", (
            record("divide", (mean.value, scale)), hyper(lr / (1.0 - beta1**step), kind)))
        p._assign(record("subtract", (value, move)))


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    decoupled = True

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, **options: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)
