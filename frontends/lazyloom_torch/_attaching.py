"""What the registry holds, put into ``torch`` and ``Tensor``, and the operators of tensors."""

from __future__ import annotations

from typing import Any

from lazyloom.frontend import write_lock

# of most of these only their declarations are wanted
from . import (  # noqa: F401
    _absent,
    _autocast,
    _dtypes,
    _formats,
    _internals,
    _matrices,
    _numpy_names,
    _operators,
    _registry,
    _settings,
    _spectral,
    _symbols,
    autograd,
    random,
)
from ._foreign import mixing, mixing_fast, naming, takes_several, torch_function
from ._functions import (  # noqa: F401
    convert,
    copies,
    counting,
    creation,
    indexing,
    layers,
    linear,
    pointwise,
    quantizing,
    recurrent,
    reductions,
    representation,
    scattering,
    segments,
    shaping,
    sorting,
    sparsity,
    special,
    splitting,
    statistics,
    storages,
    strided,
    typed,
    typed_storages,
    views,
)
from ._interchange import is_foreign
from ._out import taking_out
from ._promotion import is_number
from ._scales_first import NAMES as SCALED
from ._tensor import Tensor, operand

#: functions of ``torch`` that take ``out``
TAKES_OUT = frozenset(name for name, (_, words) in _registry.functions.items() if "out" in words)


def _function(name: str, entry: _registry.Entry) -> Any:
    """What ``torch`` has of a function."""
    function, words = entry
    if "as-is" in words:
        return function
    function = _numpy_names.taking(name, function)
    if words >= {"fast", "converting"}:
        function = mixing_fast(function)
    elif name in sparsity.ELEMENTWISE:
        function = mixing(function)
    if name in TAKES_OUT:
        return taking_out(function)
    return function if "converting" in words else naming(function)


def _method(name: str, entry: _registry.Entry) -> Any:
    """What ``Tensor`` has of a function."""
    function, words = entry
    if "as-is" in words:
        return function
    if words >= {"fast", "converting"}:
        function = mixing_fast(function)
    # those that autocast treats convert other libraries' tensors there
    elif takes_several(function) and name not in _autocast.GENERAL:
        function = (mixing_fast if "fast" in words else mixing)(function)
    return _numpy_names.taking(name, function)


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
    function = _registry.functions[name].value

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if self._is_dtensor:
            raise NotImplementedError(
                f"{name}_(): a DTensor does not change its shape in place; use {name}()")
        return strided.become(self, function(self, *args, **kwargs), f"{name}_")

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"In place: {function.__doc__}"
    return method


def _matrix_transpose(self: Tensor) -> Tensor:
    """The last two dimensions swapped: a view."""
    return views.transpose(views.matrices(self, "mT"), -2, -1) if self.ndim else self


def _adjoint_of_matrix(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix: a view. RuntimeError for other dimensions."""
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
    cls.T = property(lambda self: views.permute(self, *reversed(range(self.ndim))),
                     doc="All dimensions in reverse order: a view.")
    cls.mT = property(_matrix_transpose)
    cls.H = property(_adjoint_of_matrix)
    cls.mH = property(lambda self: views.adjoint(self),
                      doc="The last two dimensions swapped, conjugated: a view.")
    cls.real = property(pointwise.real, _set_real)
    cls.imag = property(pointwise.imag, _set_imag)


def attach() -> None:
    """Fill the Tensor class. Called once, when the package is imported."""
    cls: Any = Tensor
    for name, entry in _registry.methods.items():
        setattr(cls, name, _method(name, entry))
    for name, entry in _registry.inplace.items():
        setattr(cls, f"{name}_", _inplace(f"{name}_", entry.value))
    cls.__torch_function__ = classmethod(torch_function)
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


def names() -> dict[str, Any]:
    """What is put into ``torch``, by name. Needs the methods of ``Tensor``."""
    found = {name: _function(name, entry) for name, entry in _registry.functions.items()}
    found.update(_dtypes.NAMES, **_absent.dtypes())
    found.update({f"{n}_": getattr(Tensor, f"{n}_") for n, entry in _registry.inplace.items()
                  if "inplace-function" in entry.words})  # fmt: skip
    _autocast.apply(found, _autocast.GENERAL)
    found["spmm"] = found["dsmm"] = found["mm"]
    return found
