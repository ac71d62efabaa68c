"""The entries of quantisation."""

from __future__ import annotations

import json
from typing import Any

from _lazyloom_abi import ffi  # type: ignore[import-not-found]

import lazyloom
from lazyloom.errors import ArgumentError
from lazyloom.quantization import Quantized, quantize

from . import handles
from .custom import Context
from .functions import OF_INPUTS, GivenFunction
from .handles import QUANTIZED
from .serving import find, give, located, values_of


class _Kept:
    """A quantised function, and the caller's context that it needs."""

    __slots__ = ("function", "inputs", "results", "_owner")

    def __init__(self, function: Quantized, inputs: int, results: int, owner: Context) -> None:
        self.function, self.inputs, self.results = function, inputs, results
        self._owner = owner


@located
def loomp_quantize(
    call: Any, function: Any, let_go: Any, done: Any, context: Any, batches: Any,
    batch_count: int, input_count: int, output_count: int, percentile: float, skip: Any,
    skip_count: int, result: Any,
) -> int:  # fmt: skip
    of = "loom_quantize_function"
    owner = Context(done, context)
    if not input_count:
        raise ArgumentError(f"{of}: input_count is 0, expected at least one input")
    values = values_of(batches, batch_count * input_count, f"{of}: batches")
    tensors = [lazyloom.Tensor(v) for v in values]
    f = GivenFunction("function", of, call, function, let_go, output_count, since=OF_INPUTS)
    found = quantize(
        f.of_each,
        [tuple(tensors[i:i + input_count]) for i in range(0, len(tensors), input_count)],
        percentile=percentile if percentile else None,
        skip=tuple(ffi.unpack(skip, skip_count)) if skip_count else ())
    result[0] = handles.give(QUANTIZED, _Kept(found, input_count, output_count, owner))
    return 1


@located
def loomp_quantized_run(
    handle: int, inputs: Any, input_count: int, results: Any, result_count: int
) -> int:
    kept: _Kept = find(QUANTIZED, handle, "loom_quantized_run: quantized")
    for name, count, expected in (
        ("input_count", input_count, kept.inputs), ("result_count", result_count, kept.results),
    ):  # fmt: skip
        if count != expected:
            raise ArgumentError(f"loom_quantized_run: {name} is {count}, expected {expected}")
    values = values_of(inputs, input_count, "loom_quantized_run: inputs")
    for i, t in enumerate(kept.function(*(lazyloom.Tensor(v) for v in values))):
        results[i] = give(t.value)
    return 1


def values_json(handle: int) -> str:
    """What is quantised between ops, as a JSON array."""
    kept: _Kept = handles.find(QUANTIZED, handle)
    return json.dumps([
        {"made_by": v.made_by, "shape": list(v.type.shape), "scale": v.scale,
         "dtype": v.dtype.name}
        for v in kept.function.values])
