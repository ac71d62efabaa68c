"""Generators of random numbers, and draws from them as values.

A generator's state is its seed and the number of the next draw, both on the host: there is
nothing that a program could take, or leave behind as a failure. A draw folds the number, a
run-time parameter, into the seed's key, so a traced step that draws is the same program each
time, and equal seeds give equal numbers (not PyTorch's numbers).
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

import lazyloom
from lazyloom.dtypes import int64
from lazyloom.frontend import loop_steps, note_draw

from . import _dtypes
from ._core import check_shape, record, record_number, scalar, spec
from ._tensor import Tensor

_DEFAULT_SEED = 67280421310721
#: what every draw records
_FOLD = spec("random_fold_in", 2)
#: the first draw's number: 0 and 1 would be part of a program's structure
_FIRST = 2


#: (thread, mode, number of the element) of each function that vmap maps now, innermost last
_mappings: list[tuple[int, str, Any]] = []


@contextlib.contextmanager
def mapped_draws(mode: str, number: Any) -> Iterator[None]:
    """What draws do while vmap runs a function: ``error``, ``same`` or ``different``.

    ``number`` is a Value that tells the elements apart.
    """
    entry = (threading.get_ident(), mode, number)
    _mappings.append(entry)
    try:
        yield
    finally:
        _mappings.remove(entry)


def _of_element(key: Any) -> Any:
    """The key to draw with inside mapped functions of this thread."""
    here = threading.get_ident()
    for thread, mode, number in _mappings:
        if thread != here:
            continue
        if mode == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use "
                "the 'same' or 'different' randomness flags on vmap or perform the randomness "
                "operation out of vmap")
        if mode == "different":
            key = record("random_fold_in", [key, number])
    return key


class Generator:
    """A source of random numbers with a state of its own."""

    def __init__(self, device: Any = "cpu") -> None:
        _dtypes.check_device(device)
        self.device = _dtypes.device(device)
        self._lock = threading.RLock()  # a signal's handler may draw while it is held
        self._seed = _DEFAULT_SEED
        self._number = _FIRST
        #: the key of the draws whose numbers have the same upper half, and that half
        self._key: Any = None
        self._upper = 0

    def manual_seed(self, seed: int) -> Generator:
        """Start again from a seed of 64 bits; a negative one counts from ``2**64`` down.

        Raises ValueError for one of more bits.
        """
        number = int(seed)
        if not -(1 << 63) <= number < 1 << 64:
            raise ValueError(f"Overflow: the seed {number} has more than 64 bits")
        return self._place(number % (1 << 64), _FIRST)

    def _place(self, seed: int, number: int) -> Generator:
        """Go on from the draw with a number."""
        with self._lock:
            self._seed, self._number, self._key = seed, number, None
        return self

    def _return(self, seed: int, number: int) -> None:
        """Go back, or on, to a state: its draws are those of then, by the key of then."""
        with self._lock:
            if self._seed == seed:
                self._number = number
                return
        self._place(seed, number)

    def _state(self) -> tuple[int, int]:
        """What :meth:`_place` takes."""
        with self._lock:
            return self._seed, self._number

    def seed(self) -> int:
        """Start from a seed that the operating system gives; returns it."""
        self.manual_seed(secrets.randbits(53))
        return self._seed

    def initial_seed(self) -> int:
        """The seed last set."""
        return self._seed

    def draw(self) -> Any:
        """A fresh key; the state moves on, whatever becomes of what is drawn with it."""
        with self._lock:
            key = self._key_of(self._number)
            number = self._number
            self._number = number + 1
        key = record_number(_FOLD, key, scalar(number & 0xFFFFFFFF, int64))
        note_draw(self, key, self.advance)
        for step in loop_steps():
            key = record("random_fold_in", [key, step])
        return _of_element(key) if _mappings else key

    def _key_of(self, number: int) -> Any:
        """The key that draws of that number fold it into; the caller holds the lock."""
        upper = number >> 32
        key = self._key
        if key is None or upper != self._upper:
            words: Any = np.array([self._seed >> 32, self._seed & 0xFFFFFFFF], np.uint32)
            if upper:
                words = np.random.SeedSequence([*words.tolist(), upper]).generate_state(2)
            self._key = key = lazyloom.from_host(words)
            self._upper = upper
        return key

    def next_key(self) -> Any:
        """The key of the next draw, which is not drawn."""
        with self._lock:
            return self._key_of(self._number)

    def next_number(self) -> int:
        """The number of the next draw."""
        return self._number

    def advance(self, draws: int) -> int:
        """Let so many draws pass; the number of the first."""
        with self._lock:
            number = self._number
            self._number = number + draws
        return number

    def get_state(self) -> Tensor:
        """The state: 8 bytes of seed and 8 of the next draw's number, uint8."""
        return Tensor.from_value(
            lazyloom.from_host(np.array(self._state(), np.uint64).view(np.uint8)))

    def set_state(self, state: Tensor) -> Generator:
        """Go on from what :meth:`get_state` gave. Raises RuntimeError for anything else."""
        if not isinstance(state, Tensor) or state.dtype is not _dtypes.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        data = state.read()
        if data.shape != (16,):
            raise RuntimeError(f"a generator's state is uint8[16], not {state.dtype!r}{data.shape}")
        seed, number = data.view(np.uint64).tolist()
        return self._place(seed, number)

    def clone_state(self) -> Generator:
        """Another generator that goes on from here."""
        return Generator(self.device)._place(*self._state())

    def __deepcopy__(self, memo: dict[int, Any]) -> Generator:
        return self.clone_state()

    def __reduce__(self) -> Any:
        return _restored, (*self._state(), str(self.device))


def _restored(seed: int, number: int, device: str = "cpu") -> Generator:
    return Generator(device)._place(seed, number)


default_generator = Generator()
_dtypes.generators.append(default_generator)


def drawn(
    op: str, operands: list[Any], attributes: dict[str, Any], generator: Generator | None = None,
    *, step: bool = False,
) -> Any:
    """A Value drawn by a random op whose first operand is a fresh key."""
    key = (generator or default_generator).draw()
    value = record(op, [key, *operands], attributes)
    return value if step else lazyloom.boundary(value)


def uniform_value(
    shape: tuple[int, ...], low: float, high: float, kind: Any, generator: Any = None
) -> Any:
    """A Value uniform on [low, high), both parts of a complex one."""
    if kind.is_complex:
        return record("complex", [
            uniform_value(shape, low, high, kind.real, generator) for _ in range(2)])
    return drawn("random_uniform", [scalar(float(low), kind), scalar(float(high), kind)],
                 {"shape": check_shape(shape)}, generator)


def normal_value(
    shape: tuple[int, ...], mean: float, std: float, kind: Any, generator: Any = None
) -> Any:
    """A normally distributed Value."""
    return drawn("random_normal", [scalar(float(mean), kind), scalar(float(std), kind)],
                 {"shape": check_shape(shape), "dtype": kind}, generator)
