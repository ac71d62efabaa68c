"""What digits_numpy.py and digits_torch.py share: IDX files, initial weights, order, report.

``digits.c`` has the same in C. The random numbers are SplitMix64 (Steele, Lea and Flood,
"Fast splittable pseudorandom number generators", 2014), the generator that digits.c
describes, so that the three programs start from the same bits.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy

LAYERS = (64, 64, 32, 10)
EPOCHS = 20
BATCH = 32
LEARNING_RATE = 0.05
MOMENTUM = 0.9
SEED = 2024

_MASK = (1 << 64) - 1


class SplitMix64:
    """A stream of 64-bit random numbers."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def uniform(self) -> float:
        """In [0, 1), of 24 random bits, so exact in float32."""
        return (self.next() >> 40) / (1 << 24)


def read_idx(path: Path) -> numpy.ndarray:
    """The array in an IDX file of unsigned bytes, as MNIST's files are."""
    raw = path.read_bytes()
    zero, kind, rank = struct.unpack_from(">HBB", raw)
    if zero != 0 or kind != 0x08:
        raise ValueError(f"{path}: not an IDX file of unsigned bytes")
    shape = struct.unpack_from(f">{rank}I", raw, 4)
    return numpy.frombuffer(raw, numpy.uint8, offset=4 + 4 * rank).reshape(shape)
