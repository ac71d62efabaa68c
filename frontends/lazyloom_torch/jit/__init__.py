"""``torch.jit``: what programs ask of it. Everything is compiled anyway, so nothing is scripted."""

from __future__ import annotations

from builtins import isinstance as _isinstance
from contextlib import nullcontext
from typing import Any
from typing import Final as Final

from lazyloom.errors import type_name as _type_name

from .. import _absent


def _callable(obj: Any) -> Any:
    if not callable(obj):
        raise TypeError(f"torch.jit takes a module or function, not {_type_name(obj)}")
    return obj


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """The module or function itself. TypeError for what cannot be called."""
    return _callable(obj)


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The module or function itself; the examples are not needed."""
    return _callable(func)


def _same(fn: Any) -> Any:
    return fn


def unused(fn: Any) -> Any:
    """The function itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself, also as a decorator with arguments."""
    return drop if callable(drop) else _same


export = script_if_tracing = _script_if_tracing = interface = unused
_overload = _overload_method = unused


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:  # noqa: A001
    """Python's."""
    return _isinstance(obj, target_type)


def set_fusion_strategy(strategy: Any) -> None:
    """Nothing: XLA fuses as it does."""


class strict_fusion(nullcontext[None]):  # noqa: N801
    """Nothing: XLA fuses as it does."""


def is_scripting() -> bool:
    """False."""
    return False


def is_tracing() -> bool:
    """False."""
    return False


__getattr__ = _absent.missing(__name__)

# in the place of what the first line of this module put there
from . import annotations as annotations  # type: ignore[assignment]  # noqa: E402, F811
