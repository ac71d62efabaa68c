"""Hooks on the gradients of several tensors, which are called once in each backward pass.

Which gradients a pass gives is known when it ends. So where all have come the hook is called with
the last of them, and otherwise at the end, with None for those that did not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._hooks import RemovableHandle
from .._tensor import Tensor
from ._hooks import register_hook


class _Passes(threading.local):
    """The passes that this thread is in the middle of: what their hooks have seen, innermost last.

    Attributes:
        entered: whether the innermost one is about to begin.
    """

    def __init__(self) -> None:
        self.seen: list[dict[_Hook, list[Tensor | None]]] = []
        self.entered = False


_passes = _Passes()
#: the hooks that were not removed; passes are noted only while there are any
registered: set[_Hook] = set()


def unnoted() -> bool:
    """Whether a pass that begins now is to be noted, by :func:`one_pass`."""
    entered, _passes.entered = _passes.entered, False
    return not entered


@contextmanager
def one_pass() -> Iterator[None]:
    """A backward pass; at its end the hooks are called that wait for more gradients."""
    seen: dict[_Hook, list[Tensor | None]] = {}
    _passes.seen.append(seen)
    _passes.entered = True
    try:
        yield
        for hook in tuple(seen):
            hook.end(seen[hook])
    finally:
        _passes.entered = False
        _passes.seen.pop()


class _Hook(RemovableHandle):
    """One such hook, and what removes it."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[..., Any], first: bool) -> None:
        super().__init__({})
        self._fn = fn
        self._first = first
        self._handles = [register_hook(t, self._of(i)) for i, t in enumerate(tensors)]
        registered.add(self)

    def _of(self, number: int) -> Callable[[Tensor], None]:
        return lambda gradient: self._arrived(number, gradient)

    def _arrived(self, number: int, gradient: Tensor) -> None:
        if not _passes.seen:
            return  # registered by a hook of the pass that is under way
        seen = _passes.seen[-1]
        found = seen.get(self)
        if self._first:
            if found is None:
                seen[self] = []
                self._fn(gradient)
            return
        if found is None:
            found = seen[self] = [None] * len(self._handles)
        found[number] = gradient
        if all(g is not None for g in found):
            seen[self] = []
            self._fn(found)

    def end(self, found: list[Tensor | None]) -> None:
        """The pass is over; ``found`` is empty where the hook was called."""
        if found:
            self._fn(found)

    def remove(self) -> None:
        registered.discard(self)
        while self._handles:
            self._handles.pop().remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all"
) -> RemovableHandle:
    """Call ``fn`` once in each backward pass, with the gradients of several tensors.

    With mode ``"all"`` with a list of them, None for those that the pass does not reach: as the
    last of them is known, or at the end of the pass where some are not. With ``"any"`` with the
    first gradient that is known. A pass that reaches none of the tensors does not call it.
    Raises RuntimeError for a tensor that requires no gradient, ValueError for another mode.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    return _Hook(tensors, fn, mode == "any")
