"""Modules whose parameters get their shapes from the first input."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ..parameter import Parameter, UninitializedParameter, is_lazy
from ._making import Shaped
from .module import Module


class LazyModuleMixin(Module):
    """Turns a module into one that learns its sizes from what it is called with first.

    A subclass has :meth:`initialize_parameters`, and ``cls_to_become`` if it is to become
    another class then. Until that, parameters are ``UninitializedParameter``; a state dict with
    their shapes may be loaded as well.
    """

    cls_to_become: type[Module] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes by what the module is called with."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether parameters or buffers have no shape yet."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Tensors without a shape are kept themselves; there is nothing to detach."""
        for name, t in (*self._parameters.items(), *(
            (n, b) for n, b in self._buffers.items()
            if n not in self._non_persistent_buffers_set
        )):
            if t is not None:
                destination[prefix + name] = t if is_lazy(t) or keep_vars else t.detach()

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Give tensors without a shape that of what is loaded into them."""
        for name, t in (*self._parameters.items(), *self._buffers.items()):
            key = prefix + name
            if key in state_dict and is_lazy(t) and not is_lazy(state_dict[key]):
                t.materialize(state_dict[key].shape)  # type: ignore[union-attr]

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        kwargs = kwargs or {}
        module.initialize_parameters(*args, **kwargs)
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"module {self._get_name()} has not been fully initialized: its "
                "initialize_parameters left parameters without a shape")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module.__dict__["_initialize_hook"]
        del module.__dict__["_load_hook"]
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
        if not module._forward_pre_hooks and not module._forward_hooks:
            module.__dict__.pop("_hooked", None)


class SizedByInput(LazyModuleMixin, Shaped):
    """A lazy module that takes one of its sizes, and so all its shapes, from its first input.

    Subclasses name the size in ``_size_name``, and are 0 there until it is known.
    """

    _size_name: str

    def _size_of(self, input: Tensor) -> int:
        """The size that the first input means."""
        raise NotImplementedError

    def _new_parameter(self, name: str, dtype: Any, device: Any = None) -> Parameter:
        return UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if getattr(self, self._size_name) and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Set the size by the first input, and give shapes to what a state dict has not given."""
        if not getattr(self, self._size_name):
            setattr(self, self._size_name, self._size_of(input))
        if not self.has_uninitialized_params():
            return
        shapes = self._shapes()
        for name, t in (*self._parameters.items(), *self._buffers.items()):
            if is_lazy(t):
                t.materialize(shapes[name])  # type: ignore[union-attr]
        self.reset_parameters()


__all__ = ["LazyModuleMixin"]
