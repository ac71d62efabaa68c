"""A code generator for an accelerator with a memory of its own, channels last, in int8, and no
reductions. The accelerator is simulated in NumPy.

It does convolutions of quantised images with quantised weights, a bias, and an activation that
ends at 0 and 6: ``clip(conv(dequantize(x), dequantize(w)) + bias, 0, 6)``. Weights are moved to its
memory once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lazyloom import codegen
from lazyloom.codegen import Answer, Call, Leaf, No, Region, any_value, match, number

LAST = (0, 2, 3, 1)


class Device:
    """The accelerator: arrays lie in its memory under handles, and it computes on these alone."""

    def __init__(self) -> None:
        self.memory: dict[int, np.ndarray] = {}
        self.uploaded = 0

    def upload(self, array: np.ndarray) -> int:
        """Copy an array into its memory; return the handle."""
        self.uploaded += array.nbytes
        handle = max(self.memory, default=0) + 1
        self.memory[handle] = array.copy()
        return handle

    def download(self, handle: int) -> np.ndarray:
        """Copy an array back, and free its memory."""
        return self.memory.pop(handle)

    def free(self, handle: int) -> None:
        """Free an array."""
        del self.memory[handle]

    def convolve(
        self, x: int, w: int, strides: Sequence[int], low: Sequence[int], high: Sequence[int],
        scale: np.ndarray, bias: np.ndarray, clipped: bool,
    ) -> int:  # fmt: skip
        """Images with channels last by weights; sums are of int32, then scaled for each channel."""
        images, weights = self.memory[x], self.memory[w]
        padded = np.pad(images, ((0, 0), *zip(low, high, strict=True), (0, 0))).astype(np.int32)
        windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape[2:], (1, 2))
        windows = windows[:, :: strides[0], :: strides[1]]
        sums = np.tensordot(windows, weights.astype(np.int32), ((3, 4, 5), (1, 2, 3)))
        result = sums * scale + bias
        if clipped:
            result = np.clip(result, 0, 6)
        return self.upload(result.astype(np.float32))


class Npu(codegen.Generator):
    """Quantised convolutions with what follows them."""

    name = "npu"
    version = "1"
    merges = False
    tolerance = 32.0

    def __init__(self, device: Device | None = None) -> None:
        self.device = device or Device()

    def supports(self, call: Call) -> Answer:
        return No("only as a part of a quantised convolution")

    def patterns(self) -> Sequence[codegen.Pattern]:
        def dequantized() -> Any:
            return match("dequantize", any_value(), any_value(), codegen.absent())

        conv = match("conv", dequantized(), dequantized())
        biased = match("add", conv, any_value(), commutes=True)
        clipped = match("clip", biased, number(0), number(6))
        return [codegen.Pattern(name, root, check) for name, root in (
            ("conv_bias_clip", clipped), ("conv_bias_relu6", match("relu6 hardtanh", biased)),
            ("conv_bias", biased))]

    def layouts(self, region: Region) -> Any:
        x = images_of(region)
        types = (*region.operands, *region.results)
        return [LAST if k in (x, len(types) - 1) else tuple(range(t.ndim))
                for k, t in enumerate(types)]

    def constants(self, region: Region) -> Sequence[int]:
        return [k for k in range(len(region.operands)) if k != images_of(region)]

    def build(self, region: Region) -> codegen.Code:
        return codegen.PythonCode(lambda *arrays: self.run(region, arrays, None))

    def bound(self, region: Region, values: Mapping[int, Any]) -> codegen.Code:
        return codegen.PythonCode(Resident(self, region, values))

    def run(self, region: Region, arrays: Sequence[Any], weights: int | None) -> Any:
        """Convolve; ``weights`` are those that lie in the device's memory already."""
        calls = region.calls
        conv = next(c for c in calls if c.op == "conv")
        total = next(c for c in calls if c.op == "add")
        scales = [given(conv.producer(k), 1, arrays) for k in (0, 1)]
        bias = given(total, 1 if total.producer(0) is not None else 0, arrays)
        x = self.device.upload(arrays[images_of(region)])
        w = weights if weights is not None else self.device.upload(given(
            conv.producer(1), 0, arrays))
        attributes = conv.attributes
        result = self.device.convolve(
            x, w, attributes["strides"] or (1, 1), attributes["padding_low"] or (0, 0),
            attributes["padding_high"] or (0, 0),
            scales[0] * scales[1].reshape(-1), bias.reshape(-1),
            any(c.op in ("clip", "relu6", "hardtanh") for c in calls))
        self.device.free(x)
        if weights is None:
            self.device.free(w)
        return self.device.download(result)


class Resident:
    """A region whose weights stay in the device's memory as long as this object lives."""

    def __init__(self, npu: Npu, region: Region, values: Mapping[int, Any]) -> None:
        self.npu, self.region = npu, region
        conv = next(c for c in region.calls if c.op == "conv")
        place = weights_of(conv)
        self.weights = npu.device.upload(values[place]) if place in values else None

    def __call__(self, *arrays: Any) -> Any:
        return self.npu.run(self.region, arrays, self.weights)

    def __del__(self) -> None:
        if self.weights is not None:
            self.npu.device.free(self.weights)


def given(call: Call | None, operand: int, arrays: Sequence[Any]) -> Any:
    """The array of an operand, or the number."""
    assert call is not None
    item = call.wired[operand]
    if isinstance(item, Leaf):
        return arrays[item.number]
    return np.float32(call.values[operand])


def weights_of(conv: Call) -> int:
    source = conv.producer(1)
    assert source is not None
    item = source.wired[0]
    return item.number if isinstance(item, Leaf) else -1


def images_of(region: Region) -> int:
    conv = next(c for c in region.calls if c.op == "conv")
    source = conv.producer(0)
    assert source is not None
    item = source.wired[0]
    assert isinstance(item, Leaf)
    return item.number


def check(calls: Sequence[Call]) -> Answer:
    """Whether matched ops have the types and attributes that the device takes."""
    conv = next(c for c in calls if c.op == "conv")
    total = next(c for c in calls if c.op == "add")
    ends = calls[-1].attributes
    if (ends.get("min", 0), ends.get("max", 6)) != (0, 6):
        return No(f"an activation that ends at {ends['min']} and {ends['max']}, expected 0 and 6")
    images, weights = conv.producer(0), conv.producer(1)
    if images is None or weights is None or images.number == weights.number:
        return No("expected images and weights that are dequantised apart")
    x, w = images.operands[0], weights.operands[0]
    if x is None or w is None or x.ndim != 4 or x.dtype.name not in ("int8", "uint8") or (
        w.dtype.name != "int8"
    ):
        return No("expected images of int8 or uint8 and weights of int8, of four axes")
    a = conv.attributes
    # None is the default: 1 for each axis, and no padding
    if a["groups"] != 1 or any(a[k] not in (None, (1, 1)) for k in ("dilation", "input_dilation")):
        return No("groups or dilation, expected neither")
    if min(*(a["padding_low"] or (0,)), *(a["padding_high"] or (0,)), 0) < 0:
        return No("negative padding, expected none")
    if images.operands[1].ndim or weights.attributes["axis"] not in (None, 0):
        return No("scales along other axes, expected one for the images, and one a channel")
    if total.producer(0) is not None and total.producer(1) is not None and any(
        c is not None and c.op != "conv" for c in (total.producer(0), total.producer(1))
    ):
        return No("a bias that is computed, expected one that is given")
    channels = conv.results[0].shape[1]
    bias = next(t for k, t in enumerate(total.operands) if total.producer(k) is None)
    if bias.shape not in ((channels, 1, 1), (1, channels, 1, 1)):
        return No(f"a bias {bias.text}, expected a number a channel")
    if conv.results[0].dtype.name != "float32":
        return No("expected results of float32")
    return codegen.at_least(conv.results[0].size, 4096, "elements")
