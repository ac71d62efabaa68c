"""Attaches functions to Tensor: as methods, as in-place methods and as operators."""

from __future__ import annotations

from typing import Any

from . import _operators, autograd, random
from ._functions import (
    activations,
    convert,
    creation,
    indexing,
    linear,
    matrices,
    pointwise,
    reductions,
    scattering,
    shaping,
    sorting,
    statistics,
    views,
)
from ._promotion import is_number
from ._tensor import Tensor, operand

_NOT_METHODS = {
    "where", "complex", "polar", "broadcast_tensors", "meshgrid", "cartesian_prod", "rsub",
    *linear.NOT_METHODS, *matrices.NOT_METHODS, *statistics.NOT_METHODS, "logaddexp_",
}


def _inplace(name: str, function: Any) -> Any:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return convert.store(self, operand(function(self, *args, **kwargs)))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In place: {function.__doc__}"
    return method


def _reflected(operator: Any) -> Any:
    return lambda self, other: operator(other, self)


#: operators that the runtime does not know, and their ops
_ARITHMETIC = {
    "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "shift_left", "rshift": "shift_right",
}


def _pow(self: Tensor, exponent: Any) -> Any:
    return pointwise.pow(self, exponent) if isinstance(exponent, Tensor) or is_number(
        exponent) else NotImplemented


def _reshape_in_place(name: str) -> Any:
    """squeeze_, unsqueeze_, transpose_, t_: the tensor itself becomes the view."""
    function = views.FUNCTIONS[name]

    def method(self: Tensor, *args: Any) -> Tensor:
        if self._leaf is not None or self._own is not None:
            raise RuntimeError(f"{name}_() on a leaf that requires grad is not possible")
        made = function(self, *args)
        self._set(made._storage, made._steps, made._type)
        self._no_gradient = made._no_gradient
        self._strides, self._offset = made._strides, made._offset
        return self

    method.__name__ = method.__qualname__ = f"{name}_"
    return method


def _properties() -> None:
    cls: Any = Tensor
    cls.T = property(lambda self: views.permute(self, *reversed(range(self.ndim))))
    cls.mT = property(lambda self: views.transpose(self, -2, -1))
    cls.H = property(lambda self: views.transpose(self, 0, 1).conj())
    cls.mH = property(lambda self: views.adjoint(self))
    cls.real = property(pointwise.real, lambda self, v: pointwise.real(self).copy_(v))
    cls.imag = property(pointwise.imag, lambda self, v: pointwise.imag(self).copy_(v))


def attach() -> None:
    """Fill the Tensor class. Called once, when the package is imported."""
    cls: Any = Tensor
    for module in (pointwise, reductions, views, linear, indexing, scattering, sorting, matrices,
                   statistics):
        for name, function in module.FUNCTIONS.items():
            if name not in _NOT_METHODS and name not in ("real", "imag"):
                setattr(cls, name, function)
        for name in getattr(module, "INPLACE", ()):
            setattr(cls, f"{name}_", _inplace(f"{name}_", module.FUNCTIONS[name]))
    for name in shaping.METHOD_NAMES:
        setattr(cls, name, shaping.FUNCTIONS[name])
    for name in shaping.INPLACE:
        setattr(cls, f"{name}_", _inplace(f"{name}_", shaping.FUNCTIONS[name]))
    for methods in (shaping.METHODS, creation.METHODS, convert.METHODS, random.METHODS):
        for name, function in methods.items():
            setattr(cls, name, function)
    for name in ("softmax", "log_softmax"):
        setattr(cls, name, activations.FUNCTIONS[name])
    cls.where = lambda self, condition, other: pointwise.where(condition, self, other)
    _operators.register()
    for name, op in _ARITHMETIC.items():
        setattr(cls, f"__{name}__", _operators.general(op, "arith"))
        setattr(cls, f"__r{name}__", _reflected(_operators.general(op, "arith")))
        setattr(cls, f"__i{name}__", _operators.in_place(op, "arith"))
    cls.__eq__ = _operators.general("equal", "compare")
    cls.__ne__ = _operators.general("not_equal", "compare")
    cls.__hash__ = lambda self: id(self)
    cls.__pow__ = _pow
    cls.__rpow__ = lambda self, base: pointwise.pow(base, self)
    cls.__ipow__ = _inplace("__ipow__", pointwise.pow)
    cls.__pos__ = lambda self: self
    cls.__abs__ = pointwise.FUNCTIONS["abs"]
    cls.__invert__ = pointwise.FUNCTIONS["bitwise_not"]
    cls.__getitem__ = indexing.getitem
    cls.__setitem__ = indexing.setitem
    cls.backward = autograd.tensor_backward
    cls.register_hook = autograd.register_hook
    cls.register_post_accumulate_grad_hook = autograd.register_post_accumulate_grad_hook
    cls.retain_grad = autograd.retain_grad
    cls.retains_grad = property(autograd.retains_grad)
    for name in ("squeeze", "unsqueeze", "transpose", "t"):
        setattr(cls, f"{name}_", _reshape_in_place(name))
    _properties()
