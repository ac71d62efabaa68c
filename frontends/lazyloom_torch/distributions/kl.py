"""Kullback-Leibler divergences: which formula serves a pair of families."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from lazyloom_torch import Tensor

from .distribution import Distribution

Formula = Callable[[Any, Any], Tensor]
_registered: dict[tuple[type, type], Formula] = {}
_found: dict[tuple[type, type], Formula | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Enter the decorated function as the divergence of these classes and their subclasses.

    A class need not be one of :class:`Distribution`: libraries have bases of their own. Raises
    TypeError for what is no class.
    """
    for which, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(
                f"Expected {which} to be a Distribution subclass but got {kind}")

    def enter(function: Formula) -> Formula:
        _registered[type_p, type_q] = function
        _found.clear()
        return function

    return enter


def _formula(p: type, q: type) -> Formula | None:
    """The formula of the nearest classes; the classes of p decide where that is not one pair."""
    def distance(pair: tuple[type, type]) -> tuple[int, ...]:
        # a class that says itself what its subclasses are need not be a base of them
        return tuple(kind.__mro__.index(of) if of in kind.__mro__ else len(kind.__mro__)
                     for kind, of in zip((p, q), pair))

    fitting = [pair for pair in _registered if issubclass(p, pair[0]) and issubclass(q, pair[1])]
    if not fitting:
        return None
    left = min(fitting, key=distance)
    right = min(fitting, key=lambda pair: distance(pair)[::-1])
    if _registered[left] is not _registered[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({p.__name__}, {q.__name__}). Please "
            f"register_kl({left[0].__name__}, {right[1].__name__})", RuntimeWarning, stacklevel=3)
    return _registered[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """``E_p[log p - log q]``, of shape ``batch_shape``.

    Raises NotImplementedError for classes that no formula is registered for.
    """
    pair = type(p), type(q)
    if pair not in _found:
        _found[pair] = _formula(*pair)
    function = _found[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {pair[0].__name__} and q type "
            f"{pair[1].__name__}")
    return function(p, q)
