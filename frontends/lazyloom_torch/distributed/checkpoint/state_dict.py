"""States of models and optimizers by the names of parameters, however these are wrapped.

Names are those of the module without what DistributedDataParallel, FullyShardedDataParallel and
``torch.compile`` put between; states of optimizers go by the names of parameters, not by numbers.
So what several processes have saved fits a model in one process, and one wrapped in another way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..._grad_mode import no_grad
from ..._tensor import Tensor
from ...nn.modules.module import Module, _IncompatibleKeys
from ...optim.optimizer import Optimizer
from ._full import broadcast_from_first, cut_like, gathered
from ._names import name_of, names_of
from ._optimizer_states import (
    begun,
    flattened,
    named_state,
    numbered,
    of_one,
    unflattened,
)


@dataclass
class StateDictOptions:
    """How states are got and set.

    Attributes:
        full_state_dict: whether states have whole tensors, in place of DTensors.
        cpu_offload: whether tensors are on the CPU; with ``full_state_dict``, only rank 0 gets
            the state, the others an empty one.
        ignore_frozen_params: whether parameters that need no gradient are left out.
        keep_submodule_prefixes: whether names of ``submodules`` begin with theirs.
        strict: whether names that are missing or unknown are errors.
        broadcast_from_rank0: whether rank 0 alone is given the state, which is full.
        flatten_optimizer_state_dict: whether an optimizer's state is a flat dict of names.
        dsd_fqn_modifiers: of no effect.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(options: StateDictOptions | None) -> StateDictOptions:
    found = StateDictOptions() if options is None else options
    if found.broadcast_from_rank0 and not found.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return found


def _optimizers(given: Optimizer | Iterable[Optimizer]) -> tuple[Optimizer, ...]:
    return (given,) if isinstance(given, Optimizer) else tuple(given)


def _finished(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """The state with whole tensors, or only where it is wanted, as the options say."""
    found: dict[str, Any] = gathered(
        state, options.full_state_dict, only_first=options.full_state_dict and options.cpu_offload)
    return found


# -- models ------------------------------------------------------------------------------------


def _model_state(model: Module, options: StateDictOptions, submodules: Any) -> dict[str, Any]:
    with no_grad():
        state = {name_of(model, key): value for key, value in model.state_dict().items()}
        if submodules:
            wanted = {name_of(model, name) + "." for name, module in model.named_modules()
                      if any(module is s for s in submodules)}
            state = {(k if options.keep_submodule_prefixes else k[len(prefix):]): v
                     for prefix in sorted(wanted) for k, v in state.items()
                     if k.startswith(prefix)}
        if options.ignore_frozen_params:
            for key, p in model.named_parameters(remove_duplicate=False):
                if not p.requires_grad:
                    state.pop(name_of(model, key), None)
        return _finished(state, options)


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """Parameters and buffers of a model, by their names without wrappers; all processes call it.

    Args:
        model: the outermost module.
        submodules: the parts of it that are wanted; None for all.
        options: see :class:`StateDictOptions`.
    """
    return _model_state(model, _checked(options), submodules)


def set_model_state_dict(
    model: Module, model_state_dict: Any, *, options: StateDictOptions | None = None
) -> _IncompatibleKeys:
    """Load what :func:`get_model_state_dict` gave, here or with other wrappers.

    Args:
        model: the outermost module.
        model_state_dict: a state, or one for each of some submodules.
        options: see :class:`StateDictOptions`.

    Returns the names that are missing, and those that are unknown, if ``strict`` is False.
    """
    chosen = _checked(options)
    given = _by_names(model, model_state_dict)
    with no_grad():
        own = model.state_dict()
        keys = {name_of(model, key): key for key in own}
        if chosen.broadcast_from_rank0:
            given = broadcast_from_first(
                given, {name: own[key] for name, key in keys.items()}, chosen.strict)
        elif chosen.full_state_dict:
            given = cut_like(given, {name: own[key] for name, key in keys.items()})
        if not given:
            return _IncompatibleKeys([], [])
        state = {keys.get(name, name): value for name, value in given.items()}
        found = model.load_state_dict(state, strict=chosen.strict)
    return _IncompatibleKeys([name_of(model, k) for k in found.missing_keys],
                             [name_of(model, k) for k in found.unexpected_keys])


def _by_names(model: Module, given: Any) -> dict[str, Any]:
    """A state of the model, where states of submodules may be given."""
    if not given or not isinstance(next(iter(given)), Module):
        return dict(given)
    found: dict[str, Any] = {}
    for name, module in model.named_modules():
        if module in given:
            prefix = name_of(model, name) + "." if name else ""
            found.update({prefix + k: v for k, v in given[module].items()})
    return found


# -- optimizers --------------------------------------------------------------------------------


def get_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *,
    submodules: set[Module] | None = None, options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """States of optimizers by the names of parameters; all processes call it.

    An optimizer that has no state yet makes it, by a step with gradients and a rate of zero.

    Args:
        model: the outermost module.
        optimizers: one, or several that share the parameters of the model.
        submodules: the parts of the model whose parameters are wanted; None for all.
        options: see :class:`StateDictOptions`.
    """
    chosen = _checked(options)
    names = names_of(model)
    found: dict[str, Any] = {"state": {}, "param_groups": []}
    with no_grad():
        for optimizer in _optimizers(optimizers):
            begun(optimizer)
            state = named_state(optimizer, names)
            found["state"].update(state["state"])
            found["param_groups"] += state["param_groups"]
        if submodules:
            wanted = tuple(name_of(model, name) + "." for name, module in model.named_modules()
                           if any(module is s for s in submodules))
            found["state"] = {k: v for k, v in found["state"].items() if k.startswith(wanted)}
            for group in found["param_groups"]:
                group["params"] = [n for n in group["params"] if n.startswith(wanted)]
        if chosen.flatten_optimizer_state_dict:
            found = flattened(found)
        return _finished(found, chosen)


def set_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], optim_state_dict: Any, *,
    options: StateDictOptions | None = None,
) -> None:
    """Load what :func:`get_optimizer_state_dict` gave, here or with other wrappers.

    Args:
        model: the outermost module.
        optimizers: one, or several that share the parameters of the model.
        optim_state_dict: the state, flat or nested.
        options: see :class:`StateDictOptions`.

    Raises RuntimeError for a parameter whose state is missing, unless ``strict`` is False.
    """
    chosen = _checked(options)
    names = names_of(model)
    with no_grad():
        for optimizer in _optimizers(optimizers):
            begun(optimizer)
            given = dict(optim_state_dict)
            own = named_state(optimizer, names)
            if chosen.broadcast_from_rank0:
                given = broadcast_from_first(given, own, chosen.strict)
            if given and "state" not in given:
                given = unflattened(given, optimizer, names)
            if not given:
                continue
            mine = of_one(given, optimizer, names, chosen.strict)
            if chosen.full_state_dict:
                mine["state"] = cut_like(mine["state"], own["state"])
            optimizer.load_state_dict(numbered(mine, optimizer, names))


# -- both --------------------------------------------------------------------------------------


def get_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *,
    submodules: set[Module] | None = None, options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """:func:`get_model_state_dict` and :func:`get_optimizer_state_dict`."""
    chosen = _optimizers(optimizers)
    state = get_optimizer_state_dict(model, chosen, submodules=submodules, options=options) if (
        chosen) else {}
    return get_model_state_dict(model, submodules=submodules, options=options), state


def set_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, model_state_dict: Any,
    optim_state_dict: Any, options: StateDictOptions | None = None,
) -> _IncompatibleKeys:
    """:func:`set_model_state_dict` and :func:`set_optimizer_state_dict`."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    chosen = _optimizers(optimizers)
    if chosen:
        set_optimizer_state_dict(model, chosen, optim_state_dict, options=options)
    return found


#: programs import it by this name
_init_optim_state = begun

#: what PyTorch's annotations name
FQNS_T = set[str]
PrimitiveType = Tensor | int | float | str
ValueType = Any
DictValueType = dict[str, Any]
ListDictValueType = list[dict[str, Any]]
OptimizerStateType = dict[str, Any]

__all__ = [
    "DictValueType", "FQNS_T", "ListDictValueType", "OptimizerStateType", "PrimitiveType",
    "StateDictOptions", "ValueType", "get_model_state_dict", "get_optimizer_state_dict",
    "get_state_dict", "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip
