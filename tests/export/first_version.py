"""``python -m tests.export.first_version`` wrote ``version_1.loom``, which later versions read.

It refuses to write over it; a later version of the format has a file of its own.
"""

from __future__ import annotations

from typing import Any

import numpy

import lazyloom
import lazyloom_numpy as np

from .test_damaged_files import FIRST


def write() -> None:
    weights = np.array(numpy.arange(6, dtype=numpy.float32).reshape(3, 2))
    rng = np.random.default_rng()
    rng.bit_generator.state = {
        "bit_generator": type(rng.bit_generator).__name__,
        "state": {"key": numpy.array([0, 7], numpy.uint32), "counter": 5}}

    def first(x: Any, options: Any) -> Any:
        y = (x @ weights + options["shift"].astype(np.float32) * 4) * 0.1
        return {"y": y, "drawn": rng.random(x.shape[0], dtype=np.float32) + x.sum(
            axis=options["axis"]) * 0}

    if FIRST.exists():
        raise SystemExit(f"{FIRST} is there, and is kept as it is")
    lazyloom.export(
        first, FIRST, np.ones((2, 3), dtype=np.float32),
        {"shift": np.array(1, dtype=np.int32), "axis": 1},
        parameters={"weights": weights, "tied": weights}, dynamic={"x": {0: "n"}},
        extents={"n": (1, 2)}, metadata={"written by": "a test"})


if __name__ == "__main__":
    write()
