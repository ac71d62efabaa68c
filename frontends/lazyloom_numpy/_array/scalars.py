"""What makes a 0-d result pass for the scalar that NumPy returns in its place.

A result stays pending, so that it is an array of ours. By ``__class__`` it says that it is an
instance of NumPy's scalar type: ``isinstance(s, float)`` is asked that way, and so are the abstract
classes of ``numbers``. Python code that asks goes on by duck typing, which works. C code does not
ask, it looks at the type itself: what it takes is known by the slots for ``float`` and ``int``.
"""

from __future__ import annotations

from typing import Any

import numpy as onp


def attribute(x: Any, name: str) -> Any:
    """What NumPy's scalar has and arrays do not, such as ``is_integer``; its methods read."""
    if name.startswith("_"):  # the slot of an array that is no view, mostly
        raise AttributeError(name)
    kind = x.tensor_type.dtype.numpy.type
    if not hasattr(kind, name):
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
    if not callable(getattr(kind, name)):
        return getattr(x.read()[()], name)

    def method(*args: Any, **kwargs: Any) -> Any:
        return getattr(x.read()[()], name)(*args, **kwargs)

    method.__name__ = name
    return method


def host_number(given: Any) -> Any:
    """What a scalar is made of: a number that NumPy knows, or a float of another one."""
    found = onp.asarray(given)
    if found.dtype == object:
        found = onp.asarray(float(given))
    if found.shape:
        raise TypeError(
            f"a scalar was made of an array of shape {found.shape}, expected one number")
    return found


class NoLength(AttributeError, TypeError):
    """Scalars have no length: for who asks by ``hasattr``, and for who asks by ``len``."""


class Missing:
    """An attribute that arrays have and scalars do not."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        raise NoLength(self.text)
