"""Classes that programs derive from ``ndarray``, as NumPy's manual has them.

A user's class gets :class:`Subclassable` between itself and ``ndarray``: construction by
``__new__``, ``__array_finalize__``, ``__array_wrap__`` and ``__array_ufunc__`` are there, and its
operators take the general way. Nothing of this is on the way of plain arrays: ufuncs and functions
look for derived classes from the moment that the first one is made.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, NamedTuple

import numpy as onp

import lazyloom
from lazyloom.frontend import Operators, operators_of, set_operators, share_view

from .._array import hosted
from .._array.layout import set_info
from .._array.ndarray import ScalarArray, ndarray, plain, recast
from .._ufuncs import ufunc as _u

_new: Final = lazyloom.Tensor.__new__
_of_arrays: Final[Any] = ndarray.__array_function__


def _all_plain(given: Any) -> Any:
    if type(given) in (list, tuple):
        return type(given)([_all_plain(x) for x in given])
    return plain(given)


def _like(result: Any, template: Any) -> Any:
    """What a function made, in the class of what it was made from."""
    if isinstance(result, (tuple, list)):
        return _made_again(result, [_like(r, template) for r in result])
    if not isinstance(result, ndarray) or isinstance(result, Subclassable):
        return result
    return recast(result, type(template), template)


def _made_again(result: Any, parts: list[Any]) -> Any:
    """Other members in a tuple, a tuple with names, or a list."""
    return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)


class Subclassable(ndarray):
    """What derived classes have beside what arrays have."""

    __slots__ = ()
    __array_priority__ = 0.0
    _derived = True  # what tells one of these without importing this module

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = _new(cls)
        if args or kwargs:
            given = ndarray(*args, **kwargs)
            share_view(made, given)
            info = getattr(given, "_info", None)
            if info is not None:
                set_info(made, info)
            made.slow_path = True
            if made.__array_finalize__ is not None:
                made.__array_finalize__(None)
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __array_finalize__(self, obj: Any, /) -> None:
        """Told what the array was made from: None by a constructor, else an array."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """The result of a ufunc in this array's class."""
        return recast(array, type(self), self)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _computed(_u.PUBLIC.get(function.__name__, function), method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        inner = getattr(func, "__wrapped__", None)
        name = getattr(func, "looks_for_classes", None)
        if inner is None or name is None:
            # by the method itself: under its name ndarray has this one once classes are derived
            return _of_arrays(self, func, types, args, kwargs)
        return _in_classes(name, inner, args, kwargs)

    @property
    def imag(self) -> Any:
        """The imaginary part, in this array's class."""
        return _like(plain(self).imag, self)

    @imag.setter
    def imag(self, value: Any) -> None:
        plain(self).imag = plain(value)

    def __getitem__(self, key: Any) -> Any:
        found = plain(self)[_all_plain(key)]
        return found if type(found) is ScalarArray else _like(found, self)

    def __setitem__(self, key: Any, value: Any) -> None:
        plain(self)[_all_plain(key)] = plain(value)

    def __repr__(self) -> str:
        named = type(type(self).__name__, (onp.ndarray,), {})
        return repr(self.read().view(named))

    def __reduce__(self) -> Any:
        # the state is there for classes that add to it, as NumPy's do: what is theirs
        return _unpickled, (type(self), self.read()), ()

    def __setstate__(self, state: Any, /) -> None:
        """Takes the state of ``__reduce__``, which holds nothing."""
        if state != ():
            raise TypeError(
                f"__setstate__: given {state!r}, expected (): hand over what __reduce__ of "
                "ndarray gave, without what your class added")


def _unpickled(cls: Any, data: Any) -> Any:
    return recast(ndarray.from_value(lazyloom.from_host(data)), cls, None)


# -- ufuncs ------------------------------------------------------------------------------------


def _override(x: Any) -> Any:
    """What an operand says that ufuncs are to do, if it says so itself; else ``False``."""
    if isinstance(x, (int, float, complex)) and not isinstance(x, lazyloom.Tensor):
        return False
    found = getattr(type(x), "__array_ufunc__", False)
    usual = (ndarray.__array_ufunc__, Subclassable.__array_ufunc__, onp.ndarray.__array_ufunc__,
             getattr(onp.generic, "__array_ufunc__", False))  # fmt: skip
    return False if found in usual else found


def asked(function: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the operands' classes make of a ufunc; None where all of them are plain.

    Raises TypeError where a class takes no part in ufuncs, or none knows how.
    """
    out = kwargs.get("out")
    if out is not None and not isinstance(out, tuple):
        out = (out,)
    operands = [*inputs, *(out or ())]
    says = [(x, _override(x)) for x in operands]
    overriding = [x for x, s in says if s is not False]
    if not overriding:
        if not any(isinstance(x, Subclassable) for x in operands):
            return None
        return _computed(function, method, inputs, kwargs)
    for x, s in says:
        if s is None:
            raise TypeError(
                f"operand {type(x).__name__!r} does not support ufuncs (__array_ufunc__=None)")
    if out is not None:
        kwargs = {**kwargs, "out": out}
    # a class before those that it is derived from
    for x in sorted(overriding, key=lambda x: -sum(
            isinstance(x, type(y)) and type(x) is not type(y) for y in overriding)):
        found = x.__array_ufunc__(function, method, *inputs, **kwargs)
        if found is not NotImplemented:
            return found
    if any(type(x) is ndarray or type(x) is ScalarArray for x in operands):
        # a class that knows NumPy's arrays and no others, as a Series of pandas does
        numpys = function.np if method == "__call__" else getattr(function.np, method)
        with contextlib.suppress(TypeError):
            return hosted.call(numpys, inputs, kwargs)
    raise TypeError(
        f"operand type(s) all returned NotImplemented from __array_ufunc__({function!r}, "
        f"{method!r}): {', '.join(repr(type(x).__name__) for x in operands)}")


def _computed(function: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc of plain arrays, whose result takes the class of the first in rank."""
    out = kwargs.get("out")
    outs = () if out is None else out if isinstance(out, tuple) else (out,)
    if any(_override(x) is not False for x in (*inputs, *outs)):
        return NotImplemented
    options = {k: _all_plain(v) for k, v in kwargs.items() if k != "out"}
    if outs:
        written = tuple([plain(o) for o in outs])
        options["out"] = written if len(written) > 1 else written[0]
    call = function if method == "__call__" else getattr(function, method)
    result = call(*[plain(x) for x in inputs], **options)
    if outs:
        return outs if len(outs) > 1 else outs[0]
    derived = [x for x in inputs if isinstance(x, Subclassable)]
    if not derived or result is None:
        return result
    template = max(derived, key=lambda x: x.__array_priority__)
    if isinstance(result, tuple):
        return tuple([_wrapped(template, r, (function, inputs, i)) for i, r in enumerate(result)])
    return _wrapped(template, result, (function, inputs, 0))


def _wrapped(template: Any, result: Any, context: Any) -> Any:
    if type(template).__array_wrap__ is Subclassable.__array_wrap__:
        return _like(result, template)
    array = ndarray.from_value(result.value)
    if len(inspect.signature(template.__array_wrap__).parameters) > 2:
        return template.__array_wrap__(array, context, not array.shape)
    return template.__array_wrap__(array, context)


#: what an operator takes; the rest has a reflected one, or is an error
_OPERANDS: Final = (ndarray, int, float, complex, onp.generic, onp.ndarray, list, tuple)


def _operated(function: Any, a: Any, b: Any) -> Any:
    """An operator of which one side is of a derived class; None for plain arrays."""
    if isinstance(a, Subclassable) or isinstance(b, Subclassable):
        if _override(a) is None or _override(b) is None:
            return NotImplemented
        if not all(isinstance(x, _OPERANDS) or _override(x) is not False for x in (a, b)):
            return NotImplemented
        return asked(function, "__call__", (a, b), {})
    return None


def _operated_in_place(function: Any, target: Any, other: Any) -> Any:
    if isinstance(target, Subclassable) or isinstance(other, Subclassable):
        return asked(function, "__call__", (target, other), {"out": (target,)})
    return None


# -- functions and methods ---------------------------------------------------------------------

class _Rule(NamedTuple):
    """Which results of a function NumPy gives the class of an operand."""

    operand: int | None = None  # the operand that decides; None for the first of a derived class
    numbers: bool = True  # whether a result of no dimensions has it, too
    parts: tuple[int, ...] | None = None  # which of several results have it; None for all


_ALL: Final = _Rule()
_ARRAYS: Final = _Rule(0, numbers=False)
#: functions by which results have the class of their array, as NumPy's. Others make what their
#: parts make of it.
_RULES: Final[dict[str, _Rule]] = {
    **dict.fromkeys("""
        all amax amin any around atleast_1d atleast_2d atleast_3d clip cumprod cumsum diff
        expand_dims flip fliplr flipud isclose kron max mean min moveaxis prod ptp ravel repeat
        reshape roll rollaxis rot90 round sort squeeze std sum swapaxes transpose var zeros_like
        ones_like empty_like full_like diagonal partition matrix_transpose
        linalg.matrix_transpose linalg.diagonal""".split(), _ALL),
    **dict.fromkeys("""
        angle cumulative_prod cumulative_sum diag diagflat gradient imag isneginf isposinf isreal
        median nan_to_num nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd
        nansum nanvar real_if_close unstack linalg.inv linalg.pinv linalg.cholesky linalg.tensorinv
        linalg.qr""".split(), _Rule(0)),
    **dict.fromkeys("""
        argmax argmin argpartition argsort broadcast_to correlate count_nonzero delete dot inner
        insert nanpercentile nanquantile percentile piecewise quantile require setdiff1d take
        take_along_axis tile trim_zeros unique_values vdot""".split(), _ARRAYS),
    "compress": _Rule(1, numbers=False), "extract": _Rule(1, numbers=False),
    "apply_along_axis": _Rule(2, numbers=False),
    "linalg.solve": _Rule(1), "linalg.lstsq": _Rule(1, parts=(0, 1)),
    "linalg.eig": _Rule(0, parts=(1,)), "linalg.eigh": _Rule(0, parts=(1,)),
    "linalg.svd": _Rule(0, parts=(0, 2)),
    "unique": _Rule(0, parts=(0,)), "unique_all": _Rule(0, parts=(0, 1)),
    "unique_counts": _Rule(0, parts=(0,)), "unique_inverse": _Rule(0, parts=(0,)),
    **dict.fromkeys("cov corrcoef isin".split(), _Rule(parts=())),
}
#: functions of which each result has the class of the array in its place
_EACH: Final = ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "ix_", "meshgrid")
#: calls for which alone results have it
_WHERE: Final[dict[str, Callable[[Any, dict[str, Any]], bool]]] = {
    "broadcast_to": lambda args, kwargs: bool(kwargs.get("subok")),
    "broadcast_arrays": lambda args, kwargs: bool(kwargs.get("subok")),
    "diag": lambda args, kwargs: not args or getattr(args[0], "ndim", 1) == 2,
    "unique": lambda args, kwargs: kwargs.get("axis", args[4] if len(args) > 4 else None) is None,
}

_METHODS: Final = """
    astype clip compress conj conjugate copy cumprod cumsum diagonal flatten mean ravel repeat
    reshape round squeeze std swapaxes take transpose var choose
""".split()

#: methods of which only arrays have it
_INDICES: Final = ("argmax", "argmin", "argsort", "argpartition")
#: methods that are reductions of ufuncs
_REDUCING: Final = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum",
                    "all": "logical_and", "any": "logical_or"}  # fmt: skip
#: methods whose result goes through ``__array_wrap__`` as that of a ufunc does
_AVERAGES: Final = ("mean", "std", "var")


def _kept(function: Callable[..., Any], owner: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    result = function(*_all_plain(tuple(args)), **{k: _all_plain(v) for k, v in kwargs.items()})
    if kwargs.get("subok") is False:
        return result
    return _like(result, owner)


def _in_classes(name: str, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """What a function makes of plain arrays, in the classes that NumPy gives it."""
    rule = _RULES.get(name)
    if rule is None and name not in _EACH:
        return function(*args, **kwargs)
    result = function(*_all_plain(tuple(args)), **{k: _all_plain(v) for k, v in kwargs.items()})
    if kwargs.get("subok") is False or name in _WHERE and not _WHERE[name](args, kwargs):
        return result
    if name in _EACH and isinstance(result, (tuple, list)) and len(result) == len(args):
        return _made_again(result, [
            _like(r, x) if isinstance(x, Subclassable) else r
            for r, x in zip(result, args, strict=True)])
    if rule is None:
        return result
    place = rule.operand
    template = (args[place] if place is not None and place < len(args)
                else _owner((*args[:place], *kwargs.values())))
    if not isinstance(template, Subclassable) or (
            not rule.numbers and type(result) is ScalarArray):
        return result
    if rule.parts is None:
        return _like(result, template)
    if not isinstance(result, tuple):  # the other results were not asked for
        return _like(result, template) if rule.parts == (0,) else result
    parts = rule.parts
    if name == "unique" and (kwargs.get("return_index") or len(args) > 1 and args[1]):
        parts = (0, 1)
    return _made_again(result, [
        _like(r, template) if i in parts else r for i, r in enumerate(result)])


def _owner(given: Iterable[Any]) -> Any:
    for x in given:
        if isinstance(x, Subclassable):
            return x
    return None


def _deciding(given: Iterable[Any]) -> Any:
    """The first array, in lists too, whose class says itself what functions make of it."""
    for x in given:
        if isinstance(x, (list, tuple)):
            found = _deciding(x)
            if found is not None:
                return found
        elif isinstance(x, Subclassable) and (
                type(x).__array_function__ is not Subclassable.__array_function__):
            return x
    return None


def _looking(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that asks the classes of its operands, and gives its result theirs."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        owner = _owner((*args, *kwargs.values()))
        asked_first = _deciding((*args, *kwargs.values()))
        if asked_first is not None:
            return asked_first.__array_function__(wrapper, (type(asked_first),), args, kwargs)
        if owner is None:
            return function(*args, **kwargs)
        if args and owner is args[0] and function.__name__ in (*_REDUCING, *_AVERAGES):
            return getattr(owner, function.__name__)(*args[1:], **kwargs)
        return _in_classes(name, function, args, kwargs)

    wrapper.looks_for_classes = name  # type: ignore[attr-defined]
    package, _, submodule = f"lazyloom_numpy.{name}".rpartition(".")[0].partition(".")
    wrapper.__module__ = f"{package}.{submodule}" if submodule else package  # for pickle
    return wrapper


def _method(name: str) -> Callable[..., Any]:
    inner = getattr(ndarray, name)

    @functools.wraps(inner)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name in _AVERAGES:
            return _reduced(inner, self, args, kwargs)
        if name in _INDICES:
            found = inner(plain(self), *_all_plain(args), **kwargs)
            return found if type(found) is ScalarArray else _like(found, self)
        return _kept(inner, self, (self, *args), kwargs)

    return method


def _reduced(function: Callable[..., Any], owner: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if type(owner).__array_wrap__ is Subclassable.__array_wrap__ or kwargs.get("out") is not None:
        return _kept(function, owner, (owner, *args), kwargs)
    given = {k: _all_plain(v) for k, v in kwargs.items()}
    return _wrapped(owner, function(plain(owner), *_all_plain(tuple(args)), **given), None)


def _reduction(name: str, ufunc: str) -> Callable[..., Any]:
    inner = getattr(ndarray, name)

    @functools.wraps(inner)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _override(self) is False:
            return _reduced(inner, self, args, kwargs)
        given = inspect.signature(inner).bind(self, *args, **kwargs).arguments
        given.pop("self")
        return asked(_u.TABLE[ufunc], "reduce", (self,), dict(given))

    return method


def _ufunc_method(name: str) -> Callable[..., Any]:
    inner = getattr(_u.ufunc, name)

    @functools.wraps(inner)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        count = self.nin if name in ("__call__", "outer") else 1
        inputs = args[:count]
        out = kwargs.get("out")
        if _owner((*args, *(out if isinstance(out, tuple) else (out,)))) is None:
            return inner(self, *args, **kwargs)
        if name == "__call__" and len(args) > count:
            kwargs, inputs = {**kwargs, "out": tuple(args[count:])}, args[:count]
        elif len(args) > count:
            bound = inspect.signature(inner).bind(self, *args, **kwargs).arguments
            kwargs = {k: v for k, v in bound.items() if k not in ("self", "array")}
        found = asked(self, name, tuple(inputs), kwargs)
        return inner(self, *args, **kwargs) if found is None else found

    return method


for _name in (*_METHODS, *_INDICES):
    setattr(Subclassable, _name, _method(_name))
for _name, _function in _REDUCING.items():
    setattr(Subclassable, _name, _reduction(_name, _function))


def _constructed(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """``ndarray.__new__``, which classes call by that name for arrays of their own."""
    if not issubclass(cls, Subclassable):
        return _new(cls)
    return Subclassable.__new__(cls, *args, **kwargs)


def _of_derived(usual: Any, own: Any) -> Callable[..., Any]:
    """A method of ``ndarray`` that a derived class calls by that name for an array of its own."""

    @functools.wraps(usual)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return (own if isinstance(self, Subclassable) else usual)(self, *args, **kwargs)

    return method


def _start() -> None:
    """From now on ufuncs and functions look for derived classes, and so do methods.

    ``ndarray.__getitem__(self, key)`` and ``ndarray.__array_wrap__(self, array)`` are what classes
    call that extend these.
    """
    namespace = sys.modules["lazyloom_numpy"]
    made: dict[Any, Any] = {}  # methods of two names (conj and conjugate) stay one
    for name, own in vars(Subclassable).items():
        if callable(own) and name not in ("__new__", "__init__", "__hash__"):
            usual = getattr(ndarray, name, None)
            if usual is None:
                setattr(ndarray, name, own)
                continue
            if usual not in made:
                made[usual] = _of_derived(usual, own)
            setattr(ndarray, name, made[usual])
    ndarray.__new__ = _constructed  # type: ignore[method-assign]
    for name in ("__call__", "reduce", "accumulate", "outer", "reduceat"):
        setattr(_u.ufunc, name, _ufunc_method(name))
    looking: dict[Any, Any] = {}
    for prefix, module, theirs in (("", namespace, onp),
                                   ("linalg.", namespace.linalg, onp.linalg)):
        # those that have a rule first: transpose and permute_dims are one function
        for name in sorted(vars(module), key=lambda name: prefix + name not in _RULES):
            function = getattr(module, name)
            if not isinstance(function, Hashable) or function in looking:
                continue
            # NumPy's functions that ask __array_function__
            asking = hasattr(getattr(theirs, name, None), "_implementation")
            if prefix + name in _RULES or asking and not isinstance(function, type):
                looking[function] = _looking(prefix + name, getattr(module, name))
        for name, function in list(vars(module).items()):
            if isinstance(function, Hashable) and function in looking:
                setattr(module, name, looking[function])
    usual = operators_of(ndarray)
    assert usual is not None
    set_operators(Subclassable, Operators(
        ndarray, ScalarArray, usual.general, usual.general_in_place, False,
        usual.get_item, None, usual.to_float, usual.truth))
    _u.hooks.append((_operated, _operated_in_place))


def derive(cls: Any) -> None:
    """Make a user's class, which was just derived from ``ndarray``, one of these."""
    if not _u.hooks:
        _start()
    if not issubclass(cls, Subclassable):
        cls.__bases__ = tuple([Subclassable if b is ndarray else b for b in cls.__bases__])
