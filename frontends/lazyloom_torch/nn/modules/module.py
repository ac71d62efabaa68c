"""Module: the base class of neural network parts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import lazyloom

from ... import _dtypes
from ..._grad_mode import no_grad
from ..._tensor import RemovableHandle, Tensor
from ..parameter import Buffer, Parameter


class IncompatibleKeys(NamedTuple):
    """What :meth:`Module.load_state_dict` did not find, and what it did not expect."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (f"IncompatibleKeys(missing_keys={self.missing_keys}, "
                f"unexpected_keys={self.unexpected_keys})")


class Module:
    """A part of a network: parameters, buffers and other modules, and a ``forward``.

    Parameters and modules register themselves when they are assigned as attributes.
    """

    training: bool

    def __init__(self) -> None:
        put = object.__setattr__
        put(self, "training", True)
        for name in ("_parameters", "_buffers", "_modules", "_forward_hooks",
                     "_forward_pre_hooks", "_backward_hooks"):
            put(self, name, {})
        put(self, "_non_persistent", set())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        pre, post, back = self._forward_pre_hooks, self._forward_hooks, self._backward_hooks
        if not pre and not post and not back:
            return self.forward(*args, **kwargs)
        for hook in list(pre.values()):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **kwargs)
        for hook in list(post.values()):
            changed = hook(self, args, result)
            if changed is not None:
                result = changed
        if back:
            _watch_backward(self, args, result)
        return result

    # -- registration ---------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        groups = self.__dict__
        if isinstance(value, Parameter):
            self._forget(name)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in groups:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name)
            self._modules[name] = value
        elif isinstance(value, Buffer):
            self._forget(name)
            self.register_buffer(name, value, value.persistent)
        elif name in groups.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)")
            self._parameters[name] = None
        elif name in groups.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as child module '{name}' "
                    "(torch.nn.Module or None expected)")
            self._modules[name] = None
        elif name in groups.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as buffer '{name}' (torch.Tensor or "
                    "None expected)")
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str) -> None:
        for group in ("_parameters", "_modules", "_buffers"):
            self.__dict__.get(group, {}).pop(name, None)
        self.__dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        groups = self.__dict__
        if "_modules" in groups:
            for group in (groups["_modules"], groups["_parameters"], groups["_buffers"]):
                if name in group:
                    return group[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for group in (self._parameters, self._buffers, self._modules):
            if name in group:
                del group[name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter, or None for one that this configuration lacks."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)")
        if "." in name or not name:
            raise KeyError(f"parameter name can't contain \".\" nor be empty: {name!r}")
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is state but no parameter."""
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (torch Tensor "
                "or None required)")
        if "." in name or not name:
            raise KeyError(f"buffer name can't contain \".\" nor be empty: {name!r}")
        self.__dict__.pop(name, None)
        self._buffers[name] = tensor
        (self._non_persistent.discard if persistent else self._non_persistent.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a child module."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    register_module = add_module

    # -- traversal ------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with dotted names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from child.named_modules(memo, below, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        for _, child in self.named_children():
            yield child

    def _named(self, group: str, prefix: str, recurse: bool, unique: bool
               ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=unique) if recurse else [
            (prefix, self)]
        for path, module in modules:
            for name, tensor in getattr(module, group).items():
                if tensor is None or (unique and id(tensor) in seen):
                    continue
                seen.add(id(tensor))
                yield (f"{path}.{name}" if path else name), tensor

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with dotted names, each once."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, p in self.named_parameters(recurse=recurse):
            yield p

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers with dotted names, each once."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, b in self.named_buffers(recurse=recurse):
            yield b

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted name. Raises AttributeError."""
        module: Module = self
        for part in target.split(".") if target else ():
            found = module._modules.get(part)
            if found is None:
                raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
            module = found
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted name. Raises AttributeError."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._parameters.get(name)
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no parameter `{target}`")
        parameter: Parameter = found
        return parameter

    # -- changing all of it ---------------------------------------------------------------

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call fn on every module below, then on this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _convert(self, fn: Callable[[Tensor], Tensor]) -> Self:
        for module in self.modules():
            for p in module._parameters.values():
                if p is not None:
                    with no_grad():
                        new = fn(p)
                    if new is not p:
                        grad = p.grad
                        p.data = new
                        lazyloom.boundary(p._storage.value)
                        p.grad = None if grad is None else fn(grad)
            for name, b in module._buffers.items():
                if b is not None:
                    module._buffers[name] = fn(b)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating-point parameters and buffers to a dtype, in place."""
        dtype = kwargs.get("dtype")
        device = kwargs.get("device")
        for a in args:
            if isinstance(a, Tensor):
                dtype = a.dtype
            elif isinstance(a, (str, _dtypes.device)):
                device = a
            elif isinstance(a, _dtypes.dtype):
                dtype = a
        _dtypes.check_device(device)
        if dtype is None:
            return self
        kind = _dtypes.as_dtype(dtype)
        if kind.category < 2:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got {kind!r}")
        return self._convert(lambda t: t.to(kind) if t._type.dtype.is_inexact else t)

    def float(self) -> Self:
        return self.to(_dtypes.float32)

    def double(self) -> Self:
        return self.to(_dtypes.float64)

    def half(self) -> Self:
        return self.to(_dtypes.float16)

    def bfloat16(self) -> Self:
        return self.to(_dtypes.bfloat16)

    def type(self, dst_type: Any) -> Self:
        return self.to(dst_type)

    def cpu(self) -> Self:
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode for this module and all below it."""
        for module in self.modules():
            object.__setattr__(module, "training", bool(mode))
        return self

    def eval(self) -> Self:
        """Set evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget, or zero, the gradients of all parameters."""
        for p in self.parameters():
            if p.grad is not None:
                if set_to_none:
                    p.grad = None
                else:
                    p.grad = p.grad.detach().zero_()

    # -- state ----------------------------------------------------------------------------

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by dotted name, sharing storage."""
        found: dict[str, Any] = OrderedDict() if destination is None else destination
        for name, p in self._parameters.items():
            if p is not None:
                found[prefix + name] = p if keep_vars else p.detach()
        for name, b in self._buffers.items():
            if b is not None and name not in self._non_persistent:
                found[prefix + name] = b if keep_vars else b.detach()
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=found, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        extra = self.get_extra_state()
        if extra is not None:
            found[f"{prefix}_extra_state"] = extra
        return found

    def get_extra_state(self) -> Any:
        """What else belongs to the state; None for nothing. To be overridden."""
        return None

    def set_extra_state(self, state: Any) -> None:
        """Restore what :meth:`get_extra_state` gave. To be overridden with it."""
        raise RuntimeError(f"{type(self).__name__} has no set_extra_state")

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy parameters and buffers from a state dict.

        Raises RuntimeError for a shape that differs, and with ``strict`` for names that
        are missing or unknown, listing all of them.
        """
        own = self.state_dict(keep_vars=True)
        missing = [k for k in own if k not in state_dict]
        unexpected = [k for k in state_dict if k not in own]
        problems = []
        if strict and unexpected:
            problems.append("Unexpected key(s) in state_dict: "
                            + ", ".join(f'"{k}"' for k in unexpected) + ".")
        if strict and missing:
            problems.append("Missing key(s) in state_dict: "
                            + ", ".join(f'"{k}"' for k in missing) + ".")
        for name, here in own.items():
            if name not in state_dict or not isinstance(here, Tensor):
                continue
            given = state_dict[name]
            if not isinstance(given, Tensor):
                problems.append(f'"{name}" is a {type(given).__name__}, expected a Tensor.')
            elif given.shape != here.shape:
                problems.append(
                    f"size mismatch for {name}: copying a param with shape {given.shape} from "
                    f"checkpoint, the shape in current model is {here.shape}.")
        if problems:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(problems))
        with no_grad():
            for name, here in own.items():
                if name not in state_dict:
                    continue
                if not isinstance(here, Tensor):
                    path = name.rpartition("_extra_state")[0].rstrip(".")
                    self.get_submodule(path).set_extra_state(state_dict[name])
                    continue
                if assign:
                    here.data = state_dict[name]
                else:
                    here.copy_(state_dict[name])
                lazyloom.boundary(here._storage.value)
        return IncompatibleKeys(missing, unexpected)

    # -- hooks ----------------------------------------------------------------------------

    def register_forward_hook(
        self, hook: Callable[[Module, Any, Any], Any], *, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after forward; what it returns replaces output."""
        return _register(self._forward_hooks, hook, prepend)

    def register_forward_pre_hook(
        self, hook: Callable[[Module, Any], Any], *, prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward; what it returns replaces args."""
        return _register(self._forward_pre_hooks, hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[[Module, Any, Any], Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the output's gradient is known.

        Only observing is supported: grad_input is ``(None,)``, and returning anything but
        None raises RuntimeError.
        """
        return _register(self._backward_hooks, hook, prepend)

    def extra_repr(self) -> str:
        """What is shown between the parentheses of the repr."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        lines = [f"({name}): " + repr(child).replace("\n", "\n  ")
                 for name, child in self._modules.items()]
        name = type(self).__name__
        if not lines:
            return f"{name}({extra[0] if len(extra) == 1 else ''})" if len(extra) < 2 else (
                f"{name}(\n  " + "\n  ".join(extra) + "\n)")
        return f"{name}(\n  " + "\n  ".join([*extra, *lines]) + "\n)"


def _register(hooks: dict[int, Any], hook: Any, prepend: bool) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        rest = {k: v for k, v in hooks.items() if k != handle.id}
        hooks.clear()
        hooks.update({handle.id: hook, **rest})
    return handle


def _watch_backward(module: Module, args: Any, result: Any) -> None:
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    for out in outputs:
        if isinstance(out, Tensor) and out.requires_grad:

            def observe(gradient: Tensor) -> None:
                for hook in list(module._backward_hooks.values()):
                    if hook(module, (None,), (gradient,)) is not None:
                        raise RuntimeError(
                            "a full backward hook returned a value; replacing gradients is "
                            "supported by Tensor.register_hook, not here")

            out.register_hook(observe)
