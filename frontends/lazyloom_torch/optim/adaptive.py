"""Adaptive rates without Adam's momentum: Adadelta, Adagrad, RMSprop, Adafactor; and Muon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from .. import _dtypes
from .._absent import refuse_sharing
from .._functions.creation import zeros
from .._tensor import Tensor
from ._recorded import Batch, RecordedOptimizer, check, check_flags, check_rate, filled


def _common(group: dict[str, Any]) -> dict[str, Any]:
    return {"decays": group["weight_decay"] != 0, "maximize": bool(group["maximize"])}


class Adadelta(RecordedOptimizer):
    """Adadelta (Zeiler, 2012)."""

    def __init__(
        self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6,
        weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check("rho value", rho, 0.0 <= rho <= 1.0)
        check("epsilon value", eps, eps >= 0.0)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def _names(self, group: dict[str, Any]) -> Sequence[str]:
        return ("square_avg", "acc_delta")

    def _update(self, batch: Batch, group: dict[str, Any]) -> None:
        self._record(batch, "step_adadelta",
                     [group[n] for n in ("lr", "rho", "eps", "weight_decay")],
                     self._names(group), _common(group))


class Adagrad(RecordedOptimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011). Its state exists from the start."""

    def __init__(
        self, params: Any, lr: Any = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check("lr_decay value", lr_decay, lr_decay >= 0.0)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        check("initial_accumulator_value value", initial_accumulator_value,
              initial_accumulator_value >= 0.0)
        check("epsilon value", eps, eps >= 0.0)
        check_flags(foreach, fused, differentiable)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused})
        for group in self.param_groups:
            step = self._start_counter("step", group)
            for p in group["params"]:
                self.state[p].update(step=step, sum=self._start(p, "sum", group))

    def share_memory(self) -> NoReturn:
        """Raises NotImplementedError: what processes write to tensors is seen by themselves."""
        refuse_sharing("Adagrad.share_memory")

    def _names(self, group: dict[str, Any]) -> Sequence[str]:
        return ("sum",)

    def _start(self, p: Tensor, name: str, group: dict[str, Any]) -> Tensor:
        first = self.defaults["initial_accumulator_value"]
        return filled(p, complex(first, first) if p.is_complex() else first)

    def _update(self, batch: Batch, group: dict[str, Any]) -> None:
        self._record(batch, "step_adagrad",
                     [group[n] for n in ("lr", "eps", "weight_decay", "lr_decay")], ("sum",),
                     _common(group))


class RMSprop(RecordedOptimizer):
    """RMSprop (Hinton, 2012), with momentum, and centred."""

    def __init__(
        self, params: Any, lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0, momentum: float = 0, centered: bool = False,
        capturable: bool = False, foreach: bool | None = None, maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check("epsilon value", eps, eps >= 0.0)
        check("momentum value", momentum, momentum >= 0.0)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        check("alpha value", alpha, alpha >= 0.0)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable})

    def _names(self, group: dict[str, Any]) -> Sequence[str]:
        momentum = ("momentum_buffer",) if group["momentum"] > 0 else ()
        return ("square_avg", *momentum, *(("grad_avg",) if group["centered"] else ()))

    def _update(self, batch: Batch, group: dict[str, Any]) -> None:
        self._record(
            batch, "step_rmsprop",
            [group[n] for n in ("lr", "alpha", "eps", "weight_decay", "momentum")],
            self._names(group),
            {**_common(group), "momentous": bool(group["momentum"] > 0),
             "centered": bool(group["centered"])})


def _refuse_complex(name: str, batch: Batch) -> None:
    if batch.kind.is_complex:
        raise RuntimeError(f"{name} does not support complex parameters")


class Adafactor(RecordedOptimizer):
    """Adafactor (Shazeer and Stern, 2018): the variances of rows and columns, not of elements."""

    _of_whole = True

    def __init__(
        self, params: Any, lr: Any = 1e-2, beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0,
        weight_decay: float = 0.0, *, foreach: bool | None = None, maximize: bool = False,
    ) -> None:
        check_rate(lr, "Learning rate should be >= 0 but is: {}")
        for valid, text in (
            (beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
            (eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
            (eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
            (d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}"),
            (weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}"),
        ):
            if not valid:
                raise ValueError(text)
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
            "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize})

    def _names(self, group: dict[str, Any]) -> Sequence[str]:
        return ()

    def _key(self, p: Tensor, state: dict[str, Any]) -> Any:
        factored = p.ndim > 1
        if "row_var" not in state and "variance" not in state:
            if factored:
                shape = p.tensor_type.shape
                state["row_var"] = zeros((*shape[:-1], 1), dtype=p.dtype)
                state["col_var"] = zeros((*shape[:-2], 1, shape[-1]), dtype=p.dtype)
            else:
                state["variance"] = filled(p, 0)
        return factored

    def _update(self, batch: Batch, group: dict[str, Any]) -> None:
        _refuse_complex("Adafactor", batch)
        factored = batch.params[0].ndim > 1
        eps1, eps2 = group["eps"]
        if eps1 is None:
            eps1 = _dtypes.finfo(_dtypes.of(batch.kind)).eps
        self._record(
            batch, "step_adafactor",
            [group["lr"], group["beta2_decay"], eps1, eps2, group["d"], group["weight_decay"]],
            ("row_var", "col_var") if factored else ("variance",),
            {**_common(group), "factored": factored})


class Muon(RecordedOptimizer):
    """Muon (Jordan et al., 2024): momentum made nearly orthogonal; for matrices only."""

    _of_whole = True

    counters = {}

    def __init__(
        self, params: Any, lr: Any = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
        nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (
            3.4445, -4.775, 2.0315),
        eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None,
    ) -> None:
        check_rate(lr, "Learning rate should be >= 0 but is: {}")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{p.size()}")

    def _names(self, group: dict[str, Any]) -> Sequence[str]:
        return ("momentum_buffer",)

    def _update(self, batch: Batch, group: dict[str, Any]) -> None:
        _refuse_complex("Muon", batch)
        if group["ns_steps"] >= 100:
            raise ValueError("ns_steps must be less than 100")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("ns_coefficients must be three numbers")
        self._record(
            batch, "step_muon",
            [group[n] for n in ("lr", "weight_decay", "momentum", "eps")], ("momentum_buffer",),
            {"coefficients": tuple(group["ns_coefficients"]), "steps": group["ns_steps"],
             "nesterov": bool(group["nesterov"]),
             "adjust": group["adjust_lr_fn"] or "original"})
