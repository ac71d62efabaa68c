"""Constant operands of regions, and what engines made from their values.

A device array's contents never change: an update makes a new one, and one whose memory a run takes
over is never given to a later run. So a run that is given the very arrays that an earlier one was
given computes with the same values, as long as nobody outside can write to them; the address of
the memory would not do, since it is used again. Arrays are told apart before a run starts, by
weak references, and what was found out goes with the run, as one number for each region: 0, or
that of an engine made for those arrays. A region that finds no engine of the number runs as it
does without.

An engine for some arrays is made when two runs were given them, and ends when one of them does.
It is made beside the program, as that may take longer than a run; with the option ``reproducible``
the second run waits for it.
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
from ....counters import counters
from ....foreign import Foreign
from ....interrupts import Deferred, reraise_from_handler
from ....settings import reproducible, tuning
from .. import jax_compat
from .engines import Engine, failure, in_order

#: sets of arrays of a region that are told apart
SETS: Final = 4


class RegionSite(NamedTuple):
    """A call of a region with operands that may be bound.

    Attributes:
        key: of the region's engine.
        operands: those operands, as (number of the region's, number of the program's leaf).
    """

    key: int
    operands: tuple[tuple[int, int], ...]


#: engines' numbers: no two of a process are equal, and hardly one is that of a region
_tokens: Final = itertools.count(secrets.randbits(62) | 1)
_lock: Final = threading.RLock()


class _Arrays:
    """Arrays that a run was given, as long as all of them live.

    Attributes:
        ids: of the arrays; they are theirs while :attr:`lives`.
        made: an engine for them was tried, or is being made.
        pending: it is being made.
        nbytes: of the arrays.
    """

    __slots__ = ("ids", "made", "pending", "nbytes", "_state", "_references", "__weakref__")

    def __init__(self, arrays: Sequence[Any], ids: tuple[int, ...]) -> None:
        self.ids: Final = ids
        self.made = False
        self.pending = False
        self.nbytes: Final = sum(int(x.nbytes) for x in arrays)
        # what ends with the first of the arrays: the engine, and its number as the run takes it
        state: list[Any] = [None, None]
        self._state: Final = state
        ended = _ending(state)
        self._references: Final = [weakref.ref(x, ended) for x in arrays]

    @property
    def lives(self) -> bool:
        return bool(self._state)

    @property
    def token(self) -> Any:
        """The number of the engine, a device array; None where there is none."""
        state = self._state
        try:
            return state[1]
        except IndexError:
            return None

    def bind(self, engine: Any, token: Any) -> None:
        """Have an engine for them."""
        if self._state:
            self._state[:] = [engine, token]

    def unbind(self) -> None:
        """Let the engine go, and one that is being made."""
        self.pending = False
        self.bind(None, None)


def _ending(state: list[Any]) -> Callable[[Any], None]:
    def ended(reference: Any) -> None:
        state.clear()

    return ended


#: those with engines, the one that was bound first in front
_bound: Final[list[weakref.ref[_Arrays]]] = []


def _make_room(arrays: _Arrays) -> bool:
    """Whether an engine for some arrays may be made; those that were bound first lose theirs."""
    known = [found for reference in _bound if (found := reference()) is not None
             and (found.pending or found.token is not None)]
    size = arrays.nbytes
    if size > tuning.constants_kept:
        return False
    total = size + sum(found.nbytes for found in known)
    while total > tuning.constants_kept:
        oldest = known.pop(0)
        oldest.unbind()
        total -= oldest.nbytes
    _bound[:] = [weakref.ref(found) for found in (*known, arrays)]
    return True


class Constants:
    """What a program's runs take beside their arguments: the number of each site."""

    __slots__ = ("sites", "engines", "_sets", "_failed", "_none")

    def __init__(self, sites: Sequence[RegionSite], engines: Sequence[Engine]) -> None:
        self.sites: Final = tuple(sites)
        self.engines: Final = {engine.called.key: engine for engine in engines}
        self._sets: Final[list[list[_Arrays]]] = [[] for _ in sites]
        self._failed: Final[set[int]] = set()
        self._none: Any = None

    def __call__(self, arguments: list[Any], private: list[bool] | None) -> list[Any]:
        """The numbers, device arrays, for a run with those arguments."""
        if self._none is None:
            self._none = jax_compat.upload(np.array(0, np.int64))
        found = []
        for number, site in enumerate(self.sites):
            token = None
            if private is not None and number not in self._failed and all(
                private[leaf] for _, leaf in site.operands
            ):
                token = self._token(number, [arguments[leaf] for _, leaf in site.operands])
            found.append(self._none if token is None else token)
        return found

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
        """Make an engine for arrays that a run was given before; what fails is told of once."""
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
            return  # what made them failed; whoever reads a result is told
        each.made = each.pending = True
        if reproducible():
            self._make(number, each, values)
            return
        # a later run may write over the arrays meanwhile
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
            with Foreign(f"the code generator {called.generator.name!r}, which binds constants,"):
                code = called.generator.bound(called.region, values)
            made = engine.other(code, token)
            if each.pending:
                each.bind(made, jax_compat.upload(np.array(token, np.int64)))
                counters["constants_bound"] += len(values)
        except Exception as error:
            reraise_from_handler(error)
            self._failed.add(number)
            failed(failure(called, "bind", error), f"constants of {called.key}")
        each.pending = False


@functools.cache
def _beside() -> ThreadPoolExecutor:
    """What binds constants beside the program, which runs without meanwhile."""
    return ThreadPoolExecutor(1, "lazyloom-binding")
