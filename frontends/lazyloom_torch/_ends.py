"""What is called when an optimizer's step, or a backward pass, has been recorded.

Work that several processes share is handed over at such places: see ``_processes/pending.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ._leaf import Leaf

#: called after each step of an optimizer
after_step: list[Callable[[], None]] = []
#: called where a part of a forward pass begins that is computed again in the backward pass: each
#: gives a function whose context that is computed in
again: list[Callable[[], Callable[[], Any]]] = []
#: called after each backward pass with the leaves to which it has brought gradients
after_pass: list[Callable[[list[Leaf]], None]] = []


class _Passes(threading.local):
    """The backward pass that this thread is in the middle of.

    Attributes:
        leaves: those to which gradients came; None outside a pass. A pass within a pass, as
            checkpoints have them, is a part of it.
    """

    leaves: list[Leaf] | None = None


_passes = _Passes()


def note(leaves: Iterable[Leaf | None]) -> None:
    """Gradients were brought to these leaves."""
    if _passes.leaves is not None:
        _passes.leaves += [leaf for leaf in leaves if leaf is not None]


@contextmanager
def one_pass() -> Iterator[None]:
    """A backward pass, at whose end ``after_pass`` is called."""
    if _passes.leaves is not None:
        yield
        return
    leaves: list[Leaf] = []
    _passes.leaves = leaves
    try:
        yield
    finally:
        _passes.leaves = None
    for called in tuple(after_pass):
        called(leaves)
