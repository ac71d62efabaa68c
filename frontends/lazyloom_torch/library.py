"""``torch.library``: operators of a program's own, in Python.

An operator is the function that was given for it. Formulas of its gradient become an
``autograd.Function``; what says how it behaves without data (``register_fake``) is kept and not
needed, as everything that runs here is recorded by running it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from . import ops as _ops
from .autograd import Function

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "impl", "impl_abstract", "infer_schema",
           "register_autocast", "register_autograd", "register_fake", "register_kernel",
           "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton"]

#: keys under which an implementation is for tensors of the CPU, the later the more
_KEYS = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "", "default", "CPU", "cpu",
         "Autograd", "AutogradCPU")


def _function_of(forward: Callable[..., Any], backward: Callable[..., Any],
                 setup_context: Callable[..., Any] | None) -> type[Function]:
    """An autograd function of a forward function and the formulas of its gradient."""

    class Registered(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            output = forward(*args)
            if setup_context is not None:
                setup_context(ctx, args, output)
            return output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return backward(ctx, *grads)

    return Registered


class CustomOpDef:
    """An operator that a program defined: ``torch.ops.namespace.name``, and a function here."""

    def __init__(self, qualified: str) -> None:
        self._qualname = qualified
        self._namespace, _, self._name = qualified.partition("::")
        self._name = self._name.partition(".")[0]
        self.__name__ = self._name
        self._kernels: dict[str, Callable[..., Any]] = {}
        self._function: type[Function] | None = None
        self._parameters: inspect.Signature | None = None
        #: what computes it of DTensors: ``register_sharding``
        self._of_parts: Callable[..., Any] | None = None

    @property
    def default(self) -> CustomOpDef:
        return self

    @property
    def _opoverload(self) -> CustomOpDef:
        return self

    def _kernel(self) -> Callable[..., Any]:
        for key in reversed(_KEYS):
            if key in self._kernels:
                return self._kernels[key]
        raise NotImplementedError(
            f"operator {self._qualname} has no implementation for tensors on the CPU; it has "
            f"{sorted(self._kernels) or 'none'}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._of_parts is not None:
            found = self._of_parts(self, args, kwargs)
            if found is not NotImplemented:
                return found
        return self._plain(*args, **kwargs)

    def _plain(self, *args: Any, **kwargs: Any) -> Any:
        kernel = self._kernel()
        if self._function is None:
            return kernel(*args, **kwargs)
        if kwargs:
            bound = inspect.signature(kernel).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        return self._function.apply(*args)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def _decorator(self, keep: Callable[[Any], None], function: Any) -> Any:
        def register(f: Any) -> Any:
            keep(f)
            return f

        return register if function is None else register(function)

    def register_kernel(self, device_types: Any, func: Any = None, /) -> Any:
        """Give the function for a kind of device, or several; None is all. Also a decorator."""
        kinds = [device_types] if isinstance(device_types, str) else device_types or [""]

        def keep(f: Any) -> None:
            self._kernels.update(dict.fromkeys(kinds, f))

        return self._decorator(keep, func)

    def register_fake(self, fn: Any = None, /) -> Any:
        """Accepted: nothing here runs without data. Also a decorator."""
        return self._decorator(lambda f: None, fn)

    register_vmap = register_fake

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Any = None, /) -> Any:
        """Accepted: there is no dispatch by classes. Also a decorator."""
        return self._decorator(lambda f: None, fn)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Accepted: operators of a program are not cast."""

    def register_autograd(self, backward: Callable[..., Any], /, *,
                          setup_context: Callable[..., Any] | None = None) -> None:
        """Give the gradient: ``backward(ctx, *grads)`` of what ``setup_context(ctx, inputs,
        output)`` kept."""
        self._function = _function_of(lambda *a: self._kernel()(*a), backward, setup_context)


def _defined(qualified: str) -> CustomOpDef:
    """The operator of this name, made if there is none. ValueError for what is no such name."""
    namespace, colons, name = qualified.partition("::")
    if not colons or not namespace or not name:
        raise ValueError(f"an operator's name is 'namespace::name', not {qualified!r}")
    name = name.partition(".")[0]
    operators = _ops.registered.setdefault(namespace, {})
    if name not in operators:
        operators[name] = CustomOpDef(f"{namespace}::{name}")
    found: CustomOpDef = operators[name]
    return found


def _of(op: Any) -> CustomOpDef:
    return op if isinstance(op, CustomOpDef) else _defined(str(op))


def custom_op(name: str, fn: Any = None, /, *, mutates_args: Any, device_types: Any = None,
              schema: str | None = None, tags: Any = None) -> Any:
    """Make an operator of a function; as a decorator without ``fn``."""

    def make(f: Any) -> CustomOpDef:
        found = _defined(name)
        found.register_kernel(device_types, f)
        found.__doc__ = f.__doc__
        return found

    return make if fn is None else make(fn)


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any, schema: str | None = None) -> Any:
    """Make an operator of a function; the Triton kernels in it would need a GPU."""
    return custom_op(name, fn, mutates_args=mutates_args)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """The kernel itself."""
    return triton_kernel


class Library:
    """A namespace of operators: ``define`` names one, ``impl`` gives the function.

    Attributes:
        ns, kind, dispatch_key: as given.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"kind is 'DEF', 'FRAGMENT' or 'IMPL', not {kind!r}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def _qualified(self, name: Any) -> str:
        text = getattr(name, "_qualname", None) or str(name)
        return text if "::" in text else f"{self.ns}::{text}"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Name an operator by its schema, such as ``"f(Tensor x) -> Tensor"``; its name."""
        name = schema.partition("(")[0].strip()
        _defined(self._qualified(name))
        return name

    def impl(self, op_name: Any, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False,
             allow_override: bool = False) -> None:
        """Give the function of an operator for a dispatch key."""
        _defined(self._qualified(op_name))._kernels[dispatch_key or self.dispatch_key] = fn

    def _register_fake(self, op_name: Any, fn: Any, *args: Any, **kwargs: Any) -> None:
        """Accepted: nothing here runs without data."""

    def fallback(self, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Accepted: there are no dispatch keys to fall through."""

    def _destroy(self) -> None:
        _ops.registered.pop(self.ns, None)


def define(qualname: str, schema: str | None = None, *, lib: Any = None, tags: Any = ()) -> Any:
    """Name an operator; as a decorator without a schema."""
    if schema is None:
        return custom_op(qualname, mutates_args=())
    _defined(qualname)
    return None


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Give the function of an operator for a kind of device, or several. Also a decorator."""
    return _of(qualname).register_kernel(types, func)


register_kernel = impl


def register_fake(op: Any, func: Any = None, /, *, lib: Any = None, _stacklevel: int = 1,
                  allow_override: bool = False) -> Any:
    """Accepted: nothing here runs without data. Also a decorator."""
    return (lambda f: f) if func is None else func


impl_abstract = register_fake


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """Accepted: what an operator records is mapped as it is. Also a decorator."""
    return (lambda f: f) if func is None else func


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Any = None, /, *,
                            lib: Any = None) -> Any:
    """Accepted: there is no dispatch by classes. Also a decorator."""
    return (lambda f: f) if func is None else func


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Accepted: operators of a program are not cast."""


def register_autograd(op: Any, backward: Any, /, *, setup_context: Any = None, lib: Any = None
                      ) -> None:
    """Give the gradient of an operator: see :meth:`CustomOpDef.register_autograd`."""
    _of(op).register_autograd(backward, setup_context=setup_context)


def infer_schema(prototype_function: Any, /, *, mutates_args: Any = (), op_name: str | None = None
                 ) -> str:
    """The parameters of a function, in the place of a schema: only its name is read here."""
    name = op_name or getattr(prototype_function, "__name__", "")
    return f"{name}{inspect.signature(prototype_function)}"
