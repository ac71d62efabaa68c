"""States of optimizers by the names of parameters, nested or flat, and by numbers."""

from __future__ import annotations

from typing import Any

from ..._functions.creation import zeros_like
from ..._tensor import Tensor
from ...optim.optimizer import Optimizer


def begun(optimizer: Optimizer) -> None:
    """Let an optimizer without state make it, by a step that changes no parameter."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    for p in params:
        if p.requires_grad:
            p.grad = p._with(zeros_like(p._local_tensor.detach())) if p._is_dtensor else (
                zeros_like(p.detach()))
    rates = []
    for group in optimizer.param_groups:
        if "lr" in group:
            rates.append(group["lr"])
            group["lr"] = zeros_like(group["lr"]) if isinstance(group["lr"], Tensor) else 0.0
    optimizer.step()
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = rates.pop(0)
    optimizer.zero_grad(set_to_none=True)


def _name(names: dict[int, str], p: Any) -> str:
    found = names.get(id(p))
    if found is None:
        raise KeyError(
            f"the optimizer has a parameter of size {list(p.shape)} that the model does not have: "
            "make the optimizer of model.parameters() as they are now, after fully_shard or a "
            "wrapper has replaced them")
    return found


def _ordered(optimizer: Optimizer, names: dict[int, str]) -> list[str]:
    """The names of the optimizer's parameters, by the numbers that its state dict has."""
    return [_name(names, p) for group in optimizer.param_groups for p in group["params"]]


def named_state(optimizer: Optimizer, names: dict[int, str]) -> dict[str, Any]:
    """The state dict with names in place of numbers."""
    order = _ordered(optimizer, names)
    state = optimizer.state_dict()
    return {
        "state": {order[number]: value for number, value in state["state"].items()},
        "param_groups": [{**group, "params": [order[n] for n in group["params"]]}
                         for group in state["param_groups"]]}


def numbered(state: dict[str, Any], optimizer: Optimizer, names: dict[int, str]) -> dict[str, Any]:
    """What :func:`named_state` gives, with numbers again."""
    numbers = {name: i for i, name in enumerate(_ordered(optimizer, names))}
    return {
        "state": {numbers[name]: value for name, value in state["state"].items()},
        "param_groups": [{**group, "params": [numbers[n] for n in group["params"]]}
                         for group in state["param_groups"]]}


def of_one(
    state: dict[str, Any], optimizer: Optimizer, names: dict[int, str], strict: bool
) -> dict[str, Any]:
    """The part of a state of several optimizers that belongs to one, in the order of its groups."""
    kept: dict[str, Any] = {}
    groups = []
    for group in optimizer.param_groups:
        own = [_name(names, p) for p in group["params"]]
        for p, name in zip(group["params"], own, strict=True):
            if name in state["state"]:
                kept[name] = state["state"][name]
            elif strict and p.requires_grad and state["state"]:
                raise RuntimeError(
                    f"Missing optimizer state for parameter '{name}' in checkpoint. The parameter "
                    "requires gradients but has no saved optimizer state. To load anyway, use "
                    "StateDictOptions(strict=False).")
        given: dict[str, Any] = next((g for g in state["param_groups"]
                      if own and own[0] in g["params"] or not own and not g["params"]), {})
        rest = {k: v for k, v in group.items() if k != "params"}
        groups.append({**rest, **{k: v for k, v in given.items() if k != "params"}, "params": own})
    return {"state": kept, "param_groups": groups}


def flattened(state: dict[str, Any]) -> dict[str, Any]:
    """A flat dict: ``state.<name>.<what>`` and ``param_groups.<name>.<what>``.

    Raises NotImplementedError for a state that is no tensor or number.
    """
    found: dict[str, Any] = {}

    def visit(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                visit(f"{prefix}.{key}", inner)
            return
        if not isinstance(value, (Tensor, int, float)):
            raise NotImplementedError(
                "Flattening optimizer state_dict only supports tensor, int, float, dict states "
                f"now. Type is {type(value)}.")
        found[prefix] = value

    for name, value in state["state"].items():
        visit(f"state.{name}", value)
    for group in state["param_groups"]:
        for name in group["params"]:
            for key, value in group.items():
                if key != "params":
                    found[f"param_groups.{name}.{key}"] = value
    return found


def unflattened(
    flat: dict[str, Any], optimizer: Optimizer, names: dict[int, str]
) -> dict[str, Any]:
    """The nested state of one optimizer that a flat dict holds."""
    state: dict[str, Any] = {}
    groups = []
    for group in optimizer.param_groups:
        own = [_name(names, p) for p in group["params"]]
        for p, name in zip(group["params"], own, strict=True):
            held = _below(flat, f"state.{name}.", optimizer.state.get(p, {}))
            if held:
                state[name] = held
        found: dict[str, Any] = {"params": own}
        for key in group:
            if key != "params" and own:
                values = [flat[f"param_groups.{n}.{key}"] for n in own
                          if f"param_groups.{n}.{key}" in flat]
                if any(_differ(v, values[0]) for v in values[1:]):
                    raise RuntimeError(
                        "All the parameters in the same parameter group should have the same saved "
                        f"param_group value. But those of {key} are {values}.")
                if values:
                    found[key] = values[0]
        groups.append(found)
    return {"state": state, "param_groups": groups}


def _differ(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return bool((a != b).any())
    return bool(a != b)


def _below(flat: dict[str, Any], prefix: str, like: Any) -> dict[str, Any]:
    """The nested dict of what begins with a prefix, with the keys that the own state has."""
    found: dict[str, Any] = {}
    for key in like:
        inner = prefix + str(key)
        if inner in flat:
            found[key] = flat[inner]
        elif isinstance(like[key], dict):
            found[key] = _below(flat, inner + ".", like[key])
    return found
