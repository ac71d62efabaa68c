"""What a program computed, and how long each of its samples took."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


def resident_bytes() -> int:
    """Memory of this process that is in use now; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@dataclass
class Epoch:
    """One pass over the samples.

    Attributes:
        seconds: of each sample, until its value was in the host's hands.
        values: what each sample gave: a loss, or a few numbers of its result.
        resident: bytes that the process used when the epoch began.
    """

    seconds: list[float] = field(default_factory=list)
    values: list[list[float]] = field(default_factory=list)
    resident: int = field(default_factory=resident_bytes)


class Progress:
    """Filled by a program while it runs, so that one that is ended early has told what it did.

    A program calls :meth:`begin` when model and data are made, :meth:`sample` with every value
    that it has read, and :meth:`next_epoch` between passes.
    """

    def __init__(self) -> None:
        self.created = time.perf_counter()
        self.setup: float | None = None
        self.epochs: list[Epoch] = []
        self._last = self.created

    def begin(self) -> None:
        """Model and data are there; the first sample begins now."""
        self.setup = time.perf_counter() - self.created
        self.next_epoch()

    def next_epoch(self) -> None:
        """The next pass begins now."""
        self.epochs.append(Epoch())
        self._last = time.perf_counter()

    def sample(self, value: float | Iterable[float]) -> None:
        """A sample ended with that value, which is already a number of the host's."""
        now = time.perf_counter()
        numbers = [float(v) for v in value] if isinstance(value, Iterable) else [float(value)]
        self.epochs[-1].seconds.append(now - self._last)
        self.epochs[-1].values.append(numbers)
        self._last = time.perf_counter()

    def waiting(self) -> float:
        """Seconds since the last sample ended."""
        return time.perf_counter() - self._last

    def summary(self) -> dict[str, Any]:
        """Seconds of setup, of each epoch and of the longest sample, with what was computed.

        ``grown`` is by how many bytes the process grew in each epoch.
        """
        resident = [e.resident for e in self.epochs] + [resident_bytes()]
        return {
            "setup": self.setup,
            "epochs": [sum(e.seconds) for e in self.epochs],
            "samples": [len(e.seconds) for e in self.epochs],
            "longest": [max(e.seconds, default=0.0) for e in self.epochs],
            "grown": [after - before for before, after in zip(resident, resident[1:])],
            "seconds": [e.seconds for e in self.epochs],
            "values": [e.values for e in self.epochs],
        }
