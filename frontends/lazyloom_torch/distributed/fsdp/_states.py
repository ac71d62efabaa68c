"""State dicts of wrapped modules and of their optimizers, by names without the wrappers'."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import lazyloom

from ..._processes import groups
from ...nn.modules.module import Module
from ...optim.optimizer import Optimizer
from ..checkpoint._full import as_part, broadcast_from_first, cut_like, gathered
from ..checkpoint._names import names_of
from ..checkpoint._optimizer_states import begun, named_state, numbered, of_one
from ..checkpoint._parts import is_distributed
from .api import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)

_PREFIX = "_fsdp_wrapped_module."
_CONFIGS: dict[StateDictType, tuple[type[StateDictConfig], type[OptimStateDictConfig]]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}


def _wrapped(module: Module) -> list[Any]:
    return [m for m in module.modules() if isinstance(m, StateDicts)]


def _settings(module: Module) -> StateDictSettings:
    found = _wrapped(module)
    return found[0]._settings if found else StateDictSettings(
        StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())


class StateDicts:
    """State dicts of a wrapped module: whole tensors, or DTensors."""

    _settings: StateDictSettings

    @staticmethod
    def set_state_dict_type(
        module: Module, state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Say what the state dicts of all wrapped modules have; returns what it was.

        Raises RuntimeError for a configuration of another type.
        """
        kinds = _CONFIGS[state_dict_type]
        config = kinds[0]() if state_dict_config is None else state_dict_config
        optim = kinds[1]() if optim_state_dict_config is None else optim_state_dict_config
        if type(config) is not kinds[0]:
            raise RuntimeError(
                f"Expected state_dict_config of type {kinds[0]} but got {type(config)}")
        if type(optim) is not kinds[1]:
            raise RuntimeError(
                f"Expected optim_state_dict_config of type {kinds[1]} but got {type(optim)}")
        before = _settings(module)
        for m in _wrapped(module):
            m._settings = StateDictSettings(state_dict_type, config, optim)
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """What the state dicts of a module have."""
        return _settings(module)

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Module, state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """:meth:`set_state_dict_type` for a ``with`` block."""
        before = StateDicts.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            StateDicts.set_state_dict_type(
                module, before.state_dict_type, before.state_dict_config,
                before.optim_state_dict_config)

    def _add_state_hooks(self) -> None:
        own: Any = self
        own._register_state_dict_hook(_written)
        own._register_load_state_dict_pre_hook(_read, with_module=True)


def _written(module: Any, state: Any, prefix: str, metadata: Any) -> Any:
    """The state of a wrapped module, with names without the wrapper's."""
    settings = module._settings
    full = settings.state_dict_type is StateDictType.FULL_STATE_DICT
    inner = prefix + _PREFIX
    with lazyloom.grad_mode(False):
        for key in [k for k in state if k.startswith(inner)]:
            value = state.pop(key)
            if full and is_distributed(value):
                value = value.full_tensor()
            state[prefix + key[len(inner):]] = value
    if full and settings.state_dict_config.rank0_only and groups.world_rank():
        for key in [k for k in state if k.startswith(prefix)]:
            del state[key]
    return state


def _read(module: Any, state: Any, prefix: str, *rest: Any) -> None:
    """A state as the wrapped module takes it: the wrapper's names, DTensors of whole tensors."""
    inner = prefix + _PREFIX
    own = dict(module._fsdp_wrapped_module.named_parameters(remove_duplicate=False))
    params = {k.replace(_PREFIX, ""): p for k, p in own.items()}
    with lazyloom.grad_mode(False):
        for key in [k for k in state if k.startswith(prefix) and not k.startswith(inner)]:
            value = state.pop(key)
            name = key[len(prefix):]
            like = params.get(name)
            if like is not None and is_distributed(like) and not is_distributed(value) and (
                tuple(value.shape) == tuple(like.shape)
            ):
                value = as_part(value, like)
            state[inner + name] = value


class OptimizerStates:
    """States of optimizers whose parameters are divided, by the names of parameters."""

    @staticmethod
    def optim_state_dict(
        model: Module, optim: Optimizer, optim_state_dict: dict[str, Any] | None = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """The optimizer's state, as the model's state dicts are; all processes call it.

        Args:
            model: the outermost module.
            optim: the optimizer.
            optim_state_dict: its ``state_dict()``; None to take it.
            group: accepted.
        """
        settings = _settings(model)
        config = settings.optim_state_dict_config
        full = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        with lazyloom.grad_mode(False):
            found: dict[str, Any] = gathered(
                named_state(optim, names_of(model)), full, full and getattr(
                    config, "rank0_only", False))
        return found

    @staticmethod
    def optim_state_dict_to_load(
        model: Module, optim: Optimizer, optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False, load_directly: bool = False, group: Any = None,
    ) -> dict[str, Any]:
        """What ``optim.load_state_dict`` takes, of what :meth:`optim_state_dict` gave.

        Args:
            model: the outermost module.
            optim: the optimizer.
            optim_state_dict: the state; with ``FullOptimStateDictConfig(rank0_only=True)`` it is
                needed in rank 0 alone.
            load_directly: whether to load it.
        """
        names = names_of(model)
        with lazyloom.grad_mode(False):
            begun(optim)
            own = named_state(optim, names)
            if getattr(_settings(model).optim_state_dict_config, "rank0_only", False):
                given = broadcast_from_first(optim_state_dict, own, True)
            else:
                given = optim_state_dict
            mine = of_one(given, optim, names, strict=False)
            mine["state"] = cut_like(mine["state"], own["state"])
            found = numbered(mine, optim, names)
            if load_directly:
                optim.load_state_dict(found)
        return found

    @staticmethod
    def full_optim_state_dict(
        model: Module, optim: Optimizer, optim_input: Any = None, rank0_only: bool = True,
        group: Any = None,
    ) -> dict[str, Any]:
        """The optimizer's state with whole tensors; in rank 0 alone if ``rank0_only``."""
        _old("full_optim_state_dict", "optim_state_dict")
        with lazyloom.grad_mode(False):
            found: dict[str, Any] = gathered(named_state(optim, names_of(model)), True, rank0_only)
        return found

    @staticmethod
    def sharded_optim_state_dict(
        model: Module, optim: Optimizer, group: Any = None
    ) -> dict[str, Any]:
        """The optimizer's state with DTensors."""
        _old("sharded_optim_state_dict", "optim_state_dict")
        return named_state(optim, names_of(model))

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any], model: Module, optim_input: Any = None,
        optim: Optimizer | None = None,
    ) -> dict[str, Any]:
        """What ``optim.load_state_dict`` takes, of a state with whole tensors in each process."""
        _old("shard_full_optim_state_dict", "optim_state_dict_to_load")
        return _to_load(model, optim, full_optim_state_dict, False)

    @staticmethod
    def flatten_sharded_optim_state_dict(
        sharded_optim_state_dict: dict[str, Any], model: Module, optim: Optimizer
    ) -> dict[str, Any]:
        """What ``optim.load_state_dict`` takes, of a state with DTensors."""
        _old("flatten_sharded_optim_state_dict", "optim_state_dict_to_load")
        return _to_load(model, optim, sharded_optim_state_dict, False)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None, model: Module, optim_input: Any = None,
        optim: Optimizer | None = None, group: Any = None,
    ) -> dict[str, Any]:
        """What ``optim.load_state_dict`` takes, of a state with whole tensors in rank 0."""
        _old("scatter_full_optim_state_dict", "optim_state_dict_to_load")
        return _to_load(model, optim, full_optim_state_dict or {}, True)

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any], optim_state_key_type: OptimStateKeyType, model: Module,
        optim_input: Any = None, optim: Optimizer | None = None,
    ) -> dict[str, Any]:
        """A state with parameters' numbers in place of their names, or the other way."""
        if optim_state_key_type not in (
                OptimStateKeyType.PARAM_NAME, OptimStateKeyType.PARAM_ID):
            raise AssertionError(f"no OptimStateKeyType: {optim_state_key_type!r}")
        params = list(model.parameters()) if optim is None else [
            p for g in optim.param_groups for p in g["params"]]
        names = names_of(model)
        order = [names[id(p)] for p in params]
        by_name = optim_state_key_type is OptimStateKeyType.PARAM_NAME
        keys: dict[Any, Any] = dict(enumerate(order)) if by_name else {
            n: i for i, n in enumerate(order)}
        return {
            "state": {keys.get(k, k): v for k, v in optim_state_dict["state"].items()},
            "param_groups": [{**g, "params": sorted(keys.get(k, k) for k in g["params"])}
                             for g in optim_state_dict["param_groups"]]}


def _to_load(model: Module, optim: Optimizer | None, given: Any, from_first: bool) -> Any:
    if optim is None:
        raise ValueError("give the optimizer: optim=...")
    names = names_of(model)
    with lazyloom.grad_mode(False):
        begun(optim)
        own = named_state(optim, names)
        state = broadcast_from_first(given, own, True) if from_first else given
        mine = of_one(state, optim, names, strict=False)
        mine["state"] = cut_like(mine["state"], own["state"])
        return numbered(mine, optim, names)


def _old(name: str, new: str) -> None:
    warnings.warn(
        f"FSDP.{name} is being deprecated and is replaced by FSDP.{new}. FSDP.{name} may be "
        "removed after PyTorch 2.2.", FutureWarning, stacklevel=3)
