"""Tensors of other libraries beside ours: converted where ours are, refused elsewhere.

A function of ours that is given a tensor of ours and one of another library (PyTorch's own, a
jax array, an array of ``lazyloom_numpy``) converts the other one. One that is given theirs alone
refuses them: whose function was meant is not clear. PyTorch asks :func:`torch_function` where its
own functions meet a tensor of ours. PyTorch is never imported here.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import lazyloom

from ._errors import wrong_argument
from ._interchange import is_foreign, operand_of
from ._numpy_names import plain, rename
from ._scales_first import NAMES as SCALED
from ._scales_first import reordered
from ._tensor import Tensor


def _leaves(given: Any) -> Iterator[Any]:
    if type(given) in (list, tuple):
        for part in given:
            yield from _leaves(part)
    else:
        yield given


def _replaced(given: Any) -> Any:
    if type(given) in (list, tuple):
        return type(given)([_replaced(part) for part in given])
    return operand_of(given) if is_foreign(given) else given


def together(operands: Any) -> Any:
    """The operands, with tensors of other libraries as ours if one is ours; else as given."""
    leaves = list(_leaves(operands))
    if not any(isinstance(x, Tensor) for x in leaves) or not any(is_foreign(x) for x in leaves):
        return operands
    return _replaced(operands)


#: what calls a function that is given a sparse tensor, which is there once there is such a tensor
of_sparse: list[Callable[..., Any]] = []
#: the same for tensors of torch.distributed.tensor
of_dtensor: list[Callable[..., Any]] = []


def again(function: Callable[..., Any], name: str, error: Exception, args: tuple[Any, ...],
          kwargs: dict[str, Any]) -> Any:  # fmt: skip
    """A call that failed, with the tensors of other libraries converted if there are any.

    Sparse tensors have functions of their own, and scales may come before operands. Raises what
    was wrong with the arguments where none of these is the reason.
    """
    scaled = reordered(name, args) if name in SCALED else None
    if scaled is not None:
        return function(*scaled[0], **{**kwargs, **scaled[1]})
    if of_dtensor and any(
            isinstance(x, Tensor) and x._is_dtensor for x in _leaves([args, *kwargs.values()])):
        return of_dtensor[0](function, name, args, kwargs)
    if any(isinstance(x, Tensor) and x.is_sparse for x in _leaves([args, *kwargs.values()])):
        return of_sparse[0](name, args, kwargs, error)
    given = [args, [v for k, v in kwargs.items() if k != "out"]]
    made = together(given)
    if made is given:
        if isinstance(error, AttributeError):
            raise wrong_argument(name, error, (*args, *kwargs.values())) from None
        raise error
    args, found = made
    rest = iter(found)
    return function(*args, **{k: v if k == "out" else next(rest) for k, v in kwargs.items()})


def mixes(function: Callable[..., Any]) -> bool:
    """Whether it converts tensors of other libraries already."""
    return "mixes" in function.__dict__


def mixing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which converts tensors of other libraries that are given beside ours."""
    if mixes(function):
        return function

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError) as error:
            return again(function, function.__name__, error, args, kwargs)

    wrapper.mixes = True  # type: ignore[attr-defined]
    return wrapper


def mixing_fast(function: Callable[..., Any]) -> Callable[..., Any]:
    """:func:`mixing` by a wrapper with the function's own parameters, for what programs call most.

    To pack any arguments costs a call 0.15 us; to compile this wrapper costs an import 40 us.
    """
    code = function.__code__
    if mixes(function) or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return mixing(function)
    count = code.co_argcount
    names = code.co_varnames[:count + code.co_kwonlyargcount]
    given, named = ", ".join(names[:count]), names[count:]
    scaled = function.__name__ in SCALED
    heading = ", ".join([given, *(["*_more" if scaled else "*"] if named else []), *named])
    passed = ", ".join([given, *(f"{n}={n}" for n in named)])
    kept = ", ".join(f"{n!r}: {n}" for n in named)
    all_given = f"({given}, {'*_more' if scaled else ''})"
    again_with = f"_function, {function.__name__!r}, _error, {all_given}, {{{kept}}}"
    found: dict[str, Any] = {"__name__": __name__, "_function": function, "_again": again}
    source = (f"def wrapper({heading}):\n"
              f"    try:\n"
              f"        {f'if _more: _function(*{all_given})' if scaled else ''}\n"
              f"        return _function({passed})\n"
              f"    except (TypeError, AttributeError) as _error:\n"
              f"        return _again({again_with})\n")
    # a file of this folder's name, so that no place in it counts as the user's
    exec(compile(source, f"{__file__}:{function.__name__}", "exec"), found)
    wrapper: Any = functools.wraps(function)(found["wrapper"])
    wrapper.mixes = True
    wrapper.__defaults__, wrapper.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return wrapper


def naming(function: Callable[..., Any]) -> Callable[..., Any]:
    """:func:`mixing`, for a function that may have NumPy's names of parameters."""
    inner, renamed = plain(function)
    if not renamed:
        return mixing(function)

    @functools.wraps(inner)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            rename(kwargs)
        try:
            return inner(*args, **kwargs)
        except (TypeError, AttributeError) as error:
            return again(inner, inner.__name__, error, args, kwargs)

    return wrapper


def takes_several(function: Callable[..., Any]) -> bool:
    """Whether more than one of its parameters is a tensor."""
    given = getattr(function, "__annotations__", {})
    kinds = [k for n, k in given.items() if n not in ("return", "out")]
    return sum(k in ("Tensor", "Tensor | None") for k in kinds) > 1


# -- PyTorch's functions that meet a tensor of ours ---------------------------------------------

#: where the functions of PyTorch's modules are here, and what their names begin with there
_PLACES = {
    "torch._C._nn": ("nn.functional", ""), "torch.nn.functional": ("nn.functional", ""),
    "torch._C._linalg": ("linalg", "linalg_"), "torch._C._fft": ("fft", "fft_"),
    "torch._C._special": ("special", "special_"),
}


def _counterpart(func: Any) -> Any:
    """Our function or method of that name, or None."""
    name, home = func.__name__, getattr(func, "__module__", None)
    if home is None or home.startswith("torch._tensor"):
        return getattr(Tensor, name, None)
    place, prefix = _PLACES.get(home, ("", ""))
    module = sys.modules[f"{__package__}.{place}".rstrip(".")]
    return getattr(module, name.removeprefix(prefix), None)


def _is_theirs_to_keep(name: str, args: Any, kwargs: Any) -> bool:
    """Whether a call changes or indexes a tensor of theirs, or asks ours for a dtype or shape."""
    target = args[0] if args else None
    if is_foreign(kwargs.get("out")):
        return True
    if not is_foreign(target):
        return False
    if name.startswith("__"):
        return name in ("__getitem__", "__setitem__") or (
            name.startswith("__i") and name not in ("__invert__", "__int__", "__index__"))
    return name.endswith("_") or name in ("to", "type_as", "expand_as", "view_as", "reshape_as")


def _as_theirs(given: Any) -> Any:
    if type(given) in (list, tuple):
        return type(given)([_as_theirs(part) for part in given])
    if not isinstance(given, Tensor):
        return given
    if given.requires_grad:
        if lazyloom.grad_enabled():
            raise RuntimeError(
                "a lazyloom_torch.Tensor that requires grad meets a torch.Tensor: no gradient "
                "flows from one library to another; detach it, or compute under no_grad()")
        given = given.detach()
    return sys.modules["torch"].from_dlpack(given)


def torch_function(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What PyTorch's protocol ``__torch_function__`` asks for: ours, of the same name.

    What changes or indexes a tensor of PyTorch's stays PyTorch's, with ours converted.
    """
    name, kwargs = getattr(func, "__name__", ""), kwargs or {}
    if _is_theirs_to_keep(name, args, kwargs):
        return func(*_as_theirs(list(args)), **{k: _as_theirs(v) for k, v in kwargs.items()})
    ours = _counterpart(func)
    if ours is None:
        return NotImplemented
    args = _replaced(tuple(args))
    # PyTorch's Python functions pass on every parameter, most of them as they are by default
    kwargs = {k: _replaced(v) for k, v in kwargs.items() if v is not None}
    return ours(*args, **kwargs)
