"""Constant operands of regions, and the engines made from their values.

A device array's contents never change: an update makes a new one, and one whose memory a run takes
over is never given to a later run. So a run with the same array objects as an earlier one
computes with the same values, as long as nothing outside can write to them; the address of
the memory would not suffice, since it is reused. Arrays are identified before a run starts, by
weak references, and the result is passed to the run as one number for each region: 0, or
that of an engine made for those arrays. A region for whose number there is no engine runs without
one.

An engine for some arrays is made when two runs have taken them, and ends when one of them does.
It is made in parallel to the program, as that may take longer than a run; with the option
``reproducible`` the second run waits for it.
"""

from __future__ import annotations

import functools
import itertools
import secrets
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

import numpy as np

from ....codegen.faults import failed
from ....codegen.generator import Code
from ....codegen.passes import prepared
from ....counters import counters
from ....foreign import Foreign
from ....interrupts import Deferred, reraise_from_handler
from ....settings import reproducible, tuning
from .. import jax_compat
from .engines import Engine, failure, in_order
from .region_op import Called
from .time_limit import within

#: how many sets of arrays of a region are kept apart
SETS: Final = 4


class RegionSite(NamedTuple):
    """A call of a region with operands that may be bound.

    Attributes:
        key: the key of the region's engine.
        operands: those operands, as (operand number in the region, leaf number in the program).
    """

    key: int
    operands: tuple[tuple[int, int], ...]


#: numbers for engines: unique in a process, and almost certainly no region's number
_tokens: Final = itertools.count(secrets.randbits(62) | 1)
_lock: Final = threading.RLock()


class _Arrays:
    """The arrays of a run, valid as long as all of them live.

    Attributes:
        ids: the identities of the arrays, valid while :attr:`lives`.
        made: True if an engine for them was tried, or is being made.
        pending: True if it is being made.
        nbytes: the size of the arrays together.
    """

    __slots__ = ("ids", "made", "pending", "nbytes", "_state", "_references", "__weakref__")

    def __init__(self, arrays: Sequence[Any], ids: tuple[int, ...]) -> None:
        self.ids: Final = ids
        self.made = False
        self.pending = False
        self.nbytes: Final = sum(int(x.nbytes) for x in arrays)
        # ends with the first of the arrays: the engine, and its number as the run takes it
        state: list[Any] = [None, None]
        self._state: Final = state
        ended = _ending(state)
        self._references: Final = [weakref.ref(x, ended) for x in arrays]

    @property
    def lives(self) -> bool:
        return bool(self._state)

    @property
    def token(self) -> Any:
        """The number of the engine as a device array; None where there is none."""
        state = self._state
        try:
            return state[1]
        except IndexError:
            return None

    def bind(self, engine: Any, token: Any) -> None:
        """Set the engine for these arrays."""
        if self._state:
            self._state[:] = [engine, token]

    def unbind(self) -> None:
        """Release the engine, and one that is being made."""
        self.pending = False
        self.bind(None, None)


def _ending(state: list[Any]) -> Callable[[Any], None]:
    def ended(reference: Any) -> None:
        state.clear()

    return ended


#: arrays with engines, in the order in which they were bound
_bound: Final[list[weakref.ref[_Arrays]]] = []


def _make_room(arrays: _Arrays) -> bool:
    """Return True if an engine for some arrays may be made; the arrays bound first lose theirs."""
    others = [other for reference in _bound if (other := reference()) is not None
             and (other.pending or other.token is not None)]
    size = arrays.nbytes
    if size > tuning.constants_kept:
        return False
    total = size + sum(other.nbytes for other in others)
    while total > tuning.constants_kept:
        oldest = others.pop(0)
        oldest.unbind()
        total -= oldest.nbytes
    _bound[:] = [weakref.ref(other) for other in (*others, arrays)]
    return True


class Constants:
    """The further arguments of a program's runs: the number of each site."""

    __slots__ = ("sites", "engines", "_sets", "_failed", "_none")

    def __init__(self, sites: Sequence[RegionSite], engines: Sequence[Engine]) -> None:
        self.sites: Final = tuple(sites)
        self.engines: Final = {engine.called.key: engine for engine in engines}
        self._sets: Final[list[list[_Arrays]]] = [[] for _ in sites]
        self._failed: Final[set[int]] = set()
        self._none: Any = None

    def __call__(self, arguments: list[Any], private: list[bool] | None) -> list[Any]:
        """Return the numbers, as device arrays, for a run with some arguments."""
        if self._none is None:
            self._none = jax_compat.upload(np.array(0, np.int64))
        tokens = []
        for number, site in enumerate(self.sites):
            token = None
            if private is not None and number not in self._failed and all(
                private[leaf] for _, leaf in site.operands
            ):
                token = self._token(number, [arguments[leaf] for _, leaf in site.operands])
            tokens.append(self._none if token is None else token)
        return tokens

    def _token(self, number: int, arrays: list[Any]) -> Any:
        ids = tuple(map(id, arrays))
        for each in self._sets[number]:
            if each.ids == ids and each.lives:
                if not each.made:
                    with _lock:
                        if not each.made:
                            self._bind(number, each, arrays)
                return each.token
        alive = [each for each in self._sets[number] if each.lives]
        self._sets[number] = [_Arrays(arrays, ids), *alive][:SETS]
        return None

    def _bind(self, number: int, each: _Arrays, arrays: list[Any]) -> None:
        """Make an engine for arrays that an earlier run took; a failure is reported once."""
        site = self.sites[number]
        engine = self.engines[site.key]
        called = engine.called
        if not _make_room(each):
            each.made = True
            return
        try:
            layouts = called.region.layouts
            values = {k: in_order(jax_compat.host_view(array), layouts[k])
                      for (k, _), array in zip(site.operands, arrays, strict=True)}
        except Exception as error:
            reraise_from_handler(error)
            return  # computing them failed; a reader of a result gets the error
        each.made = each.pending = True
        if reproducible():
            self._make(number, each, values)
            return
        # a later run may overwrite the arrays meanwhile
        copies = {k: v.copy() for k, v in values.items()}
        for copy in copies.values():
            copy.flags.writeable = False
        try:
            with Deferred(True):
                _beside().submit(self._make, number, each, copies)
        except RuntimeError:
            # the process ends
            each.pending = False

    def _make(self, number: int, each: _Arrays, values: dict[int, Any]) -> None:
        engine = self.engines[self.sites[number].key]
        called = engine.called
        try:
            token = next(_tokens)
            code = within(tuning.build_seconds, functools.partial(_code_for, called, values))
            native = engine.other(code, token)
            if each.pending:
                each.bind(native, jax_compat.upload(np.array(token, np.int64)))
                counters["constants_bound"] += len(values)
        except Exception as error:
            reraise_from_handler(error)
            self._failed.add(number)
            failed(failure(called, "bind", error), f"constants of {called.key}")
        each.pending = False


def _code_for(called: Called, values: dict[int, Any]) -> Code:
    with Foreign(f"the code generator {called.generator.name!r}, which binds constants,"):
        region, known = prepared(called.generator, called.region, values)
        return called.generator.bound(region, known)


@functools.cache
def _beside() -> ThreadPoolExecutor:
    """Return the thread pool that binds constants while the program runs without them."""
    return ThreadPoolExecutor(1, "lazyloom-binding")
