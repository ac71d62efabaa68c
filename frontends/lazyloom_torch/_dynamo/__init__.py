"""``torch._dynamo``: settings of a compiler that is not here, which libraries make."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import lazyloom

from .. import _absent
from .._absent_names import MODULES
from .._errors import as_torch
from ..compiler import (  # noqa: F401
    allow_in_graph,
    assume_constant_result,
    compile,
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


def optimize(*args: Any, nopython: bool = False, **kwargs: Any) -> Any:
    """A decorator that captures the calls of a function or module, as ``torch.compile`` does."""
    return compile(fullgraph=nopython, disable=bool(kwargs.get("disable")))


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """Why calls of a compiled function or module were recorded, as an object that prints itself.

    Of one that is not compiled, a function that takes arguments to call it with.
    """
    from .. import _captured  # it needs modules and optimizers

    return _captured.explain(f, *extra_args, **extra_kwargs)


def is_dynamo_supported() -> bool:
    """False."""
    return False


def mark_dynamic(
    t: Any, index: Any, *, hint_override: int | None = None, min: int | None = None,  # noqa: A002
    max: int | None = None, specialize_on: Any = None,  # noqa: A002
) -> None:  # fmt: skip
    """Say that a dimension of a tensor (or several) changes from call to call.

    What differs in it alone runs as one padded program from its second extent on; see
    :func:`lazyloom.mark_dynamic`. The hint and ``specialize_on`` change nothing.

    Args:
        t: a tensor, or a subclass's. What it is computed from is computed first.
        index: the dimension, or a list or tuple of them.
        min: the smallest extent, None if it is not known.
        max: the largest extent; one program then serves all.

    Raises:
        RuntimeError: there is no such dimension, or its extent is not within the bounds.
    """
    for each in index if isinstance(index, (list, tuple)) else [index]:
        try:
            lazyloom.mark_dynamic(t.value, each, min=min, max=max)
        except lazyloom.LoomError as error:
            raise as_torch(error) from None


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """:func:`mark_dynamic` without bounds."""
    mark_dynamic(t, index)


def mark_static(t: Any, index: Any = None) -> None:
    """Say that a dimension of a tensor (or several; None: all) is part of programs.

    See :func:`lazyloom.mark_static`. Of a class of modules, which PyTorch also takes, it says
    nothing. Raises RuntimeError where there is no such dimension.
    """
    if isinstance(t, type):
        return
    for each in index if isinstance(index, (list, tuple)) else [index]:
        try:
            lazyloom.mark_static(t.value, each)
        except lazyloom.LoomError as error:
            raise as_torch(error) from None


def mark_unbacked(*args: Any, **kwargs: Any) -> None:
    """Nothing: no value of an extent is left open while a program is recorded."""


def mark_static_address(*args: Any, **kwargs: Any) -> None:
    """Nothing: programs depend on no address."""


def graph_break(*args: Any, **kwargs: Any) -> None:
    """Nothing: what is pending runs when a value is needed."""


disallow_in_graph = forbid_in_graph = allow_in_graph

__getattr__ = _absent.missing(__name__, reason=MODULES["_dynamo"])
