"""Bit generators: a key and a counter, from which each draw gets a key of its own.

The bits are Threefry's under every name. A key is folded with the counter by a recorded op
and the counter is a run-time parameter, so drawing in a loop is the same program each time,
and nothing is read, neither to draw nor to save the state.
"""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as onp
from numpy.random import SeedSequence

import lazyloom
from lazyloom.frontend import loop_steps, note_draw

from .._arguments import dtypes as dt
from .._array.ndarray import ndarray, wrap

#: the first draw's number: 0 and 1 would be part of a program's structure
_FIRST: Final = 2
_LAST: Final = 2**32 - 1


def seed_sequence(seed: Any) -> Any:
    """A SeedSequence from None, ints, a SeedSequence, or an array of ours (which is read)."""
    if isinstance(seed, ndarray):
        seed = seed.read() if seed.shape else int(seed)
    return seed if hasattr(seed, "generate_state") else SeedSequence(seed)


class BitGenerator:
    """A source of random bits (Threefry-2x32). See ``numpy.random.BitGenerator``.

    Args:
        seed: None for fresh entropy, an int, a sequence of ints, or a SeedSequence.

    NumPy's names (``PCG64``, ``MT19937``, ...) are classes of this kind that differ in nothing
    but their name. Drawing from one by several threads is safe: each draw has its own number.
    """

    def __init__(self, seed: Any = None) -> None:
        self.lock = threading.RLock()
        self.seed(seed_sequence(seed))

    def seed(self, sequence: Any) -> None:
        """Start again from a SeedSequence."""
        with self.lock:
            self._seed_seq = sequence
            self._start(sequence.generate_state(2, onp.uint32), _FIRST)

    def _start(self, words: Any, counter: int) -> None:
        with self.lock:
            self._words = onp.array(words, onp.uint32)
            self._key = lazyloom.from_host(self._words)
            self._counter = counter

    def next_key(self) -> Any:
        """The key of one draw: a pending Value, uint32[2]."""
        with self.lock:
            if self._counter >= _LAST:
                following = SeedSequence([*self._words.tolist(), self._counter])
                self._start(following.generate_state(2, onp.uint32), _FIRST)
            key, number = self._key, self._counter
            self._counter += 1
        key = lazyloom.record("random_fold_in", (key, dt.scalar(number, dt.INT64)))
        note_draw(self, key, self.advance_by)
        for step in loop_steps():
            key = lazyloom.record("random_fold_in", (key, step))
        return key

    def following_key(self) -> Any:
        """What the next draw's number is folded into."""
        return self._key

    def following_number(self) -> int:
        """The number of the next draw."""
        return int(self._counter)

    def advance_by(self, draws: int) -> int:
        """Let so many draws pass; the number of the first."""
        with self.lock:
            number: int = self._counter
            self._counter += draws
        return number

    @property
    def seed_seq(self) -> Any:
        return self._seed_seq

    @property
    def state(self) -> dict[str, Any]:
        """The name, the key (two words) and the number of the next draw."""
        with self.lock:
            return {"bit_generator": type(self).__name__,
                    "state": {"key": self._words.copy(), "counter": self._counter}}

    @state.setter
    def state(self, value: Any) -> None:
        if not isinstance(value, dict):
            raise TypeError("state must be a dict")
        if value.get("bit_generator") != type(self).__name__:
            raise ValueError(f"state must be for a {type(self).__name__} bit generator")
        words = onp.asarray(value["state"]["key"])
        if words.shape != (2,):
            raise ValueError(f"state: the key has shape {words.shape}, expected two words")
        self._start(words, int(value["state"]["counter"]))

    def spawn(self, n_children: int) -> list[BitGenerator]:
        """Bit generators whose streams are independent of this one's."""
        if not hasattr(self._seed_seq, "spawn"):
            raise TypeError("The underlying SeedSequence does not implement spawning.")
        return [type(self)(child) for child in self._seed_seq.spawn(n_children)]

    def jumped(self, jumps: int = 1) -> BitGenerator:
        """A bit generator that is as if very many numbers had been drawn."""
        with self.lock:
            words, counter = self._words, self._counter
        made = type(self)(self._seed_seq)
        following = SeedSequence([*words.tolist(), _LAST, int(jumps)])
        made._start(following.generate_state(2, onp.uint32), counter)
        return made

    def random_raw(self, size: Any = None, output: bool = True) -> Any:
        """Random ``uint64``; None without ``output``."""
        shape = () if size is None else dt.shape_tuple(size)
        attributes = {"shape": shape, "dtype": dt.internal(onp.uint64)}
        bits = lazyloom.source("random_bits", (self.next_key(),), attributes)
        return wrap(bits) if output else None

    def __getstate__(self) -> Any:
        return self.state, self._seed_seq

    def __setstate__(self, state: Any) -> None:
        self.lock = threading.RLock()
        self.state, self._seed_seq = state


class Threefry(BitGenerator):
    """The bit generator of :func:`default_rng`."""


class MT19937(BitGenerator):
    """Stands for ``numpy.random.MT19937``; its bits are Threefry's."""


class PCG64(BitGenerator):
    """Stands for ``numpy.random.PCG64``; its bits are Threefry's."""


class PCG64DXSM(BitGenerator):
    """Stands for ``numpy.random.PCG64DXSM``; its bits are Threefry's."""


class Philox(BitGenerator):
    """Stands for ``numpy.random.Philox``; its bits are Threefry's."""


class SFC64(BitGenerator):
    """Stands for ``numpy.random.SFC64``; its bits are Threefry's."""
