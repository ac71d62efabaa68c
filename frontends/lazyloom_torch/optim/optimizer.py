"""The base class of optimizers: groups, hooks, state dicts."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import lazyloom
from lazyloom.errors import LoomError, type_name

from .. import _ends
from .._divided import divided
from .._errors import as_torch, described
from .._grad_mode import set_grad_enabled
from .._hooks import RemovableHandle
from .._tensor import Tensor
from ..nn.parameter import forget_gradients

#: what an optimizer takes: parameters, pairs of name and parameter, or groups
ParamsT: TypeAlias = (
    Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]])
StateDict: TypeAlias = dict[str, Any]


class _Required:
    """Stands as the default of a hyperparameter that every group has to name."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

#: hooks of every optimizer, see :func:`register_optimizer_step_pre_hook`
_global_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_post_hooks: OrderedDict[int, Any] = OrderedDict()


def _registered(
    hooks: OrderedDict[int, Any], hook: Callable[..., Any], prepend: bool = False
) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before each step of every optimizer.

    It may return other ``(args, kwargs)``.
    """
    return _registered(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after each step of every optimizer."""
    return _registered(_global_post_hooks, hook)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            # it was not made by Optimizer.__init__: it stands before another optimizer
            return step(self, *args, **kwargs)
        if _global_pre_hooks or self._optimizer_step_pre_hooks:
            for hook in (*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                # the optimizer is one of the arguments that hooks see, and may give back
                changed = hook(self, (self, *args), kwargs)
                if changed is not None:
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise RuntimeError(
                            f"{hook} must return None or a tuple of (new_args, new_kwargs), but "
                            f"got {changed}.")
                    args, kwargs = changed[0][1:], changed[1]
        self._opt_called = True  # what schedules look at, which come after the first step
        self._begin()
        if self._ended:
            # metrics and averages that nobody reads would hold on to every step's results
            lazyloom.sync_older(self._ended)
        try:
            result = step(self, *args, **kwargs)
        except LoomError as error:
            raise as_torch(error) from None
        self._ended = lazyloom.last_sequence()
        if _global_post_hooks or self._optimizer_step_post_hooks:
            for hook in (*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()):
                hook(self, (self, *args), kwargs)
        for called in _ends.after_step:
            called()
        return result

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


class Optimizer:
    """Updates parameters by their gradients. Subclasses define :meth:`step`.

    Args:
        params: parameters, (name, parameter) pairs, or dicts of a group's ``params`` and
            hyperparameters.
        defaults: hyperparameters of groups that do not name their own.

    Raises:
        TypeError: ``params`` is a tensor, or holds something that is none.
        ValueError: no parameters, one of two groups, a non-leaf, or names for some only.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        step = cls.__dict__.get("step")
        if step is not None and not hasattr(step, "hooked"):
            cls.step = _with_hooks(step)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor) or not (
            isinstance(params, Iterable) or hasattr(type(params), "__getitem__")
        ):
            advice = "; pass its parameters()" if hasattr(params, "parameters") else ""
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts,"
                f" but got {type_name(params)}{advice}")
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        for name in ("step_pre", "step_post", "state_dict_pre", "state_dict_post",
                     "load_state_dict_pre", "load_state_dict_post"):
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())

    _opt_called = False
    #: the number of the newest op after the last step, or 0
    _ended = 0
    _optimizer_step_pre_hooks: OrderedDict[int, Any]
    _optimizer_step_post_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"\nParameter Group {i}" if i else "Parameter Group 0")
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return "\n".join([*lines, ")"])

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with hyperparameters of its own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be in an ordered collection, but a set was given, "
                "whose order changes between runs; use a list")
        members = [given] if isinstance(given, Tensor) else list(given)
        names = [p[0] for p in members if isinstance(p, tuple)]
        param_group["params"] = params = [p[1] if isinstance(p, tuple) else p for p in members]
        if names:
            if len(names) != len(params):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are "
                    "missing")
            param_group["param_names"] = names
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is "
                    f"{described(p)}")
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, value in self.defaults.items():
            if value is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}")
            param_group.setdefault(name, value)
        own = {id(p) for p in params}
        if len(own) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; each is updated "
                "as often as it is named", stacklevel=3)
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                having = "with" if "param_names" in param_group else "without"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {having} names to the optimizer")
            if not own.isdisjoint(id(p) for p in group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)
        if any(p._is_dtensor for p in params):
            self._divide()

    def _divide(self) -> None:
        """Look after parameters that are tensors of torch.distributed.tensor."""

    def _begin(self) -> None:
        """Look at how things are before a step does anything."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, or make them zeros."""
        for group in self.param_groups:
            forget_gradients(group["params"], set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once. Returns what the closure returns."""
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return others."""
        return _registered(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _registered(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` before :meth:`state_dict`."""
        return _registered(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after it was made; it may return another."""
        return _registered(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; it may return another."""
        return _registered(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after loading."""
        return _registered(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self) -> dict[str, Any]:
        """The state by parameter number, and the groups with numbers for parameters."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                numbers.setdefault(id(p), i)
            start += len(group["params"])
            groups.append({**{k: v for k, v in group.items() if k != "params"},
                           "params": [numbers[id(p)] for p in group["params"]]})
        found: dict[str, Any] = {
            "state": {numbers[id(k)] if isinstance(k, Tensor) else k: v
                      for k, v in _unshared(self.state).items()},
            "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, found)
            if changed is not None:
                found = changed
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what :meth:`state_dict` gave, here or in PyTorch.

        Raises ValueError if the groups do not fit.
        """
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        groups = [{k: copy.deepcopy(v) for k, v in g.items()} for g in state_dict["param_groups"]]
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        params: dict[Any, Tensor] = {}
        for here, given in zip(self.param_groups, groups, strict=True):
            if len(here["params"]) != len(given["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group")
            params.update(zip(given["params"], here["params"], strict=True))
            given["params"] = here["params"]
            if "param_names" in here:
                given.setdefault("param_names", here["param_names"])
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            p = params.get(key)
            if p is None:
                state[key] = value
            else:
                state[p] = _loaded(value, p, None)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _loaded(value: Any, p: Tensor, name: Any) -> Any:
    """A part of a loaded state: floating-point tensors in the parameter's dtype, but the step."""
    if isinstance(value, Mapping):
        return {k: _loaded(v, p, k) for k, v in value.items()}
    if not isinstance(value, Tensor) and hasattr(value, "detach"):
        from .._functions.creation import as_tensor

        value = as_tensor(value)
    if isinstance(value, Tensor):
        if value._is_dtensor or p._is_dtensor:
            made = divided["loaded"](value, p, name != "step" and p.is_floating_point())
            if made is not None:
                return made
        # a tensor of its own: later steps must not write into what was loaded
        found = value.detach()
        if name != "step" and p.is_floating_point():
            found = found.to(p.dtype)
        return Tensor.from_value(lazyloom.boundary(found._operand()))
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_loaded(v, p, None) for v in value)  # type: ignore[call-arg]
    return value


def _unshared(state: Any) -> dict[Any, Any]:
    """The state with a tensor of its own for each parameter, of those that several share.

    PyTorch counts steps in each parameter's own tensor, in place.
    """
    seen: set[int] = set()
    found = {}
    for key, values in state.items():
        if isinstance(values, dict):
            again = {n for n, v in values.items() if isinstance(v, Tensor) and id(v) in seen}
            seen.update(id(v) for v in values.values() if isinstance(v, Tensor))
            if again:
                values = {
                    n: Tensor.from_value(v.value) if n in again else v for n, v in values.items()}
        found[key] = values
    return found


# -- what optimizers of libraries import from here --------------------------------------------


def _default_to_fused_or_foreach(params: list[Tensor], differentiable: bool,
                                 use_fused: bool = False) -> tuple[bool, bool]:
    """Neither: what is recorded for each parameter becomes one program anyway."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """None: nothing is captured."""
    return []


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """``step`` with gradients recorded if the optimizer is differentiable, else without."""

    @functools.wraps(func)
    def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            return func(self, *args, **kwargs)

    return step
