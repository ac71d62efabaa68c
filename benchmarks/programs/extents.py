"""One tiny expression whose number changes at every step: a new shape or constant each time.

``what`` is "mask" (a boolean selection with a new count), "slice" (``x[:n]``), "roll"
(``roll(x, i)``), "pad" (``pad(x, (0, i))``) or "power" (``x ** i``). The first epoch does so
many values, the second so many more that were never seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .progress import Progress

KIND = "torch"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"what": "mask", "values": 4, "more": 3},
    "full": {"what": "mask", "values": 300, "more": 1000},
}
ELEMENTS = 2000


def expressions(torch: Any) -> dict[str, Callable[[Any, int], Any]]:
    """By name: a function of x, which rises evenly from 0.9 to 1, and the number."""
    return {
        # the first n elements are below the threshold
        "mask": lambda x, n: x[x < 0.9 + 0.1 * (n - 0.5) / (ELEMENTS - 1)] * 2.0,
        "slice": lambda x, n: x[:n] * 2.0,
        "roll": lambda x, n: torch.roll(x, n) * x,
        "pad": lambda x, n: torch.nn.functional.pad(x, (0, n), value=0.5) * 2.0,
        "power": lambda x, n: x**n,
    }


def run(torch: Any, progress: Progress, what: str, values: int, more: int) -> None:
    """The sum of each result is read."""
    known = expressions(torch)
    if what not in known:
        raise ValueError(f"what is {what!r}, expected one of {', '.join(known)}")
    expression = known[what]
    x = torch.from_numpy(numpy.linspace(0.9, 1.0, ELEMENTS, dtype=numpy.float32))
    progress.begin()
    for epoch, numbers in enumerate((range(1, values + 1), range(values + 1, values + more + 1))):
        if epoch:
            progress.next_epoch()
        for n in numbers:
            progress.sample(expression(x, n).sum().item())
