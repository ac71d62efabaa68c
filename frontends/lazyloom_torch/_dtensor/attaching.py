"""DTensor's methods, and functions of ``torch.nn.functional`` that are given DTensors."""

from __future__ import annotations

import functools
import operator
import sys
from typing import Any

from lazyloom import capture

from .. import _foreign, _registry
from .._divided import divided
from .._foreign import mixes
from .._promotion import is_number
from .._tensor import Tensor
from . import losses, products, rules, shapes  # noqa: F401  (they fill the tables)
from .between import onto
from .calling import call
from .handlers import (
    FILLING,
    filled_as_one,
    fills,
    named,
    new,
    part_of_whole,
    setitem,
    writes,
)
from .optimizing import Divided, loaded
from .parts import of_parts
from .tensors import DTensor, DTensorParameter, at_first

_ROOT = __name__.partition(".")[0]

#: operators, and the functions that they are
_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide",
    "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift", "matmul": "matmul",
    "pow": "pow",
}  # fmt: skip
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
#: methods that DTensor inherits: they look at nothing that it does not have
_INHERITED = frozenset((
    "__reversed__", "name", "is_conj", "is_neg", "is_distributed", "is_inference", "is_ipu",
    "is_maia", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_pinned", "is_same_size",
    "is_shared", "is_sparse_csr", "is_vulkan", "is_xpu", "get_device", "output_nr", "volatile",
    "data_ptr", "const_data_ptr", "untyped_storage", "storage", "share_memory_", "dim_order",
    "is_coalesced", "to_dense", "as_subclass"))
_NEW = ("new_zeros", "new_ones", "new_empty", "new_full")


def _operator(plain: Any, name: str, reflected: bool) -> Any:
    def method(self: DTensor, other: Any) -> Any:
        if not isinstance(other, Tensor) and not is_number(other):
            return NotImplemented
        return call(plain, name, (other, self) if reflected else (self, other), {})

    return method


def _reflecting(function: Any) -> Any:
    """The function where its first argument is no tensor."""
    def wrapper(a: Any, b: Any) -> Any:
        return function(a, b)

    return wrapper


def _operators(cls: Any) -> None:
    for symbol, name in _BINARY.items():
        plain = getattr(operator, f"__{symbol}__")
        setattr(cls, f"__{symbol}__", _operator(plain, name, False))
        setattr(cls, f"__r{symbol}__", _operator(_reflecting(plain), name, True))
        if symbol not in ("matmul",):
            setattr(cls, f"__i{symbol}__",
                    writes(f"__i{symbol}__", getattr(operator, f"__i{symbol}__")))
    for name in _COMPARISONS:
        setattr(cls, f"__{name}__", _operator(getattr(operator, f"__{name}__"), name, False))
    cls.__hash__ = lambda self: id(self)
    cls.__rdiv__ = cls.__rtruediv__
    for symbol, name in (("neg", "neg"), ("pos", "positive"), ("abs", "abs"),
                         ("invert", "bitwise_not")):
        setattr(cls, f"__{symbol}__", named(getattr(Tensor, name), name))
    cls.__getitem__ = lambda self, index: call(Tensor.__getitem__, "getitem", (self, index), {})
    cls.__setitem__ = setitem


def _properties(cls: Any) -> None:
    cls.T = property(lambda self: self.permute(*reversed(range(self.ndim))))
    cls.mT = property(lambda self: self.transpose(-2, -1))
    cls.H = property(lambda self: self.t().conj() if self.ndim else self)
    cls.mH = property(lambda self: self.transpose(-2, -1).conj())
    cls.real = property(named(Tensor.real.fget, "real"))  # type: ignore[attr-defined]
    cls.imag = property(named(Tensor.imag.fget, "imag"))  # type: ignore[attr-defined]


def _methods(cls: Any) -> None:
    own = {n for c in (DTensor,) for n in vars(c)}
    for name in _registry.methods:
        plain = getattr(Tensor, name)
        if name in own or name in _INHERITED or not callable(plain):
            continue
        if name in FILLING:
            setattr(cls, name, fills(name))
        elif name in _NEW:
            setattr(cls, name, new(name))
        elif name.endswith("_") and not name.startswith("__"):
            setattr(cls, name, writes(name, plain))
        else:
            setattr(cls, name, named(plain, name))
    for name in _registry.inplace:
        setattr(cls, f"{name}_", writes(f"{name}_", getattr(Tensor, f"{name}_")))


def wrap_functions() -> None:
    """Let functions of one tensor of ``torch.linalg`` and its kin find DTensors.

    Those of ``torch`` and ``torch.nn.functional`` do so already.
    """
    for place in ("linalg", "special", "fft"):
        module = sys.modules.get(f"{_ROOT}.{place}")
        for name in getattr(module, "__all__", ()):
            function = getattr(module, name)
            if callable(function) and not isinstance(function, type) and not mixes(function):
                setattr(module, name, _finding(function, name))


def _finding(function: Any, name: str) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError) as error:
            return _foreign.again(function, name, error, args, kwargs)

    wrapper.mixes = True  # type: ignore[attr-defined]
    return wrapper


def attach() -> None:
    """Fill the DTensor class. Called once, when its module is imported."""
    _operators(DTensor)
    _methods(DTensor)
    _properties(DTensor)
    DTensor._onto = staticmethod(onto)
    DTensorParameter.__hash__ = DTensor.__hash__  # type: ignore[method-assign]
    capture.uncapturable(
        DTensor, "a tensor that is divided among processes is among what the call reads")
    _foreign.of_dtensor.append(call)
    divided.update(optimizer=Divided, loaded=loaded, filled=filled_as_one, part=part_of_whole,
                   of_parts=of_parts)


attach()
at_first.append(wrap_functions)
