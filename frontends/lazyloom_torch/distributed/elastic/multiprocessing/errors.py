"""``torch.distributed.elastic.multiprocessing.errors``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .... import _absent
from ...._absent_names import ALONE

_Function = TypeVar("_Function", bound=Callable[..., Any])


def record(fn: _Function, error_handler: Any = None) -> _Function:
    """The function as it is: the launcher says which process failed, and its last lines."""
    return fn


__getattr__ = _absent.missing(__name__, reason=ALONE)
