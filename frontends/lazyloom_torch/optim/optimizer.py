"""The base class of optimizers.

Hyperparameters travel as run-time scalars that are never part of a program's
structure, not even as 0 or 1 (``Scalar(..., bake=False)``), so a schedule may take any
values without a compile.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import lazyloom
from lazyloom import Scalar
from lazyloom.dtypes import DType
from lazyloom.errors import LoomError

from .._errors import as_torch
from .._functions.creation import full_value
from .._grad_mode import enable_grad
from .._tensor import RemovableHandle, Tensor

ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM = [
    lazyloom.spec(op, 2) for op in ("add", "subtract", "multiply", "divide", "maximum")]
NEGATIVE, SQRT = lazyloom.spec("negative", 1), lazyloom.spec("sqrt", 1)
LERP = lazyloom.spec("lerp", 3)


def hyper(number: Any, dtype: Any) -> Scalar:
    """A hyperparameter as a run-time scalar."""
    return Scalar(float(number), dtype, bake=False)


class Optimizer:
    """Updates parameters by their gradients. Subclasses define ``_update`` (or ``step``).

    Args:
        params: parameters, (name, parameter) pairs, or dicts of a group's ``params`` and
            hyperparameters.
        defaults: hyperparameters of groups that do not name their own.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts,"
                f" but got {type(params).__name__}")
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._pre_hooks: dict[int, Any] = {}
        self._post_hooks: dict[int, Any] = {}
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with hyperparameters of its own."""
        group = dict(param_group)
        given = group["params"]
        given = [given] if isinstance(given, Tensor) else list(given)
        group["params"] = [p[1] if isinstance(p, tuple) else p for p in given]
        known = {id(p) for g in self.param_groups for p in g["params"]}
        for p in group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is "
                    f"{type(p).__name__}")
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
            if id(p) in known:
                raise ValueError("some parameters appear in more than one parameter group")
            known.add(id(p))
        for name, value in self.defaults.items():
            group.setdefault(name, value)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, or make them zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                leaf = p._leaf
                if leaf is not None and leaf.grad is not None:
                    leaf.grad = None if set_to_none else leaf.grad.detach().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient.

        ``closure`` computes the loss again (with gradients) and returns it; so does step.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if self._pre_hooks:
            for hook in list(self._pre_hooks.values()):
                hook(self, (), {})
        before = lazyloom.set_grad_enabled(False)
        try:
            for group in self.param_groups:
                self._step_group(group)
        except LoomError as error:
            raise as_torch(error) from None
        finally:
            lazyloom.set_grad_enabled(before)
        if self._post_hooks:
            for hook in list(self._post_hooks.values()):
                hook(self, (), {})
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        """Update the parameters of a group, by dtype, as hyperparameters are numbers of one."""
        kinds: dict[Any, list[tuple[Tensor, Any]]] = {}
        for p in group["params"]:
            leaf = p._leaf
            if leaf is not None and leaf.grad is not None:
                kind = p._type.dtype
                found = kinds.get(kind)
                if found is None:
                    found = kinds[kind] = []
                found.append((p, leaf.grad.value))
        for kind, pairs in kinds.items():
            self._update(pairs, kind, group)

    def _update(
        self, pairs: list[tuple[Tensor, Any]], kind: DType, group: dict[str, Any]
    ) -> None:
        """Update parameters of one dtype, given with the values of their gradients."""
        raise NotImplementedError(f"{type(self).__name__} does not define an update")

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        handle = RemovableHandle(self._pre_hooks)
        self._pre_hooks[handle.id] = hook
        return handle

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        handle = RemovableHandle(self._post_hooks)
        self._post_hooks[handle.id] = hook
        return handle

    def state_dict(self) -> dict[str, Any]:
        """The state by parameter number, and the groups with numbers for parameters."""
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            groups.append({**{k: v for k, v in group.items() if k != "params"},
                           "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(p)]: dict(s) for p, s in self.state.items() if id(p) in numbers}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave. Raises ValueError if the groups do not fit."""
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        by_number: dict[int, Tensor] = {}
        for here, given in zip(self.param_groups, groups, strict=True):
            if len(here["params"]) != len(given["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group")
            by_number.update(zip(given["params"], here["params"], strict=True))
            here.update({k: copy.deepcopy(v) for k, v in given.items() if k != "params"})
        self.state.clear()
        for number, given in state_dict["state"].items():
            p = by_number[int(number)]
            self.state[p] = {
                k: _as_state(v, p) if isinstance(v, Tensor) else v for k, v in given.items()}


def _as_state(value: Tensor, p: Tensor) -> Tensor:
    made = value.detach().to(p.dtype) if value.shape == p.shape else value.detach()
    made = made.clone()
    lazyloom.boundary(made._storage.value)
    return made


def zeros_for(p: Tensor) -> Tensor:
    """A state buffer of zeros, a boundary: the first step has the structure of later ones."""
    made: Tensor = Tensor._wrap(full_value(p._type.shape, 0, p.dtype))
    return made


def check(name: str, value: Any, valid: bool) -> None:
    """Raise ValueError for an invalid hyperparameter."""
    if not valid:
        raise ValueError(f"Invalid {name}: {value}")


