"""NumPy's assertions, for our arrays too: every function of ``numpy.testing``, which reads."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from numpy import testing as _testing
from numpy.testing import *  # noqa: F403

import lazyloom


def _on_host(given: Any) -> Any:
    if isinstance(given, lazyloom.Tensor):
        data = given.read()
        return data if given.tensor_type.shape else data[()]
    if type(given) in (list, tuple):
        return type(given)([_on_host(part) for part in given])
    if type(given) is dict:
        return {key: _on_host(part) for key, part in given.items()}
    return given


def _reading(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*_on_host(args), **_on_host(kwargs))

    return call


for _name in dir(_testing):
    _function = getattr(_testing, _name)
    # those that call what they are given hand its arguments on as they are
    if isinstance(_function, FunctionType) and _name.startswith("assert_") and not (
        _name.startswith(("assert_raises", "assert_warns", "assert_no"))
    ):
        globals()[_name] = _reading(_function)
