"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from .._core import record
from .._tensor import Tensor
from .optimizer import Optimizer, check, hyper, zeros_for


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

    def _update(self, p: Tensor, grad: Any, group: dict[str, Any]) -> None:
        kind = p._type.dtype
        if group["maximize"]:
            grad = record("negative", (grad,))
        if group["weight_decay"] != 0:
            grad = record("add", (
                grad, record("multiply", (p.value, hyper(group["weight_decay"], kind)))))
        if group["momentum"] != 0:
            state = self.state[p]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = zeros_for(p)
                state["momentum_buffer"] = buffer
                factor = 1.0
            else:
                factor = 1.0 - group["dampening"]
            scaled = grad
            if group["dampening"] != 0:
                scaled = record("multiply", (grad, hyper(factor, kind)))
            momentum = hyper(group["momentum"], kind)
            new = record("add", (record("multiply", (buffer.value, momentum)), scaled))
            buffer._assign(new)
            if group["nesterov"]:
                new = record("add", (grad, record("multiply", (new, momentum))))
            grad = new
        step = record("multiply", (grad, hyper(group["lr"], kind)))
        p._assign(record("subtract", (p.value, step)))
