"""``torch._dynamo``: settings of a compiler that is not here, which libraries make."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

from .. import _absent
from .._absent_names import MODULES
from ..compiler import (  # noqa: F401
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
    substitute_in_graph,
)


class _Config(SimpleNamespace):
    """Settings: assignments are kept, and change nothing."""

    def patch(self, *args: Any, **changes: Any) -> AbstractContextManager[None]:
        """Other values inside a ``with``: nothing."""
        return nullcontext()


config = _Config(suppress_errors=False, verbose=False, cache_size_limit=8, disable=True,
                 capture_scalar_outputs=False, capture_dynamic_output_shape_ops=False)


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that gives the function itself."""
    return lambda f: f


def is_dynamo_supported() -> bool:
    """False."""
    return False


def mark_dynamic(*args: Any, **kwargs: Any) -> None:
    """Nothing: shapes are part of a program."""


mark_static = mark_static_address = maybe_mark_dynamic = mark_unbacked = graph_break = mark_dynamic
disallow_in_graph = forbid_in_graph = allow_in_graph

__getattr__ = _absent.missing(__name__, reason=MODULES["_dynamo"])
