"""Hooks of modules: their registration, the global ones, and those of the backward pass."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..._hooks import RemovableHandle
from ..._tensor import Tensor


class Handle(RemovableHandle):
    """Removes a hook, and what is noted of it in other tables."""

    def __init__(self, hooks: dict[int, Any], *noted: dict[int, Any]) -> None:
        super().__init__(hooks)
        self._noted = noted

    def remove(self) -> None:
        super().remove()
        for table in self._noted:
            table.pop(self.id, None)


def register(
    hooks: dict[int, Any], hook: Callable[..., Any], prepend: bool = False,
    *noted: dict[int, Any],
) -> Handle:  # fmt: skip
    """Add a hook to a table, at its end or its front."""
    handle = Handle(hooks, *noted)
    if prepend:
        rest = dict(hooks)
        hooks.clear()
        hooks[handle.id] = hook
        hooks.update(rest)
    else:
        hooks[handle.id] = hook
    return handle


class Global:
    """The hooks of all modules. ``any_call`` tells whether a call must look at them."""

    pre: dict[int, Any] = {}
    post: dict[int, Any] = {}
    always: dict[int, Any] = {}
    with_kwargs: dict[int, Any] = {}
    backward: dict[int, Any] = {}
    backward_pre: dict[int, Any] = {}
    buffers: dict[int, Any] = {}
    modules: dict[int, Any] = {}
    parameters: dict[int, Any] = {}


def _tensors_of(given: tuple[Any, ...]) -> list[int]:
    return [i for i, x in enumerate(given) if isinstance(x, Tensor)]


def _spread(places: list[int], values: Any, size: int) -> tuple[Any, ...]:
    found: list[Any] = [None] * size
    for i, v in zip(places, values, strict=True):
        found[i] = v
    return tuple(found)


@functools.cache
def _boundary() -> Any:
    """A function that passes tensors on; their gradients go together through one of the host."""
    from ...autograd import Function

    class Boundary(Function):
        @staticmethod
        def forward(ctx: Any, on_gradients: Any, *given: Tensor) -> Any:
            ctx.set_materialize_grads(False)
            ctx.on_gradients = on_gradients
            return tuple(t.view_as(t) for t in given)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return (None, *ctx.on_gradients(gradients))

    return Boundary


def _passed(tensors: list[Tensor], on_gradients: Callable[..., Any]) -> tuple[Tensor, ...]:
    """The tensors, unchanged; their gradients pass through a function together."""
    found = _boundary().apply(on_gradients, *tensors)
    return found if isinstance(found, tuple) else (found,)


class BackwardPass:
    """Serves the full backward hooks of one call of a module.

    The outputs' gradients go to the pre hooks first, which may replace them; when those of the
    inputs are known the hooks see both, and may replace those of the inputs.
    """

    def __init__(self, module: Any, hooks: list[Any], pre: list[Any]) -> None:
        self.module, self.hooks, self.pre = module, hooks, pre
        self.inputs = 0
        self.inputs_known = False
        self.outputs: tuple[Any, ...] | None = None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.inputs = len(args)
        places = _tensors_of(args)
        if not any(args[i].requires_grad for i in places):
            return args
        self.inputs_known = True

        def serve(gradients: tuple[Any, ...]) -> tuple[Any, ...]:
            if self.outputs is None:
                return gradients
            given = self._call(_spread(places, gradients, self.inputs))
            self.outputs = None
            return tuple(given[i] for i in places)

        found = list(args)
        for i, t in zip(places, _passed([args[i] for i in places], serve), strict=True):
            found[i] = t
        return tuple(found)

    def _call(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.hooks:
            changed = hook(self.module, gradients, self.outputs)
            if changed is None:
                continue
            if not isinstance(changed, tuple):
                changed = (changed,)
            if len(changed) != len(gradients):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, got "
                    f"{len(changed)}, but expected {len(gradients)}")
            gradients = changed
        return gradients

    def watch_outputs(self, result: Any) -> Any:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}", stacklevel=4)
            return result
        given = result if isinstance(result, tuple) else (result,)
        places = _tensors_of(given)
        if not any(given[i].requires_grad for i in places):
            return result

        def serve(gradients: tuple[Any, ...]) -> tuple[Any, ...]:
            self.outputs = _spread(places, gradients, len(given))
            for hook in self.pre:
                changed = hook(self.module, self.outputs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple):
                    changed = (changed,)
                if len(changed) != len(given):
                    raise RuntimeError(
                        "Backward pre hook returned an invalid number of grad_output, got "
                        f"{len(changed)}, but expected {len(given)}")
                self.outputs = changed
            passed = tuple(self.outputs[i] for i in places)
            if not self.inputs_known:
                found = self._call((None,) * self.inputs)
                if any(g is not None for g in found):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always "
                        "return None or None for all gradients.")
            return passed

        found = list(given)
        for i, t in zip(places, _passed([given[i] for i in places], serve), strict=True):
            found[i] = t
        if not isinstance(result, tuple):
            return found[0]
        return type(result)(*found) if hasattr(result, "_fields") else type(result)(found)


def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A module's forward with all its hooks, and those of all modules."""
    done: set[int] = set()
    try:
        return _call(module, args, kwargs, done)
    except Exception:
        # hooks that are to be called in any case; what they raise does not hide the error
        for table, noted in ((Global.post, Global.always),
                             (module._forward_hooks, module._forward_hooks_always_called)):
            for key in [k for k in table if k in noted and k not in done]:
                done.add(key)
                try:
                    _post(module, table[key], key, args, kwargs, None)
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that "
                        f"was silenced as another error was raised in forward: {error}",
                        stacklevel=3)
        raise


def _post(module: Any, hook: Any, key: int, args: Any, kwargs: Any, result: Any) -> Any:
    if key in module._forward_hooks_with_kwargs or key in Global.with_kwargs:
        return hook(module, args, kwargs, result)
    return hook(module, args, result)


def _call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int]) -> Any:
    for table in (Global.pre, module._forward_pre_hooks):
        for key, hook in list(table.items()):
            if key in module._forward_pre_hooks_with_kwargs:
                changed = hook(module, args, kwargs)
                if changed is None:
                    continue
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed}.")
                args, kwargs = changed
            else:
                changed = hook(module, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
    backward = [*Global.backward.values(), *module._backward_hooks.values()]
    pre = [*Global.backward_pre.values(), *module._backward_pre_hooks.values()]
    watch = BackwardPass(module, backward, pre) if backward or pre else None
    if watch is not None:
        args = watch.watch_inputs(args)
    result = module.forward(*args, **kwargs)
    for table in (Global.post, module._forward_hooks):
        for key, hook in list(table.items()):
            done.add(key)
            changed = _post(module, hook, key, args, kwargs, result)
            if changed is not None:
                result = changed
    return result if watch is None else watch.watch_outputs(result)


class Hooked:
    """The part of a Module that registers hooks."""

    #: whether a call has hooks to look at; stays true once there was one
    _hooked = False
    _forward_hooks: dict[int, Any]
    _forward_hooks_with_kwargs: dict[int, Any]
    _forward_hooks_always_called: dict[int, Any]
    _forward_pre_hooks: dict[int, Any]
    _forward_pre_hooks_with_kwargs: dict[int, Any]
    _backward_hooks: dict[int, Any]
    _backward_pre_hooks: dict[int, Any]

    def _hook(self, hooks: dict[int, Any], hook: Any, prepend: bool, *noted: dict[int, Any],
              ) -> Handle:  # fmt: skip
        object.__setattr__(self, "_hooked", True)
        return register(hooks, hook, prepend, *noted)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward; what it returns replaces args.

        ``with_kwargs`` passes the keyword arguments too, and takes back a pair.
        """
        noted = self._forward_pre_hooks_with_kwargs
        handle = self._hook(self._forward_pre_hooks, hook, prepend, noted)
        if with_kwargs:
            noted[handle.id] = True
        return handle

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after forward; what it returns replaces output.

        ``with_kwargs`` passes ``(module, args, kwargs, output)``; ``always_call`` calls the hook
        with output None where forward raised.
        """
        kwargs, always = self._forward_hooks_with_kwargs, self._forward_hooks_always_called
        handle = self._hook(self._forward_hooks, hook, prepend, kwargs, always)
        if with_kwargs:
            kwargs[handle.id] = True
        if always_call:
            always[handle.id] = True
        return handle

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the module's gradients are computed.

        What it returns replaces grad_output.
        """
        return self._hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the inputs' gradients are known.

        What it returns replaces grad_input, a tuple with None for what is no tensor.
        """
        return self._hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """:meth:`register_full_backward_hook`: there are no others."""
        return self.register_full_backward_hook(hook)


def _everywhere(table: dict[int, Any], hook: Any, *noted: dict[int, Any]) -> Handle:
    Hooked._hooked = True
    return register(table, hook, False, *noted)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """:meth:`Module.register_forward_pre_hook` for all modules."""
    return _everywhere(Global.pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """:meth:`Module.register_forward_hook` for all modules."""
    handle = _everywhere(Global.post, hook, Global.with_kwargs, Global.always)
    if with_kwargs:
        Global.with_kwargs[handle.id] = True
    if always_call:
        Global.always[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """:meth:`Module.register_full_backward_pre_hook` for all modules."""
    return _everywhere(Global.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """:meth:`Module.register_full_backward_hook` for all modules."""
    return _everywhere(Global.backward, hook)


register_module_backward_hook = register_module_full_backward_hook


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` for each buffer; what it returns is registered."""
    return register(Global.buffers, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, child)`` for each child; what it returns is registered."""
    return register(Global.modules, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` for each parameter; what it returns is registered."""
    return register(Global.parameters, hook)


def registered(table: dict[int, Any], module: Any, name: str, value: Any) -> Any:
    """The value that the hooks of a registration make of one."""
    for hook in table.values():
        changed = hook(module, name, value)
        if changed is not None:
            value = changed
    return value
