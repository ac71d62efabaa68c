"""Functions with a derivative of their own: ``torch.autograd.Function``."""

from __future__ import annotations

import copy
import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import lazyloom
from lazyloom import Value
from lazyloom.errors import type_name
from lazyloom.frontend import hold

from .._core import cast, record
from .._tensor import Tensor, operand
from . import anomaly_mode
from ._hooks import conjugated
from .saved import Saved, save

_wrap = Tensor.from_value


class FunctionCtx:
    """What ``forward`` hands to ``backward``: tensors that are kept, and any attributes.

    Attributes:
        needs_input_grad: for each argument, whether a gradient is wanted of it.
    """

    needs_input_grad: tuple[bool, ...] = ()

    def __init__(self) -> None:
        self._to_save: tuple[Any, ...] = ()
        self._to_save_for_forward: tuple[Any, ...] = ()
        self._saved: tuple[Saved, ...] | None = None
        self._dirty: tuple[Tensor, ...] = ()
        self._fixed: tuple[Tensor, ...] = ()
        self._materialize = True
        self._result_of: Callable[[int], Value] | None = None
        self._forward_too: tuple[Any, ...] = ()
        #: whether, and how, derivatives get the outputs computed once more: ``lazyloom.custom``
        self._again: Any = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for ``backward``: inputs, outputs or anything in between.

        Reading them there raises RuntimeError if one was written in place since.
        """
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type "
                    f"{type_name(t)}; keep it as an attribute")
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        self._to_save_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs ``forward`` wrote in place; they must be among its outputs."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient."""
        self._fixed = args

    def set_materialize_grads(self, value: bool) -> None:
        """False: ``backward`` gets None, not zeros, for an output that has no gradient."""
        self._materialize = bool(value)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved. Raises RuntimeError for what was written in place since."""
        if self._saved is None:
            return self._to_save or self._to_save_for_forward
        return tuple(s.unpack(self._result_of) for s in self._saved)

    def _keep(self, outputs: Sequence[Any], numbers: Sequence[int | None]) -> None:
        """Turn what is to be saved into what can be kept: no output keeps itself alive."""
        self._saved = tuple(
            save(t, next((n for o, n in zip(outputs, numbers, strict=True)
                          if o is t and n is not None), None))
            for t in self._to_save or self._to_save_for_forward)
        self._to_save = self._to_save_for_forward = ()

    def _free(self) -> None:
        self._saved = None


class _BackwardFunction(FunctionCtx):
    """The context of one application, which is what ``grad_fn`` shows."""

    _forward_cls: type[Function]

    def name(self) -> str:
        return type(self).__name__


class _FunctionMeta(type):
    """Gives each Function the class of its contexts."""

    _backward_cls: type[_BackwardFunction]

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        super().__init__(name, bases, attrs)
        cls._backward_cls = type(f"{name}Backward", (_BackwardFunction,), {"_forward_cls": cls})


def _undefined(name: str, purpose: str) -> NotImplementedError:
    return NotImplementedError(
        f"this autograd.Function has no {name}: define a static method {name} in the class, "
        f"{purpose}")


class Function(metaclass=_FunctionMeta):
    """A function of tensors whose derivative its author writes.

    Subclasses define static methods ``forward(ctx, *args)``, or ``forward(*args)`` with
    ``setup_context(ctx, inputs, output)``, and ``backward(ctx, *grad_outputs)``, which returns a
    gradient, or None, for each argument; for forward-mode derivatives ``jvp(ctx, *tangents)``.
    They are used by ``apply``. ``vmap`` traces ``forward`` for one element, so that it needs no
    rule.
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        warnings.warn(
            f"{name} should not be instantiated: its methods are static, and it is called by "
            f"{name}.apply(...)", DeprecationWarning, stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises RuntimeError: a Function is called by ``apply``."""
        name = type(self).__name__
        raise RuntimeError(
            f"An instance of {name} was called, as functions of PyTorch were long ago; use "
            f"{name}.apply(...), with static methods")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs. Gradients are not recorded inside."""
        raise _undefined("forward", "to call the function")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fill the context, where ``forward`` does not take one."""
        raise _undefined("setup_context", "where forward takes no context")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments, given those of the outputs."""
        raise _undefined("backward", "or vjp, to differentiate the function in reverse mode")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, given those of the arguments."""
        raise _undefined("jvp", "to differentiate the function in forward mode")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function on tensors and any other arguments.

        Gradients flow to tensors that are arguments themselves, not to those inside of others;
        keyword arguments count after the positional ones.
        """
        separate = cls.setup_context is not Function.setup_context
        if separate:
            signature = inspect.signature(cls.forward).bind(*args, **kwargs)
            signature.apply_defaults()
            args, kwargs = signature.args, signature.kwargs
        ctx = cls._backward_cls()
        given = (*args, *kwargs.values())
        inputs = {i: operand(a) for i, a in enumerate(given) if isinstance(a, Tensor)}
        ctx.needs_input_grad = tuple(
            i in inputs and inputs[i].requires_grad for i in range(len(given)))
        recorded = lazyloom.grad_enabled() and any(ctx.needs_input_grad)
        with lazyloom.grad_mode(False):
            found = cls.forward(*(() if separate else (ctx,)), *args, **kwargs)
            if separate:
                cls.setup_context(ctx, args, found)
        outputs = list(found) if isinstance(found, (tuple, list)) else [found]
        made = _Application(cls, ctx, given, inputs, outputs).results(recorded)
        if not isinstance(found, (tuple, list)):
            return made[0]
        return type(found)(*made) if hasattr(found, "_fields") else tuple(made)


class _Application:
    """One call of a Function."""

    def __init__(
        self, cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...],
        inputs: dict[int, Value], outputs: list[Any],
    ) -> None:  # fmt: skip
        self.cls = cls
        self.ctx = ctx
        self.args = args
        self.inputs = inputs
        self.outputs = outputs
        for d in ctx._dirty:
            if not _among(d, outputs):
                raise RuntimeError(
                    "Some elements marked as dirty during the forward method were not returned as "
                    "output. The inputs that are modified inplace must all be outputs of the "
                    "Function.")

    def results(self, recorded: bool) -> list[Any]:
        """What ``apply`` returns: the outputs, on the tape if gradients are recorded."""
        ctx, outputs = self.ctx, self.outputs
        numbers: list[int | None] = []
        values: list[Value] = []
        for o in outputs:
            on_tape = isinstance(o, Tensor) and o.tensor_type.dtype.is_inexact and (
                not _among(o, ctx._fixed))
            numbers.append(len(values) if on_tape else None)
            if on_tape:
                values.append(operand(o).detach())
        ctx._keep(outputs, numbers)
        if not recorded or not values:
            return [self._plain(o) for o in outputs]
        rule = _Rule(self.cls, ctx, self.args, self.outputs, numbers)
        made = lazyloom.custom(
            values, list(self.inputs.values()), rule.vjp, rule.jvp,
            name=type(ctx).__name__, owner=ctx, kept=rule.kept, holding=rule.holding,
            again=ctx._again)
        return [
            self._plain(o) if n is None else self._recorded(o, made[n])
            for o, n in zip(outputs, numbers, strict=True)]

    def _plain(self, o: Any) -> Any:
        """An output without gradient."""
        if not isinstance(o, Tensor) or _among(o, self.ctx._dirty):
            return o
        given = _among(o, self.args)
        return o.detach() if given or o.requires_grad else o

    def _recorded(self, o: Tensor, value: Value) -> Tensor:
        """An output with its place on the tape."""
        if _among(o, self.ctx._dirty):
            if o._leaf is not None:
                raise RuntimeError(
                    "a leaf Variable that requires grad is being used in an in-place operation.")
            return o._assign(value)
        if o.shared is None and not _among(o, self.args):
            strides, offset = o.element_strides, o.element_offset
            hold(o, value)  # forward made it, and nothing shares it
            o._lay(strides, offset)
            return o
        made = _wrap(value)
        if o.element_strides is not None:
            made._lay(o.element_strides, 0)
        return made


def _among(o: Any, others: Sequence[Any]) -> bool:
    return any(o is other for other in others)


class _Rule:
    """How gradients get through one call. Keeps no tensor but those that the context saved."""

    def __init__(
        self, cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], outputs: list[Any],
        numbers: list[int | None],
    ) -> None:  # fmt: skip
        self.cls = cls
        self.ctx = ctx
        self.types = [a.tensor_type if isinstance(a, Tensor) else None for a in args]
        self.out_types = [o.tensor_type if isinstance(o, Tensor) else None for o in outputs]
        self.numbers = numbers

    def kept(self) -> list[Value]:
        """The values of the tensors that the context saved."""
        return [v for s in self.ctx._saved or () if (v := s.value()) is not None]

    def holding(self, values: list[Value]) -> Callable[..., list[Value | None]]:
        """:meth:`vjp` with other values in the place of what was saved."""
        given = iter(values)
        rule, ctx = copy.copy(self), copy.copy(self.ctx)
        ctx._saved = tuple(
            s if s.value() is None else Saved.of(next(given)) for s in self.ctx._saved or ())
        rule.ctx = ctx
        return rule.vjp

    def _gradients(self, cotangents: Sequence[Value | None]) -> list[Any]:
        """What ``backward`` gets: a gradient for each output."""
        found: list[Any] = []
        for t, n in zip(self.out_types, self.numbers, strict=True):
            g = None if n is None else cotangents[n]
            if g is not None:
                found.append(_wrap(conjugated(g)))
            elif t is None or not self.ctx._materialize:
                found.append(None)
            else:
                found.append(_wrap(_zeros(t)))
        return found

    def vjp(
        self, result_of: Callable[[int], Value], cotangents: list[Value | None]
    ) -> list[Value | None]:
        ctx = self.ctx
        if ctx._saved is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved "
                "tensors after they have already been freed).")
        rule = self.cls.backward
        if rule is Function.backward and self.cls.vjp is not Function.vjp:
            rule = self.cls.vjp
        ctx._result_of = result_of
        try:
            found = rule(ctx, *self._gradients(cotangents))
        except Exception:
            if anomaly_mode.is_enabled():
                warnings.warn(
                    f"Error detected in {type(ctx).__name__}. The forward call that caused it was "
                    f"recorded at {result_of(0).node.site}.", stacklevel=2)
            raise
        finally:
            ctx._result_of = None
        return self._checked(found if isinstance(found, tuple) else (found,))

    def _checked(self, found: tuple[Any, ...]) -> list[Value | None]:
        """The cotangents of the tensors among the arguments."""
        name, types = type_name(self.ctx), self.types
        if len(found) != len(types):
            if len(found) < len(types) or any(g is not None for g in found[len(types):]):
                raise RuntimeError(
                    f"function {name} returned an incorrect number of gradients (expected "
                    f"{len(types)}, got {len(found)})")
            found = found[:len(types)]
        result: list[Value | None] = []
        for i, (g, t) in enumerate(zip(found, types, strict=True)):
            if t is None:
                if g is not None:
                    raise RuntimeError(
                        f"function {name} returned a gradient different from None at position "
                        f"{i + 1}, but the corresponding forward input was not a Variable")
                continue
            if g is None:
                result.append(None)
                continue
            if not isinstance(g, Tensor):
                raise TypeError(
                    f"function {name} returned a {type_name(g)} at position {i + 1}, expected "
                    "a Tensor or None")
            result.append(fitted(g, t, f"Function {name} returned an invalid gradient at index {i}")
                          if t.dtype.is_inexact else None)
        return result

    def jvp(
        self, result_of: Callable[[int], Value], tangents: list[Value | None]
    ) -> list[Value | None]:
        given = iter(tangents)
        directions: list[Any] = []
        for t in self.types:
            tangent = None if t is None else next(given)
            if tangent is not None:
                directions.append(_wrap(tangent))
            elif t is not None and self.ctx._materialize and t.dtype.is_inexact:
                directions.append(_wrap(_zeros(t)))
            else:
                directions.append(None)
        self.ctx._result_of = result_of
        try:
            found = self.cls.jvp(self.ctx, *directions)
        finally:
            self.ctx._result_of = None
        along = found if isinstance(found, tuple) else (found,)
        if len(along) != len(self.numbers):
            raise RuntimeError(
                f"{self.cls.__name__}.jvp returned {len(along)} tangents, expected one for each of "
                f"the {len(self.numbers)} outputs")
        result: list[Value | None] = [None] * sum(n is not None for n in self.numbers)
        for d, n in zip(along, self.numbers, strict=True):
            if n is not None and d is not None:
                result[n] = operand(d)
        return result


def _zeros(t: Any) -> Value:
    found: Value = record("full", [lazyloom.Scalar(0, t.dtype)], {"shape": t.shape})
    return found


def fitted(gradient: Tensor, t: Any, what: str) -> Value:
    """A gradient as a cotangent of type ``t``: summed and cast as PyTorch does it."""
    value = operand(gradient)
    if value.shape != t.shape:
        shape = value.shape
        extra = len(shape) - len(t.shape)
        if extra < 0 or any(d not in (1, s) for s, d in zip(shape[extra:], t.shape, strict=True)):
            raise RuntimeError(
                f"{what} - got {list(shape)} but expected shape compatible with {list(t.shape)}")
        axes = [*range(extra), *(
            extra + i for i, d in enumerate(t.shape) if d == 1 and shape[extra + i] != 1)]
        value = record("reshape", [record("sum", [value], {"axes": tuple(axes)})],
                       {"shape": t.shape})
    if value.dtype.is_complex and not t.dtype.is_complex:
        value = record("real", [value])
    found: Value = conjugated(cast(value, t.dtype))
    return found


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """For a ``backward`` that cannot be differentiated itself: trying to is a RuntimeError."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with lazyloom.grad_mode(False):
            found = fn(ctx, *args)
        asked = any(isinstance(a, Tensor) and a.requires_grad for a in args)
        if not (asked and lazyloom.grad_enabled()):
            return found
        given = [operand(a) for a in args if isinstance(a, Tensor)]

        def refuse(result_of: Any, cotangents: Any) -> Any:
            raise RuntimeError(
                "trying to differentiate twice a function that was marked with "
                "@once_differentiable")

        def end(x: Any) -> Any:
            if not isinstance(x, Tensor):
                return x
            return _wrap(lazyloom.custom([operand(x)], given, refuse, refuse,
                                         name="DelayedError")[0])  # fmt: skip

        return tuple(map(end, found)) if isinstance(found, tuple) else end(found)

    return wrapper


class InplaceFunction(Function):
    """A Function that may work in place; its attribute ``inplace`` is its own affair."""


__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
