"""Adam and AdamW."""

from __future__ import annotations

import math
from typing import Any

from lazyloom import record_number, record_one, record_spec, record_two
from lazyloom.dtypes import DType

from .._tensor import Tensor
from .optimizer import (
    ADD,
    DIVIDE,
    LERP,
    MAXIMUM,
    MULTIPLY,
    NEGATIVE,
    SQRT,
    SUBTRACT,
    Optimizer,
    check,
    hyper,
    zeros_for,
)


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

    def _update(
        self, pairs: list[tuple[Tensor, Any]], kind: DType, group: dict[str, Any]
    ) -> None:
        one, two, number = record_one, record_two, record_number
        beta1, beta2 = group["betas"]
        lr = float(group["lr"])
        maximize, amsgrad = group["maximize"], group["amsgrad"]
        decay = keep = None
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                keep = hyper(1.0 - lr * group["weight_decay"], kind)
            else:
                decay = hyper(group["weight_decay"], kind)
        rest1, old2, rest2 = hyper(1.0 - beta1, kind), hyper(beta2, kind), hyper(1.0 - beta2, kind)
        eps = hyper(group["eps"], kind)
        states = self.state
        #: the corrections of a number of steps, which all parameters usually share
        last, root2, rate = 0, eps, eps
        for p, grad in pairs:
            state = states[p]
            if not state:
                state["step"] = 0
                state["exp_avg"] = zeros_for(p)
                state["exp_avg_sq"] = zeros_for(p)
                if amsgrad:
                    state["max_exp_avg_sq"] = zeros_for(p)
            state["step"] = step = int(state["step"]) + 1
            if step != last:
                last = step
                root2 = hyper(math.sqrt(1.0 - beta2**step), kind)
                rate = hyper(lr / (1.0 - beta1**step), kind)
            value = p.value
            if maximize:
                grad = one(NEGATIVE, grad)
            if keep is not None:
                value = number(MULTIPLY, value, keep, False)
            elif decay is not None:
                grad = two(ADD, grad, number(MULTIPLY, value, decay, False))
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            average = record_spec(LERP, (mean.value, grad, rest1))
            mean._update(average)
            spread = two(ADD, number(MULTIPLY, square.value, old2, False),
                         number(MULTIPLY, two(MULTIPLY, grad, grad), rest2, False))
            square._update(spread)
            if amsgrad:
                largest = state["max_exp_avg_sq"]
                spread = two(MAXIMUM, largest.value, spread)
                largest._update(spread)
            root = number(DIVIDE, one(SQRT, spread), root2, False)
            move = number(
                MULTIPLY, two(DIVIDE, average, number(ADD, root, eps, False)), rate, False)
            p._update(two(SUBTRACT, value, move))


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    decoupled = True

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, **options: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)
