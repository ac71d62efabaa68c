"""Run the scripts of this folder under PyTorch and under Lazyloom, compare, and time them.

Only the import line differs: ``import lazyloom_torch as torch`` becomes ``import torch``.

    python both.py                all scripts
    python both.py gan style      some of them
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import either  # noqa: E402

sys.path.remove(str(HERE.parent))

#: how far results may lie apart, as a part of the largest number; what is drawn by the library
#: itself agrees with what is known of it, not number by number
TOLERANCES = {
    "classifier": 2e-3, "regression": 1e-3, "autoencoder": 1e-3, "gan": 1e-2, "char_rnn": 2e-3,
    "seq2seq": 2e-3, "transformer_classifier": 5e-3, "reinforce": 1e-3, "style": 1e-2, "bayes": 0.1,
}
#: rounding grows from step to step: longer series are compared up to here, and what comes of them
#: only roughly
BEGINNING, ROUGHLY = 40, 0.1
#: results of long runs in which rounding grows by itself: two networks against each other
CHAOTIC = {"gan": ("drawn",)}
#: results that differ between the libraries, because they draw their own random numbers
DRAWN = {"bayes": ("bounds", "divergence", "spread")}


def load(name: str, library: str) -> Callable[..., dict[str, Any]]:
    """The function ``run`` of a script for that library."""
    found: Callable[..., dict[str, Any]] = either.load(HERE / f"{name}.py", library).run
    return found


def differences(name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """What does not agree, by name."""
    long = any(numpy.ndim(v) == 1 and len(v) > BEGINNING for v in theirs.values())
    wrong = [f"{key!r} is there once only" for key in ours.keys() ^ theirs.keys()]
    for key in ours.keys() & theirs.keys():
        a, b = numpy.asarray(ours[key]), numpy.asarray(theirs[key])
        allowed = TOLERANCES[name]
        if b.ndim == 1 and len(b) > BEGINNING:
            a, b = a[:BEGINNING], b[:BEGINNING]
        elif long:
            allowed = max(allowed, ROUGHLY)
        if a.shape != b.shape:
            wrong.append(f"{key!r} has shape {a.shape}, expected {b.shape}")
        elif b.dtype.kind != "f":
            if not numpy.array_equal(a, b):
                wrong.append(f"{key!r} is {a.tolist()}, expected {b.tolist()}")
        elif not numpy.isfinite(a).all():
            wrong.append(f"{key!r} is not finite")
        elif key not in DRAWN.get(name, ()) and not (long and key in CHAOTIC.get(name, ())):
            scale = numpy.abs(b).max(initial=1e-6)
            far = numpy.abs(a - b).max(initial=0.0) / scale
            if not far <= allowed:
                wrong.append(f"{key!r} differs by {far:.2g} of the largest number")
    return wrong


def timed(run: Callable[..., dict[str, Any]]) -> tuple[dict[str, Any], float]:
    started = time.perf_counter()
    return run(), time.perf_counter() - started


def main(names: list[str]) -> int:
    failed = False
    for name in names or TOLERANCES:
        theirs, host = timed(load(name, "torch"))
        run = load(name, "lazyloom_torch")
        ours, first = timed(run)
        _, second = timed(run)
        wrong = differences(name, ours, theirs)
        failed = failed or bool(wrong)
        print(f"{name:22} PyTorch {host:6.2f} s, Lazyloom {first:6.2f} s the first time, "
              f"{second:6.2f} s then: {'; '.join(wrong) or 'they agree'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
