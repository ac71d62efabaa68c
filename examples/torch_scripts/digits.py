"""The handwritten digits of this repository as tensors."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy

import lazyloom_torch as torch

FOLDER = Path(__file__).resolve().parents[1] / "data" / "digits"


def _read_idx(path: Path) -> numpy.ndarray:
    raw = path.read_bytes()
    rank = raw[3]
    shape = struct.unpack_from(f">{rank}I", raw, 4)
    return numpy.frombuffer(raw, numpy.uint8, offset=4 + 4 * rank).reshape(shape)


def load(part: str = "train"):
    """Images, float32 [n, 1, 8, 8] in 0..1, and labels, int64 [n]."""
    images = _read_idx(FOLDER / f"{part}-images.idx3-ubyte")[:, None]
    labels = _read_idx(FOLDER / f"{part}-labels.idx1-ubyte")
    return (torch.from_numpy(images.astype(numpy.float32) / 16.0),
            torch.from_numpy(labels.astype(numpy.int64)))
