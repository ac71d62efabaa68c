"""Module: the base class of neural network parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn, Self, TypeVar

import lazyloom
from lazyloom.errors import type_name
from lazyloom.frontend import storage_of

from ... import _absent, _dtypes
from ..._errors import how_to_convert
from ..._grad_mode import no_grad
from ..._tensor import Tensor
from ..parameter import Buffer, Parameter, forget_gradients, is_lazy
from . import _hooks
from ._hooks import (
    Global,
    Hooked,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._state import _EXTRA as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401
from ._state import Stateful, _IncompatibleKeys

_TABLES = (
    "_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
    "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks")


#: ``torch.compile``, which needs modules
compiler: list[Callable[..., Any]] = []


def _addindent(s_: str, numSpaces: int) -> str:  # noqa: N803 - programs call it, so named
    """The text with all lines but the first moved to the right."""
    return s_.replace("\n", "\n" + " " * numSpaces)


class _CallSignature:
    """What a call of a module takes, which is what its ``forward`` does; not of the class."""

    def __get__(self, module: Any, owner: Any = None) -> Any:
        if module is None:
            raise AttributeError("__signature__")  # that of the constructor, then
        import inspect

        return inspect.signature(module.forward)


class Module(Hooked, Stateful):
    """A part of a network: parameters, buffers and other modules, and a ``forward``.

    Parameters and modules register themselves when they are assigned as attributes.
    """

    training: bool
    #: what :meth:`compile` made, which a call then goes to
    _compiled_call_impl: Any = None
    #: whether a class that is named after Module among the bases gets its ``__init__`` called
    call_super_init: bool = False
    __signature__ = _CallSignature()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            raise TypeError(
                f"{type(self).__name__}.__init__() takes no arguments, but got {args} {kwargs}")
        own = self.__dict__
        own["training"] = True
        for name in _TABLES:
            own[name] = {}
        own["_non_persistent_buffers_set"] = set()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a call computes; a module defines its own. NotImplementedError where it does not."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._hooked:
            return self.forward(*args, **kwargs)
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return _hooks.call(self, args, kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """A call that is recorded, with hooks: what :meth:`compile` captures."""
        return _hooks.call(self, args, kwargs)

    # -- registration ---------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        groups = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in groups:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in groups.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as parameter '{name}' "
                    "(lazyloom_torch.nn.Parameter or None expected)")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            if "_modules" not in groups:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            self._modules[name] = _hooks.registered(Global.modules, self, name, value)
        elif name in groups.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as child module '{name}' "
                    "(lazyloom_torch.nn.Module or None expected)")
            self._modules[name] = None
        elif isinstance(value, Buffer):
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in groups.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{type_name(value)}' as buffer '{name}' "
                    "(lazyloom_torch.nn.Buffer, lazyloom_torch.Tensor or None expected)"
                    f"{how_to_convert(value)}")
            self._buffers[name] = _hooks.registered(Global.buffers, self, name, value)
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, kept: str) -> None:
        """Take a name out of all groups but the one that it is to be set in."""
        groups = self.__dict__
        for group in ("_parameters", "_modules", "_buffers"):
            if group != kept:
                groups.get(group, {}).pop(name, None)
        if kept != "_buffers":
            self._non_persistent_buffers_set.discard(name)
        groups.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        groups = self.__dict__
        for group in ("_parameters", "_buffers", "_modules"):
            found = groups.get(group)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for group in (self._parameters, self._buffers, self._modules):
            if name in group:
                del group[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*object.__dir__(self), *self._parameters, *self._buffers, *self._modules}
        return sorted(n for n in names if not n[:1].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _TABLES:
            self.__dict__.setdefault(name, {})
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    def _check_name(self, kind: str, name: Any, group: str) -> None:
        if group not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type_name(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."; got {name!r}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[group]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter, or None for one that this configuration lacks.

        Raises KeyError for a name that is taken, TypeError for what is no parameter and
        ValueError for one that was computed.
        """
        self._check_name("parameter", name, "_parameters")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{type_name(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)")
            param = _hooks.registered(Global.parameters, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is state but no parameter; persistent ones are saved.

        Raises KeyError for a name that is taken and TypeError for what is no tensor.
        """
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' "
                f"(lazyloom_torch.Tensor or None required){how_to_convert(tensor)}")
        self._buffers[name] = _hooks.registered(Global.buffers, self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else
         self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a child module. Raises KeyError for a name that is taken."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = _hooks.registered(Global.modules, self, name, module)

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

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly below this one, each once."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        """The modules directly below this one, each once."""
        for _, child in self.named_children():
            yield child

    def _named_members(
        self, get_members_fn: Callable[[Module], Iterable[tuple[str, Any]]], prefix: str = "",
        recurse: bool = True, remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:  # fmt: skip
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if (
            recurse) else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (f"{path}.{name}" if path else name), member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with dotted names, each once."""
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse,
                                   remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once."""
        for _, p in self.named_parameters(recurse=recurse):
            yield p

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers with dotted names, each once."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse,
                                   remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        for _, b in self.named_buffers(recurse=recurse):
            yield b

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted name. Raises AttributeError."""
        module: Module = self
        for part in target.split(".") if target else ():
            if not hasattr(module, part):
                raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
            module = getattr(module, part)
            if not isinstance(module, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted name; with ``strict`` only in place of another."""
        path, _, name = target.rpartition(".")
        if not name:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module).__name__}")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted name. Raises AttributeError."""
        found = self._at(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted name. Raises AttributeError."""
        path, _, name = target.rpartition(".")
        self._at(target)
        found = self.get_submodule(path)._buffers.get(name)
        if found is None:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _at(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return getattr(module, name)

    # -- gradients ------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget, or zero, the gradients of all parameters."""
        forget_gradients(self.parameters(), set_to_none)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Whether all parameters collect gradients."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    # -- changing all of it ---------------------------------------------------------------

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call fn on every module below, then on this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of all parameters and buffers, and of gradients, by fn of it."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        for p in self._parameters.values():
            if p is not None:
                with no_grad():
                    new = fn(p)
                if new is p:
                    continue
                grad = p.grad
                p.data = new
                held: Any = p._local_tensor if p._is_dtensor else p  # type: ignore[attr-defined]
                lazyloom.boundary(storage_of(held).value)
                if grad is not None:
                    with no_grad():
                        p.grad = fn(grad).requires_grad_(grad.requires_grad)
        for name, b in self._buffers.items():
            if b is None:
                continue
            if is_lazy(b):
                b.data = fn(b)
            else:
                self._buffers[name] = fn(b)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating-point and complex parameters and buffers to a dtype, in place.

        ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` and ``to(tensor)``. Raises TypeError
        for an integer dtype.
        """
        dtype, device = kwargs.get("dtype"), kwargs.get("device")
        for a in args:
            if isinstance(a, Tensor):
                dtype = a.dtype
            elif isinstance(a, (str, _dtypes.device)):
                device = a
            elif isinstance(a, _dtypes.dtype):
                dtype = a
        if device is not None:
            _dtypes.placed_on(device)
            self._apply(lambda t: t.to(device))
        if dtype is None:
            return self
        kind = _dtypes.as_dtype(dtype)
        if kind.category < 2:
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={kind!r}")
        return self._apply(lambda t: t.to(kind) if t.tensor_type.dtype.is_inexact else t)

    def _floating(self, kind: Any) -> Self:
        return self._apply(lambda t: t.to(kind) if t.tensor_type.dtype.is_floating else t)

    def float(self) -> Self:
        """Floating-point parameters and buffers as float32."""
        return self._floating(_dtypes.float32)

    def double(self) -> Self:
        """Floating-point parameters and buffers as float64."""
        return self._floating(_dtypes.float64)

    def half(self) -> Self:
        """Floating-point parameters and buffers as float16."""
        return self._floating(_dtypes.float16)

    def bfloat16(self) -> Self:
        """Floating-point parameters and buffers as bfloat16."""
        return self._floating(_dtypes.bfloat16)

    dump_patches = False
    T_destination = TypeVar("T_destination", bound=dict[str, Any])

    def share_memory(self) -> NoReturn:
        """Raises NotImplementedError: what processes write to parameters is seen by themselves."""
        _absent.refuse_sharing("Module.share_memory")

    def type(self, dst_type: Any) -> Self:
        """All parameters and buffers in another dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self) -> Self:
        """The module with its parameters and buffers on the CPU's first device."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Raises RuntimeError: there is only the CPU."""
        _dtypes.check_device("cuda")
        return self

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Parameters and buffers of the same shapes, with no particular contents."""
        from ..._functions.creation import empty_like

        _dtypes.check_device(device)
        return self._apply(
            lambda t: t._with(empty_like(t._local_tensor))  # type: ignore[attr-defined]
            if t._is_dtensor else empty_like(t, device=device), recurse=recurse)

    def train(self, mode: bool = True) -> Self:
        """Set training mode for this module and all below it. ValueError for what is no bool."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: ``train(False)``."""
        return self.train(False)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Capture the calls of this module, in place: see :func:`torch.compile`, which has the
        same arguments. Copies and pickles are not compiled."""
        self.__dict__["_compiled_call_impl"] = compiler[0](self._call_impl, *args, **kwargs)
        self.__dict__["_hooked"] = True

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_compiled_call_impl"}

    # -- text -----------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What is shown between the parentheses of the repr."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + _addindent(repr(child), 2)
                    for name, child in self._modules.items()]
        name = self._get_name()
        if len(lines) == 1 and not children:
            return f"{name}({lines[0]})"
        if not lines and not children:
            return f"{name}()"
        return f"{name}(\n  " + "\n  ".join([*lines, *children]) + "\n)"


__all__ = [
    "Module", "_IncompatibleKeys", "_addindent", "register_module_backward_hook",
    "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
