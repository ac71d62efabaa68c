"""Steps of optimizers for parameters that are DTensors: each process updates its parts.

An optimizer whose update goes element by element is run on this process's parts, so that a step is
the one op that it is for tensors. One that looks at whole matrices (Adafactor, Muon) is run in each
process on whole parameters, gathered for the step, of which each keeps its part.
"""

from __future__ import annotations

from typing import Any

import lazyloom

from .._processes.pending import pending
from .._tensor import Tensor
from ..optim._recorded import RecordedOptimizer
from ..optim.optimizer import Optimizer
from .handlers import part_of_whole
from .placements import Replicate, Shard
from .tensors import DTensor, dtensor, laid


class Divided:
    """The optimizer of parts that stands behind one of DTensors.

    Args:
        optimizer: the one that the program has. Its hyperparameters are used, and its state names
            what the parts' optimizer has as DTensors.
        whole: whether an update looks at whole parameters.
    """

    def __init__(self, optimizer: Any, whole: bool) -> None:
        self.outer = optimizer
        self.whole = whole
        self.inner: Any = None
        #: of each parameter what is updated in its place, and the state as DTensors
        self.of: dict[int, Tensor] = {}
        self.shown: dict[int, dict[str, tuple[Any, Any]]] = {}

    def _stand_in(self, p: Any) -> Any:
        """What is updated in a parameter's place."""
        if not p._is_dtensor:
            return p
        if not self.whole:
            return p._local_tensor
        found = self.of.get(id(p))
        if found is None:
            full = laid(p.detach(), (Replicate(),) * p.device_mesh.ndim)._local_tensor
            found = self.of[id(p)] = full.clone().requires_grad_()
        return found

    def _prepare(self) -> None:
        """Let the optimizer of parts have the program's parameters, numbers and state."""
        outer = self.outer
        if self.inner is None or len(self.inner.param_groups) != len(outer.param_groups):
            inner = object.__new__(type(outer))
            with lazyloom.grad_mode(False):
                groups = [self._group(g) for g in outer.param_groups]
                Optimizer.__init__(inner, groups, dict(outer.defaults))
            inner.divided = None
            self.inner = inner
        for mine, theirs in zip(self.inner.param_groups, outer.param_groups, strict=True):
            for key, value in theirs.items():
                if key not in ("params", "param_names") and mine.get(key) is not value:
                    mine[key] = value
            params = [self._stand_in(p) for p in theirs["params"]]
            if any(a is not b for a, b in zip(params, mine["params"], strict=False)) or len(
                    params) != len(mine["params"]):
                mine["params"] = params
        for p in self._params():
            self._state_in(p)

    def _group(self, group: dict[str, Any]) -> dict[str, Any]:
        return {**{k: v for k, v in group.items() if k != "param_names"},
                "params": [self._stand_in(p) for p in group["params"]]}

    def _params(self) -> list[Any]:
        return [p for group in self.outer.param_groups for p in group["params"]]

    def _state_in(self, p: Any) -> None:
        """Take over what the program has put into the state, or loaded."""
        given = self.outer.state.get(p)
        if not given:
            return
        part = self._stand_in(p)
        held = self.inner.state[part]
        shown = self.shown.get(id(p), {})
        for name, value in given.items():
            known = shown.get(name)
            if known is not None and known[0] is value:
                continue
            if isinstance(value, DTensor):
                held[name] = (laid(value, (Replicate(),) * value.device_mesh.ndim)._local_tensor
                              if self.whole else value._local_tensor)
            elif (not self.whole and p._is_dtensor and isinstance(value, Tensor) and value.ndim
                    and tuple(value.shape) == tuple(p.shape)):
                held[name] = part_of_whole(value, p)
            else:
                held[name] = value

    def _state_out(self, p: Any) -> None:
        """Show what the optimizer of parts has."""
        held = self.inner.state.get(self._stand_in(p))
        if not held:
            return
        shown = self.shown.setdefault(id(p), {})
        outer = self.outer.state[p]
        for name, value in held.items():
            known = shown.get(name)
            if known is None or known[1] is not value:
                shown[name] = (self._shown(p, name, value), value)
            if outer.get(name) is not shown[name][0]:
                outer[name] = shown[name][0]

    def _shown(self, p: Any, name: str, value: Any) -> Any:
        if not p._is_dtensor or not isinstance(value, Tensor) or not value.ndim or self.whole:
            return value
        if value.tensor_type.shape != p._local_tensor.tensor_type.shape:
            return value
        return p._with(value)

    def step(self, closure: Any = None) -> Any:
        """Update the parameters."""
        loss = None
        if closure is not None:
            with lazyloom.grad_mode(True):
                loss = closure()
        self._prepare()
        divided = [p for p in self._params() if p._is_dtensor] if self.whole else []
        with lazyloom.grad_mode(False), pending.held():
            for p in divided:
                self._gather(p)
        self.inner._begin()
        # hooks are the program's optimizer's, and ran; its step ends after this one
        RecordedOptimizer.step.__wrapped__(self.inner)  # type: ignore[attr-defined]
        self.inner._ended = lazyloom.last_sequence()
        with lazyloom.grad_mode(False), pending.held():
            for p in divided:
                self._keep(p)
        for p in self._params():
            self._state_out(p)
        return loss

    def _gather(self, p: Any) -> None:
        """Whole parameters and gradients, for a step that looks at them."""
        whole = (Replicate(),) * p.device_mesh.ndim
        full = self._stand_in(p)
        full.grad = None if p.grad is None else laid(p.grad, whole)._local_tensor.detach()
        if full.grad is not None:
            full._update(laid(p.detach(), whole)._local_tensor.value.detach())

    def _keep(self, p: Any) -> None:
        """This process's part of a parameter that was updated."""
        full = self._stand_in(p)
        if full.grad is None:
            return
        full.grad = None
        whole = dtensor(full.detach(), p.device_mesh, (Replicate(),) * p.device_mesh.ndim,
                        tuple(p.shape))
        p._local_tensor._update(laid(whole, p.placements)._local_tensor.value)

    def zero_grad(self, set_to_none: bool) -> None:
        """Forget the gradients of parameters."""
        if self.whole or self.inner is None:
            Optimizer.zero_grad(self.outer, set_to_none)
        else:
            self.inner.zero_grad(set_to_none)


def loaded(value: Any, p: Any, cast: bool) -> Any:
    """A part of a loaded state, divided as the parameter is."""
    found = value.detach()
    if not found._is_dtensor:
        if not p._is_dtensor or tuple(found.shape) != tuple(p.shape) or not found.ndim:
            return None
        whole = dtensor(found, p.device_mesh, (Replicate(),) * p.device_mesh.ndim,
                        tuple(found.shape))
        found = laid(whole, [q if isinstance(q, Shard) else Replicate() for q in p.placements])
    elif p._is_dtensor and found.placements != p.placements and found.device_mesh == p.device_mesh:
        found = laid(found, p.placements)
    if cast:
        found = found.to(p.dtype)
    local = found._local_tensor
    made = Tensor.from_value(lazyloom.boundary(local._operand()))
    return found._with(made)

