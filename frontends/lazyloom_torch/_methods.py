"""Attaches functions to Tensor: as methods, as in-place methods and as operators."""

from __future__ import annotations

from typing import Any

from lazyloom.frontend import write_lock

from . import _autocast, _matrices, _numpy_names, _operators, _spectral, autograd, random
from ._foreign import mixing, mixing_fast, takes_several, torch_function
from ._functions import (
    activations,
    convert,
    copies,
    counting,
    creation,
    indexing,
    layers,
    linear,
    pointwise,
    reductions,
    representation,
    scattering,
    shaping,
    sorting,
    sparsity,
    special,
    splitting,
    statistics,
    storages,
    strided,
    typed_storages,
    views,
)
from ._interchange import is_foreign
from ._promotion import is_number
from ._scales_first import NAMES as SCALED
from ._tensor import Tensor, operand

_NOT_METHODS = {
    "where", "complex", "polar", "broadcast_tensors", "meshgrid", "cartesian_prod", "rsub",
    *linear.NOT_METHODS, *_matrices.NOT_METHODS, *statistics.NOT_METHODS, "fill",
    "std_mean", "var_mean",
}


#: in-place methods that are functions of ``torch``, too
INPLACE_FUNCTIONS = """
    abs_ acos_ acosh_ addmv_ alpha_dropout_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_
    asin_ asinh_ atan_ atanh_ ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_
    cosh_ deg2rad_ detach_ dropout_ erf_ erfc_ exp2_ exp_ expm1_ feature_alpha_dropout_
    feature_dropout_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_
    log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ round_ rrelu_ rsqrt_ selu_
    sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ threshold_ trunc_ xlogy_ zero_
""".split()


#: those that write one number, so that it does no harm where elements are one place in memory
_FILLING = frozenset("masked_fill_ index_fill_ index_put_".split())


def _inplace(name: str, function: Any) -> Any:
    filling = name in _FILLING
    if takes_several(function):
        function = mixing(function)
    elif function.__name__ in SCALED:
        function = mixing_fast(function)

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        with write_lock(self):
            return convert.store(self, operand(function(self, *args, **kwargs)), filling)

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
    exponent = _operators.other_operand(exponent)
    return NotImplemented if exponent is None else pointwise.pow(self, exponent)


def _rpow(self: Tensor, base: Any) -> Any:
    if isinstance(base, Tensor):
        return pointwise.pow(base, self)
    if not is_number(base) and not is_foreign(base):
        return NotImplemented
    return pointwise.pow(_operators.other_operand(base), self)


def _reshape_in_place(name: str) -> Any:
    """squeeze_, unsqueeze_, transpose_, t_: the tensor itself becomes the view."""
    function = views.FUNCTIONS[name]

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return strided.become(self, function(self, *args, **kwargs), f"{name}_")

    method.__name__ = method.__qualname__ = f"{name}_"
    return method


def _matrix_transpose(self: Tensor) -> Tensor:
    return views.transpose(views.matrices(self, "mT"), -2, -1) if self.ndim else self


def _adjoint_of_matrix(self: Tensor) -> Tensor:
    if self.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.")
    return views.adjoint(self)


def _set_real(self: Tensor, value: Any) -> None:
    pointwise.real(self).copy_(value)


def _set_imag(self: Tensor, value: Any) -> None:
    pointwise.imag(self).copy_(value)


def _properties() -> None:
    cls: Any = Tensor
    cls.T = property(lambda self: views.permute(self, *reversed(range(self.ndim))))
    cls.mT = property(_matrix_transpose)
    cls.H = property(_adjoint_of_matrix)
    cls.mH = property(lambda self: views.adjoint(self))
    cls.real = property(pointwise.real, _set_real)
    cls.imag = property(pointwise.imag, _set_imag)


def attach() -> None:
    """Fill the Tensor class. Called once, when the package is imported."""
    cls: Any = Tensor
    for module in (pointwise, representation, special, reductions, views, splitting, linear,
                   indexing, scattering, sorting, counting, _matrices, statistics):
        for name, function in module.FUNCTIONS.items():
            if name not in _NOT_METHODS and name not in ("real", "imag"):
                # those that autocast treats convert other libraries' tensors there
                if name in sparsity.BINARY:
                    function = mixing_fast(function)
                elif takes_several(function) and name not in _autocast.GENERAL:
                    function = (mixing_fast if module is linear else mixing)(function)
                setattr(cls, name, _numpy_names.taking(name, function))
        for name in getattr(module, "INPLACE", ()):
            setattr(cls, f"{name}_", _inplace(f"{name}_", module.FUNCTIONS[name]))
    for name in shaping.METHOD_NAMES:
        setattr(cls, name, _numpy_names.taking(name, shaping.FUNCTIONS[name]))
    for module in (shaping, strided):
        for name in module.INPLACE:
            setattr(cls, f"{name}_", _inplace(f"{name}_", module.FUNCTIONS[name]))
    for methods in (shaping.METHODS, strided.METHODS, copies.METHODS, creation.METHODS,
                    storages.METHODS, storages.ATTRIBUTES, typed_storages.METHODS, sparsity.METHODS,
                    convert.METHODS, random.METHODS, special.METHODS,
                    _spectral.METHODS):
        for name, function in methods.items():
            setattr(cls, name, function)
    for name in ("softmax", "log_softmax"):
        setattr(cls, name, _numpy_names.taking(name, activations.FUNCTIONS[name]))
    cls.__torch_function__ = classmethod(torch_function)
    cls.where = lambda self, condition, other: pointwise.where(condition, self, other)
    cls.split = lambda self, split_size, dim=0: splitting.split(self, split_size, dim)
    _operators.register()
    for name, op in _ARITHMETIC.items():
        setattr(cls, f"__{name}__", _operators.general(op, "arith"))
        setattr(cls, f"__r{name}__", _reflected(_operators.general(op, "arith")))
        setattr(cls, f"__i{name}__", _operators.in_place(op, "arith"))
    cls.__eq__ = _operators.general("equal", "compare")
    cls.__ne__ = _operators.general("not_equal", "compare")
    cls.__hash__ = lambda self: id(self)
    cls.__pow__ = _pow
    cls.__rpow__ = _rpow
    cls.__ipow__ = _inplace("__ipow__", pointwise.pow)
    cls.__rdiv__ = cls.__rtruediv__
    cls.__pos__ = pointwise.FUNCTIONS["positive"]
    cls.__abs__ = pointwise.FUNCTIONS["abs"]
    cls.__invert__ = pointwise.FUNCTIONS["bitwise_not"]
    cls.__getitem__ = indexing.getitem
    cls.__setitem__ = indexing.setitem
    cls._is_view = lambda self: self._base is not None
    cls.grad_fn = property(autograd.graph.grad_fn)
    cls.backward = autograd.tensor_backward
    cls.register_hook = autograd.register_hook
    cls.register_post_accumulate_grad_hook = autograd.register_post_accumulate_grad_hook
    cls.retain_grad = autograd.retain_grad
    cls.retains_grad = property(autograd.retains_grad)
    for name in ("squeeze", "unsqueeze", "transpose", "t", "swapaxes", "swapdims"):
        setattr(cls, f"{name}_", _reshape_in_place(name))
    cls._make_subclass = staticmethod(views.make_subclass)
    _properties()
    _autocast.apply_to_methods(cls)
    for name in ("hardshrink", "prelu"):  # what is in torch.nn.functional, too: see there
        setattr(cls, name, layers.FUNCTIONS[name])
