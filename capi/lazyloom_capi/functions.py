"""Functions of the caller's, as functions of tensors."""

from __future__ import annotations

from typing import Any, Final

from _lazyloom_abi import ffi  # type: ignore[import-not-found]

import lazyloom
from lazyloom.errors import HandleError

from . import handles
from .serving import CallerFailedError, give, own, value_of

#: ``since`` of a function that is recorded once, whose inputs are its own
OF_INPUTS: Final = -1


class GivenFunction:
    """A function of the caller's as one of tensors.

    Args:
        name: the parameter that it was given as, for messages.
        of: the exported function that it was given to.
        call, function: what calls it, and what that calls.
        let_go: releases handles.
        results: how many tensors it gives.
        since: the newest node that is not the function's own, to whose tensors it must not write
            because it is recorded once; None for a function that runs on data.
    """

    #: messages say no place: what Python knows is not the caller's
    __code__ = None

    def __init__(
        self, name: str, of: str, call: Any, function: Any, let_go: Any, results: int,
        since: int | None = None,
    ) -> None:  # fmt: skip
        self.__name__ = name
        self._of, self._call, self._function = of, call, function
        self._let_go, self._results, self._since = let_go, results, since

    def of_each(self, *tensors: lazyloom.Tensor) -> list[lazyloom.Tensor]:
        """Call it with each tensor as an argument."""
        return self(list(tensors))

    def _output(self, position: int) -> str:
        return f"{self._of}: output {position} of function {self.__name__}"

    def __call__(self, tensors: list[lazyloom.Tensor]) -> list[lazyloom.Tensor]:
        return [t for t in self.called(tensors, False) if t is not None]

    def called(
        self, tensors: list[lazyloom.Tensor], absent: bool
    ) -> list[lazyloom.Tensor | None]:
        """Call it; with ``absent`` a null handle among the outputs is None, else HandleError."""
        count = self._results
        inputs = [give(t.value) for t in tensors]
        before = getattr(own, "since", None)
        if self._since is not None:
            own.since = self._since if self._since != OF_INPUTS else min(
                [lazyloom.last_sequence(), *(t.value.node.seq - 1 for t in tensors)])
        outputs = ffi.new("uint64_t[]", max(count, 1))
        given: list[int] = []
        handles.apart(1)
        try:
            status = self._call(
                self._function, ffi.new("uint64_t[]", inputs or [0]), len(inputs), outputs, count)
            given = list(ffi.unpack(outputs, count)) if count else []
            if status:
                raise CallerFailedError(status)
            for i, bits in enumerate(given):
                if not bits and not absent:
                    raise HandleError(
                        f"{self._output(i)} is the null handle, expected a tensor")
            return [
                lazyloom.Tensor(value_of(bits, self._output(i))) if bits else None
                for i, bits in enumerate(given)]
        finally:
            handles.apart(-1)
            own.since = before
            # an input that was given back once has no owner but that of the input
            used = [*inputs, *filter(None, given)]
            for bits in set(inputs).intersection(given):
                used.remove(bits)
            if used:
                self._let_go(ffi.new("uint64_t[]", used), len(used))
