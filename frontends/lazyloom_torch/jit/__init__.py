"""``torch.jit``: what programs ask of it. Everything is compiled anyway, so nothing is scripted."""

from __future__ import annotations

from typing import Any
from typing import Final as Final

from .. import _absent
from .._settings import compile as _compile


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """The module or function itself. TypeError for what cannot be called."""
    return _compile(obj)


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The module or function itself; the examples are not needed."""
    return _compile(func)


def _same(fn: Any) -> Any:
    return fn


def unused(fn: Any) -> Any:
    """The function itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself, also as a decorator with arguments."""
    return drop if callable(drop) else _same


export = script_if_tracing = _script_if_tracing = unused


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False."""
    return False

#: loaded when they are first used, or imported by name
_LAZY_MODULES = ("annotations",)

__getattr__ = _absent.missing(__name__)
