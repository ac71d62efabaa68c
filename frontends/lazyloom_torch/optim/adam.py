"""Adam and its kin: Adam, AdamW, Adamax, NAdam, RAdam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tensor import Tensor
from ._recorded import Batch, RecordedOptimizer, check, check_flags, check_rate


def _check_common(lr: Any, betas: Any, eps: Any, weight_decay: Any) -> None:
    check_rate(lr)
    check("epsilon value", eps, eps >= 0.0)
    check("beta parameter at index 0", betas[0], 0.0 <= betas[0] < 1.0)
    check("beta parameter at index 1", betas[1], 0.0 <= betas[1] < 1.0)
    check("weight_decay value", weight_decay, weight_decay >= 0.0)


class _Moments(RecordedOptimizer):
    """Keeps means of the gradients and of their squares."""

    op = ""

    def _names(self, group: dict[str, Any]) -> Sequence[str]:
        return ("exp_avg", "exp_avg_sq")

    def _options(self, group: dict[str, Any]) -> dict[str, Any]:
        decays = _is_used(group["weight_decay"])
        return {"decays": decays, "decoupled": bool(group["decoupled_weight_decay"]),
                "maximize": bool(group["maximize"])}

    def _numbers(self, group: dict[str, Any]) -> list[Any]:
        return [group["lr"], *group["betas"], group["eps"], group["weight_decay"]]

    def _update(self, batch: Batch, group: dict[str, Any]) -> None:
        self._record(batch, self.op, self._numbers(group), self._names(group),
                     self._options(group))


def _is_used(decay: Any) -> bool:
    return isinstance(decay, Tensor) or decay != 0


class Adam(_Moments):
    """Adam (Kingma and Ba, 2015), with AMSGrad. A step is one op for each group.

    ``lr`` and ``betas`` may be tensors of one element. Raises ValueError for invalid
    hyperparameters.
    """

    op = "step_adam"

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False, fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True")
        if any(isinstance(b, Tensor) for b in betas):
            if not all(isinstance(b, Tensor) for b in betas):
                raise ValueError("betas must be either both floats or both Tensors")
            for i, b in enumerate(betas):
                if foreach and not capturable:
                    raise ValueError(f"betas[{i}] as a Tensor is not supported for "
                                     "capturable=False and foreach=True")
                if b.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        elif not all(isinstance(b, float) for b in betas):
            raise ValueError("betas must be either both floats or both Tensors")
        _check_common(lr, betas, eps, weight_decay)
        check_flags(foreach, fused, differentiable)
        super().__init__(params, {
            "lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay})

    def _names(self, group: dict[str, Any]) -> Sequence[str]:
        more = ("max_exp_avg_sq",) if group["amsgrad"] else ()
        return ("exp_avg", "exp_avg_sq", *more)

    def _options(self, group: dict[str, Any]) -> dict[str, Any]:
        return {**super()._options(group), "amsgrad": bool(group["amsgrad"])}


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
        maximize: bool = False, foreach: bool | None = None, capturable: bool = False,
        differentiable: bool = False, fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


class Adamax(_Moments):
    """AdaMax: Adam by the largest modulus (Kingma and Ba, 2015)."""

    op = "step_adamax"

    def __init__(
        self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:
        _check_common(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable})

    def _names(self, group: dict[str, Any]) -> Sequence[str]:
        return ("exp_avg", "exp_inf")

    def _options(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"decays": _is_used(group["weight_decay"]), "maximize": bool(group["maximize"])}


class NAdam(_Moments):
    """Adam with Nesterov momentum (Dozat, 2016)."""

    op = "step_nadam"
    counters = {"step": 0.0, "mu_product": 1.0}

    def __init__(
        self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:
        _check_common(lr, betas, eps, weight_decay)
        check("momentum_decay value", momentum_decay, momentum_decay >= 0.0)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable})

    def _numbers(self, group: dict[str, Any]) -> list[Any]:
        return [*super()._numbers(group), group["momentum_decay"]]


class RAdam(_Moments):
    """Rectified Adam (Liu et al., 2020)."""

    op = "step_radam"

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        _check_common(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable})
