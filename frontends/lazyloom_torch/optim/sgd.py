"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from lazyloom import record_number, record_one, record_two
from lazyloom.dtypes import DType

from .._tensor import Tensor
from .optimizer import (
    ADD,
    MULTIPLY,
    NEGATIVE,
    SUBTRACT,
    Optimizer,
    check,
    hyper,
    zeros_for,
)


class SGD(Optimizer):
    """SGD with momentum, dampening, Nesterov's variant, weight decay and maximisation.

    With momentum a step records, per parameter, four ops: ``buf * momentum + grad`` and
    ``p - that * lr``. The buffer starts as zeros. PyTorch's first step leaves the
    dampening out; here the factor of the gradient, ``1 - dampening``, is a run-time
    scalar that is 1 in the first step, so that step has the structure of the later ones.
    """

    def __init__(
        self, params: Any, lr: float = 1e-3, momentum: float = 0.0, dampening: float = 0.0,
        weight_decay: float = 0.0, nesterov: bool = False, *, maximize: bool = False,
        foreach: Any = None, differentiable: bool = False, fused: Any = None,
    ) -> None:
        check("learning rate", lr, lr >= 0.0)
        check("momentum value", momentum, momentum >= 0.0)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize})

    def _update(
        self, pairs: list[tuple[Tensor, Any]], kind: DType, group: dict[str, Any]
    ) -> None:
        one, two, number = record_one, record_two, record_number
        lr = hyper(group["lr"], kind)
        maximize, nesterov = group["maximize"], group["nesterov"]
        decay = hyper(group["weight_decay"], kind) if group["weight_decay"] != 0 else None
        momentum = hyper(group["momentum"], kind) if group["momentum"] != 0 else None
        first = later = None
        if group["dampening"] != 0:
            first, later = hyper(1.0, kind), hyper(1.0 - group["dampening"], kind)
        states = self.state
        for p, grad in pairs:
            if maximize:
                grad = one(NEGATIVE, grad)
            if decay is not None:
                grad = two(ADD, grad, number(MULTIPLY, p.value, decay, False))
            if momentum is not None:
                state = states[p]
                buffer = state.get("momentum_buffer")
                factor = later
                if buffer is None:
                    buffer = state["momentum_buffer"] = zeros_for(p)
                    factor = first
                scaled = grad if factor is None else number(MULTIPLY, grad, factor, False)
                new = two(ADD, number(MULTIPLY, buffer.value, momentum, False), scaled)
                buffer._update(new)
                if nesterov:
                    new = two(ADD, grad, number(MULTIPLY, new, momentum, False))
                grad = new
            p._update(two(SUBTRACT, p.value, number(MULTIPLY, grad, lr, False)))
