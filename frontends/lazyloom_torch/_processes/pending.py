"""Collectives that were recorded and not yet handed over.

A collective runs when every process of its group runs it. A process that reads nothing would record
on and run nothing, while another waits for it. So what was recorded with one in it is handed over
where all processes do so: after an optimizer's step, and before the next explicit collective.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import lazyloom
from lazyloom import Value

from .. import _ends
from .._tensor import Tensor
from . import calls


class _Pending:
    """Tensors whose pending work contains collectives."""

    def __init__(self) -> None:
        self._tensors: list[weakref.ref[Tensor]] = []
        self._lock = threading.Lock()
        self._hooked = False
        self._held = False
        self._noted = False
        self._first: str | None = None

    def note(self, value: Value) -> None:
        """A collective was recorded, whose result may be of no interest here.

        All that is pending is handed over after the next step of an optimizer. Where no gradients
        are recorded there may be none: then it is when the program comes to the same line again.
        """
        self._noted = True
        if lazyloom.grad_enabled() or self._held:
            return
        line = str(value.node.site)
        if self._first == line:
            self.hand_over()
        elif self._first is None:
            self._first = line

    def add(self, tensors: Iterable[Tensor]) -> None:
        """Hand over what computes these, no later than after the next optimizer's step."""
        with self._lock:
            self._tensors += [weakref.ref(t) for t in tensors]

    def hand_over(self) -> None:
        """Hand it over now."""
        if self._held or not (self._tensors or self._noted):
            return
        if self._noted:
            self.hand_over_all()
            return
        with self._lock:
            tensors, self._tensors = self._tensors, []
        for reference in tensors:
            tensor = reference()
            if tensor is not None:
                # the first of a step hands over the whole step
                if tensor.value.is_pending:
                    calls.dispatch(tensor.value)
                grad = tensor.grad if tensor._leaf is not None else None
                if grad is not None and grad.value.is_pending:
                    calls.dispatch(grad.value)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let steps of optimizers hand nothing over: more of the step follows."""
        before, self._held = self._held, True
        try:
            yield
        finally:
            self._held = before

    def hand_over_all(self) -> None:
        """Hand over all that is pending, before this process waits for others outside of XLA.

        They may wait for it: steps that were captured are not known here.
        """
        self._tensors.clear()
        self._noted, self._first = False, None
        if self._hooked:
            calls.dispatch()

    def watch(self) -> None:
        """Hand over after each step of an optimizer, and at the end of the program."""
        if not self._hooked:
            self._hooked = True
            _ends.after_step.append(self.hand_over)
            calls.dispatch_at_exit()


pending = _Pending()
