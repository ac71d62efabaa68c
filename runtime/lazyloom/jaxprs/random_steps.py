"""Steps of a trace on keys of random numbers, as functions of the words that keys wrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .tracing import trace


def traced(step: Any, generator: Any, operands: Sequence[tuple[Any, Any]]) -> Any:
    """Return what a step on a key computes, as a ClosedJaxpr; None if that is unknown.

    Args:
        generator: the functions of the key's generator, None if no key was met.
        operands: (shape, dtype) of each operand; for the key, those of its words.
    """
    name, p = step.primitive.name, step.params
    key = ((2,), np.uint32)
    if generator is None or tuple(operands[0][0]) != (2,):
        return None
    if name == "random_bits":
        width, shape = int(p["bit_width"]), tuple(p["shape"])
        return trace(lambda k: generator.random_bits(k, width, shape), [key])
    if name == "random_split":
        shape = tuple(p["shape"])
        return trace(lambda k: generator.split(k, shape), [key])
    if name == "random_fold_in":
        return trace(generator.fold_in, [key, operands[1]])
    return None
