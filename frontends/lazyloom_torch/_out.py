"""``out=``: results written into tensors that the caller gives.

Functions of the ``torch`` namespaces take it, methods do not. Hot functions have a parameter
``out`` of their own and call :func:`into`; all others get it from :func:`taking_out`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

import lazyloom
from lazyloom.frontend import hold, storage_of, write_lock, write_locks

from . import _dtypes
from ._core import cast
from ._errors import not_a_tensor
from ._foreign import again, mixing, takes_several
from ._numpy_names import plain, rename
from ._promotion import can_cast
from ._scales_first import NAMES as SCALED
from ._scales_first import reordered
from ._tensor import Tensor

#: those whose results have by default the dtype of what they are written to
_TYPED = frozenset({
    "arange", "empty", "eye", "full", "linspace", "logspace", "normal", "ones", "rand", "randint",
    "randn", "randperm", "range", "zeros", "sum", "prod", "nansum", "mean", "nanmean", "cumsum",
    "cumprod",
})


#: those whose results must not lie in the storage of an operand
_APART = frozenset({"cat", "gather", "index_select", "kthvalue", "masked_select", "take"})
#: those whose results must have the dtype of what they are written to
_SAME = frozenset({"gather", "index_select", "take"})


def _check_apart(name: str, out: Any, args: tuple[Any, ...]) -> None:
    """Raise RuntimeError if one of the operands shares its storage with a result."""
    outs = [o for o in (out if isinstance(out, (tuple, list)) else (out,))
            if isinstance(o, Tensor)]
    for o in outs:
        if any(s == 0 and d > 1 for s, d in zip(o.element_strides or (), o.tensor_type.shape)):
            raise RuntimeError(
                f"unsupported operation: {name}() cannot write its result into a tensor several "
                "elements of which are one place in memory; clone() it first")
    written = [storage_of(o) for o in outs]
    for a in args:
        for t in a if isinstance(a, (tuple, list)) else (a,):
            if isinstance(t, Tensor) and any(storage_of(t) is w for w in written):
                raise RuntimeError(
                    f"unsupported operation: {name}() cannot write its result into a tensor that "
                    "shares memory with an operand; give another out, or clone() the operand")
            if name in _SAME and t is args[0] and isinstance(out, Tensor) and (
                t.tensor_type.dtype is not out.tensor_type.dtype
            ):
                raise RuntimeError(
                    f"{name}(): Expected out tensor to have dtype {t.dtype!r}, but got "
                    f"{out.dtype!r} instead")


def _write(out: Any, made: Tensor) -> Tensor:
    if not isinstance(out, Tensor):
        raise not_a_tensor(out, "out: ")
    value = made._operand()
    if lazyloom.grad_enabled() and (value.requires_grad or out.requires_grad):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad; leave out= away, or compute under torch.no_grad()")
    kind = out.tensor_type
    if value.dtype is not kind.dtype:
        given, here = _dtypes.of(value.dtype), out.dtype
        if not can_cast(given, here):
            raise RuntimeError(
                f"result type {given!r} can't be cast to the desired output type {here!r}")
        value = cast(value, kind.dtype)
    if value.shape == kind.shape:
        return out._assign(value)
    if kind.size:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape "
            f"{list(kind.shape)}, which does not match the required output shape "
            f"{list(value.shape)}. Give an empty tensor, or resize it with out.resize_(0).",
            stacklevel=4)
    if out.view_steps:
        raise RuntimeError(
            f"out is a view of shape {list(kind.shape)}, but the result has shape "
            f"{list(value.shape)}; a view keeps its shape")
    leaf = out._leaf
    held = value.detach() if leaf is None else value.detach().as_leaf(leaf.token)
    hold(out, held)
    storage_of(out)  # a leaf shares its storage
    out._lay(None, 0)
    return out


def into(out: Any, made: Any) -> Any:
    """Write results into the tensor or tensors given as ``out``; what was written to.

    The shape is changed where it differs (with a warning unless ``out`` was empty). Raises
    RuntimeError where gradients would be lost or a dtype would lose its kind, TypeError for
    what is no tensor.
    """
    if isinstance(made, Tensor):
        if isinstance(out, (tuple, list)) and len(out) == 1:
            out = out[0]
        return _write(out, made)
    if not isinstance(out, (tuple, list)) or len(out) != len(made):
        raise TypeError(f"out must be a tuple of {len(made)} Tensors, not {out!r}")
    written = [_write(o, m) for o, m in zip(out, made, strict=True)]
    make = getattr(type(made), "_make", type(made))
    return make(written)


def compute_into(out: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """:func:`into` of what a function returns, which may read what ``out`` holds.

    It is one step for other threads.
    """
    with _locks(out):
        return into(out, function(*args, **kwargs))


def _locks(out: Any) -> Any:
    """The locks under which results are written."""
    if isinstance(out, Tensor):
        return write_lock(out)
    if isinstance(out, (tuple, list)):
        return write_locks([o for o in out if isinstance(o, Tensor)])
    return contextlib.nullcontext()


def taking_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a keyword argument ``out`` besides its own."""
    code = inspect.unwrap(function).__code__
    if "out" in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]:
        return mixing(function) if takes_several(function) else function
    name = function.__name__
    typed, apart = name in _TYPED, name in _APART
    inner, renamed = plain(function)

    @functools.wraps(inner)
    def wrapper(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if renamed and kwargs:
            rename(kwargs)
        if out is None:
            try:
                return inner(*args, **kwargs)
            except (TypeError, AttributeError) as error:
                return again(inner, name, error, args, kwargs)
        if typed and kwargs.get("dtype") is None and isinstance(out, Tensor):
            kwargs["dtype"] = out.dtype
        if apart:
            _check_apart(name, out, args)
        scaled = reordered(name, args) if name in SCALED else None
        if scaled is not None:
            args, kwargs = scaled[0], {**kwargs, **scaled[1]}
        return compute_into(out, inner, *args, **kwargs)

    return wrapper


def give_out(namespace: MutableMapping[str, Any], names: Iterable[str]) -> None:
    """Let the functions of those names in a namespace take ``out``."""
    for name in names:
        namespace[name] = taking_out(namespace[name])
