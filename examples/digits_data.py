"""What digits_numpy.py and digits_torch.py share: IDX files, initial weights, order, report.

``digits.c`` has the same in C. The random numbers are SplitMix64 (Steele, Lea and Flood,
"Fast splittable pseudorandom number generators", 2014), the generator that digits.c
describes, so that the three programs start from the same bits.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy

import lazyloom

LAYERS = (64, 64, 32, 10)
EPOCHS = 20
BATCH = 32
LEARNING_RATE = 0.05
MOMENTUM = 0.9
SEED = 2024

DEFAULT_FOLDER = Path(__file__).resolve().parent / "data" / "digits"
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


def initial_weights(random: SplitMix64) -> list[numpy.ndarray]:
    """w1, b1, w2, b2, w3, b3: uniform in +-sqrt(6 / inputs), row by row; biases zero."""
    weights = []
    for inputs, outputs in zip(LAYERS, LAYERS[1:]):
        bound = (6.0 / inputs) ** 0.5
        drawn = [(2.0 * random.uniform() - 1.0) * bound for _ in range(inputs * outputs)]
        weights.append(numpy.array(drawn, numpy.float32).reshape(inputs, outputs))
        weights.append(numpy.zeros(outputs, numpy.float32))
    return weights


def shuffle(order: numpy.ndarray, random: SplitMix64) -> None:
    """Fisher and Yates's shuffle, in place."""
    for i in range(len(order) - 1, 0, -1):
        j = random.next() % (i + 1)
        order[i], order[j] = order[j], order[i]


def batches(count: int, random: SplitMix64) -> Iterator[Iterator[numpy.ndarray]]:
    """For each epoch, the indices of its full batches, newly shuffled."""
    order = numpy.arange(count, dtype=numpy.int64)
    for _ in range(EPOCHS):
        shuffle(order, random)
        full = count - count % BATCH
        yield (order[start : start + BATCH].copy() for start in range(0, full, BATCH))


def read_idx(path: Path) -> numpy.ndarray:
    """The array in an IDX file of unsigned bytes, as MNIST's files are."""
    raw = path.read_bytes()
    zero, kind, rank = struct.unpack_from(">HBB", raw)
    if zero != 0 or kind != 0x08:
        raise ValueError(f"{path}: not an IDX file of unsigned bytes")
    shape = struct.unpack_from(f">{rank}I", raw, 4)
    return numpy.frombuffer(raw, numpy.uint8, offset=4 + 4 * rank).reshape(shape)


def load(folder: Path, part: str) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Images as float32 [n, 64] in 0..1 and labels as int64 [n]; part is train or test."""
    images = read_idx(folder / f"{part}-images.idx3-ubyte")
    labels = read_idx(folder / f"{part}-labels.idx1-ubyte")
    flat = images.reshape(len(images), -1).astype(numpy.float32) / numpy.float32(16)
    return flat, labels.astype(numpy.int64)


class Report:
    """Prints the training's progress and collects what the demo compares."""

    def __init__(self, frontend: str) -> None:
        self.frontend = frontend
        self.folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER
        self.path = Path(sys.argv[2]) if len(sys.argv) > 2 else None
        self.losses: list[float] = []
        self.seconds: list[float] = []
        self.ops = self.executions = 0
        self.step_key = ""

    @contextmanager
    def step(self) -> Iterator[list[float]]:
        """Around one training step, which appends the loss it read."""
        before, start = lazyloom.stats(), time.perf_counter()
        yield self.losses
        self.seconds.append(time.perf_counter() - start)
        after, evaluation = lazyloom.stats(), lazyloom.last_evaluation()
        assert evaluation is not None and evaluation.program is not None
        self.ops = after["ops_executed"] - before["ops_executed"]
        self.executions = after["executions"] - before["executions"]
        self.step_key = evaluation.program.key

    def epoch(self, number: int, accuracy: float) -> None:
        """Called after each epoch."""
        steps = len(self.losses) // number
        mean = sum(self.losses[-steps:]) / steps
        print(f"{self.frontend}: epoch {number:2}  loss {mean:.6f}  test accuracy {accuracy:.4f}")

    def finish(self, accuracy: float) -> None:
        """Called at the end; writes the report if a file was named."""
        stats = lazyloom.stats()
        report: dict[str, Any] = {
            "frontend": self.frontend,
            "programs_compiled": stats["programs_compiled"],
            "programs_from_disk": stats["programs_from_disk"],
            "step_key": self.step_key,
            "final_loss": self.losses[-1],
            "test_accuracy": accuracy,
            "seconds_per_step": sorted(self.seconds)[len(self.seconds) // 2],
            "losses": self.losses,
            "ops_per_step": self.ops,
            "executions_per_step": self.executions,
        }
        if self.path is not None:
            self.path.write_text(json.dumps(report) + "\n")
