"""Where new tensors are: on the device that a call names, or on the thread's default one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

import lazyloom
from lazyloom import Value
from lazyloom.frontend import make_on

from . import _dtypes
from ._dtypes import CPU, device, placed_on


class _Thread(threading.local):
    """Devices of ``with`` blocks that this thread is in, and below them the default one."""

    def __init__(self) -> None:
        self.default: device | None = None
        self.entered: list[device] = []
        #: where the default generator was before each block of "meta", the innermost last
        self.before_meta: list[tuple[int, int]] = []


_thread = _Thread()
#: not empty once a thread has chosen a device: until then nobody looks for it
chosen: list[None] = []


def current() -> device | None:
    """The device of new tensors that name none; None where nobody has chosen one."""
    return _thread.entered[-1] if _thread.entered else _thread.default


def set_default_device(device: Any) -> None:
    """Make new tensors of this thread on a device, those that name one apart; None: the CPU.

    Raises RuntimeError for a device that is not there.
    """
    _dtypes.check_device(device)
    _thread.default = None if device is None else _dtypes.device(device)
    chosen[:] = [None]


def get_default_device() -> device:
    """The device of new tensors of this thread."""
    return current() or CPU


def _enter(self: device) -> device:
    """New tensors are here; where that is "meta", random numbers are drawn again after it.

    What is recorded is computed when it is needed, so a model can be made on "meta" without
    memory or time for parameters that are replaced before they are used.
    """
    _dtypes.check_device(self)
    if self.type == "meta":
        _thread.before_meta.append(_dtypes.generators[0]._state())
    _thread.entered.append(self)
    chosen[:] = [None]
    return self


def _exit(self: device, *exc: object) -> None:
    _thread.entered.pop()
    if self.type == "meta":
        _dtypes.generators[0]._place(*_thread.before_meta.pop())


device.__enter__, device.__exit__ = _enter, _exit  # type: ignore[method-assign]


def put(value: Value, given: Any) -> Value:
    """A new value on the device given, or on this thread's default one where that is None."""
    if given is None:
        given = current()
        if given is None:
            return value
    if given is CPU and value.type.placement.is_default:
        return value
    return make_on(value, placed_on(given))


def put_beside(value: Value, x: lazyloom.Tensor) -> Value:
    """A new value on the device of a tensor; itself where that is divided over several."""
    placement = x.tensor_type.placement
    if placement.is_default or placement.mesh is not None:
        return value
    return make_on(value, placement.device)


def beside(x: Any, options: dict[str, Any]) -> None:
    """Enter the device of a tensor into options that name none."""
    if options.get("device") is None:
        options["device"] = x.device


def on(given: Any) -> AbstractContextManager[Any]:
    """A ``with`` block whose new tensors are on a device; where None is given they stay."""
    if given is None:
        return _Here()
    return _dtypes.device(given)


class _Here(AbstractContextManager[None]):
    """A ``with`` block that changes nothing."""

    def __exit__(self, *exc: object) -> None:
        return None


def placed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with a parameter ``device``, given by name, that makes its tensors there."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        given = kwargs.pop("device", None)
        if given is None:
            return function(*args, **kwargs)
        with on(given):
            return function(*args, **kwargs)

    return wrapper
