"""NumPy's names of parameters, which PyTorch's functions take, too: ``axis`` and ``keepdims``.

``sum``, ``prod`` and ``mean`` have parameters of those names; others get them here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

#: functions and methods that are called by those names
NAMES = frozenset("""
    all amax amin aminmax any argmax argmin argsort cat chunk concat concatenate count_nonzero
    cross cummax cummin cumprod cumsum diff gather index_select kthvalue log_softmax logcumsumexp
    logsumexp max median min mode nanmean nanmedian nanquantile nansum quantile repeat_interleave
    softmax sort squeeze stack std std_mean tensor_split topk unbind unsqueeze var var_mean
""".split())

_MEANINGS = {"axis": "dim", "keepdims": "keepdim"}


def rename(arguments: dict[str, Any]) -> None:
    """Give keyword arguments that have NumPy's names PyTorch's."""
    for given, meant in _MEANINGS.items():
        if given in arguments and meant not in arguments:
            arguments[meant] = arguments.pop(given)


def taking(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with NumPy's names for its parameters if it is among ``NAMES``."""
    if name not in NAMES:
        return function

    @functools.wraps(function)
    def renaming(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            rename(kwargs)
        return function(*args, **kwargs)

    renaming.plain = function  # type: ignore[attr-defined]
    return renaming


def plain(function: Callable[..., Any]) -> tuple[Callable[..., Any], bool]:
    """What :func:`taking` was given, and whether it wrapped it.

    For a wrapper that calls :func:`rename` itself: two wrappers cost two calls.
    """
    inner = function.__dict__.get("plain")
    return (function, False) if inner is None else (inner, True)
