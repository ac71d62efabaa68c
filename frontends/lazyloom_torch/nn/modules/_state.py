"""State dicts of modules: writing, loading, and their hooks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import lazyloom
from lazyloom.frontend import storage_of

from ..._grad_mode import no_grad
from ..._hooks import RemovableHandle
from ..._interchange import is_foreign, own_copy
from ..._tensor import Tensor
from ..parameter import Parameter, is_lazy
from ._hooks import register

_EXTRA = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """What :meth:`Module.load_state_dict` did not find, and what it did not expect."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not any(self):
            return "<All keys matched successfully>"
        return (f"{type(self).__name__}(missing_keys={self.missing_keys}, "
                f"unexpected_keys={self.unexpected_keys})")


class Stateful:
    """The part of a Module that writes and loads state dicts."""

    #: a number that changes with the meaning of a module's state
    _version: int = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: dict[int, Any]
    _state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_post_hooks: dict[int, Any]

    def get_extra_state(self) -> Any:
        """What else belongs to the state. To be overridden, with :meth:`set_extra_state`."""
        raise RuntimeError(f"{type(self).__name__} has no get_extra_state; define it in the class")

    def set_extra_state(self, state: Any) -> None:
        """Restore what :meth:`get_extra_state` gave. To be overridden with it."""
        raise RuntimeError(f"{type(self).__name__} has no set_extra_state; define it in the class")

    # -- writing --------------------------------------------------------------------------

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool
                            ) -> None:
        for name, p in self._parameters.items():
            if p is not None:
                destination[prefix + name] = p if keep_vars else p.detach()
        for name, b in self._buffers.items():
            if b is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = b if keep_vars else b.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "",
                   keep_vars: bool = False) -> dict[str, Any]:
        """All parameters and persistent buffers by dotted name, sharing storage.

        ``keep_vars`` keeps the parameters themselves, which gradients flow to.
        """
        if args:
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and not prefix else prefix
            keep_vars = args[2] if len(args) > 2 and not keep_vars else keep_vars
        found: Any = destination
        if destination is None:
            found = OrderedDict()
            found._metadata = OrderedDict()
        noted = {"version": self._version}
        if hasattr(found, "_metadata"):
            found._metadata[prefix[:-1]] = noted
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(found, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=found, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            changed = hook(self, found, prefix, noted)
            if getattr(hook, "_from_public_api", False):
                if changed is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif changed is not None:
                found = changed
        return found

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the state is written."""
        return register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after it was written."""
        def public(*args: Any) -> Any:
            return hook(*args)

        public._from_public_api = True  # type: ignore[attr-defined]
        return register(self._state_dict_hooks, public)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """:meth:`register_state_dict_post_hook`, where the hook may return another dict."""
        return register(self._state_dict_hooks, hook)

    # -- loading --------------------------------------------------------------------------

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` before this module's own state is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        return register(self._load_state_dict_pre_hooks, (hook, with_module))  # type: ignore[arg-type]

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after the state was loaded; it may change
        the lists of keys."""
        return register(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Load what belongs to this module itself, and not to its children."""
        given = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                 error_msgs)
        for hook, with_module in list(self._load_state_dict_pre_hooks.values()):
            hook(*((self, *given) if with_module else given))
        own = {n: t for n, t in (*self._parameters.items(), *(
            (n, b) for n, b in self._buffers.items()
            if n not in self._non_persistent_buffers_set)) if t is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, here in own.items():
            key = prefix + name
            if key in state_dict:
                problem = _load_one(self, name, key, here, state_dict[key], assign)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if not key.startswith(prefix) or key == extra:
                    continue
                first, _, rest = key[len(prefix):].partition(".")
                if first not in (self._modules if rest else own):
                    unexpected_keys.append(key)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy parameters and buffers from a state dict, or with ``assign`` take them over.

        Raises RuntimeError for a shape that differs, and with ``strict`` for names that
        are missing or unknown, listing all of them.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        keys = _IncompatibleKeys([], [])
        problems: list[str] = []
        given: Any = OrderedDict(state_dict)
        metadata = getattr(state_dict, "_metadata", None)
        if metadata is not None:
            given._metadata = metadata

        def load(module: Any, part: Any, prefix: str) -> None:
            noted = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                noted = {**noted, "assign_to_params_buffers": True}
            module._load_from_state_dict(part, prefix, noted, True, *keys, problems)
            for name, child in module._modules.items():
                if child is not None:
                    below = f"{prefix}{name}."
                    load(child, {k: v for k, v in part.items() if k.startswith(below)}, below)
            for hook in list(module._load_state_dict_post_hooks.values()):
                if hook(module, keys) is not None:
                    raise RuntimeError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                        "expected to return new values; change incompatible_keys in-place")

        load(self, given, "")
        if strict:
            for text, names in (("Unexpected", keys.unexpected_keys),
                                ("Missing", keys.missing_keys)):
                if names:
                    problems.insert(0, f"{text} key(s) in state_dict: "
                                    + ", ".join(f'"{k}"' for k in names) + ". ")
        if problems:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(problems))
        return keys


def _load_one(module: Any, name: str, key: str, here: Any, given: Any, assign: bool) -> str | None:
    """Load one tensor, PyTorch's too; what is wrong with it, or None."""
    if is_foreign(given):
        given = own_copy(given)
    if not isinstance(given, Tensor):
        return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(given)}")
    if not is_lazy(here):
        kind = given.tensor_type
        if not here.tensor_type.shape and len(kind.shape) == 1 and kind.size == 1:
            given = given[0]  # as checkpoints of long ago have scalars
        if given.tensor_type.shape != here.tensor_type.shape:
            return (f"size mismatch for {key}: copying a param with shape {given.shape} from "
                    f"checkpoint, the shape in current model is {here.shape}.")
    try:
        with no_grad():
            if assign:
                if isinstance(here, Parameter):
                    if isinstance(given, Parameter):
                        given.requires_grad_(here.requires_grad)
                    else:
                        given = Parameter(given, requires_grad=here.requires_grad)
                setattr(module, name, given)
            elif here._is_dtensor:
                here.copy_(given)
                lazyloom.boundary(storage_of(here._local_tensor).value)
            else:
                here.copy_(given)
                lazyloom.boundary(storage_of(
                    here._local_tensor if here._is_dtensor else here).value)
    except Exception as error:
        return (f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{here.shape} and whose dimensions in the checkpoint are {given.shape}, an "
                f"exception occurred : {error.args}.")
    return None
