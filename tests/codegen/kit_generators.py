"""A generator that is right, and some that are each wrong in one way, for the kit to find."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lazyloom import codegen
from tests.codegen.generators import NUMPY, interpret


class Right(codegen.Generator):
    """Sums, products and hyperbolic tangents of float32 in NumPy."""

    name = "right"
    version = "1"
    ops: Sequence[str] = ("add", "multiply", "tanh")

    def supports(self, call: codegen.Call) -> codegen.Answer:
        types = [t for t in (*call.operands, *call.results) if t is not None]
        if call.op not in self.ops or call.op not in NUMPY:
            return codegen.No(f"no {call.op}")
        if any(t.dtype.name != "float32" for t in types):
            return codegen.No("expected float32")
        return codegen.YES

    def build(self, region: codegen.Region) -> codegen.Code:
        return codegen.PythonCode(lambda *arrays: self.results(region, arrays))

    def results(self, region: codegen.Region, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(np.array(x) for x in interpret(region, arrays))


class LosesNaN(Right):
    """Its results have zeros in place of NaN."""

    name = "loses_nan"

    def results(self, region: codegen.Region, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(np.where(np.isnan(x), np.float32(0), x).astype(x.dtype)
                     for x in super().results(region, arrays))


class KeepsTheFirst(Right):
    """It gives the first run's results again."""

    name = "keeps_the_first"

    def build(self, region: codegen.Region) -> codegen.Code:
        kept: list[Any] = []

        def run(*arrays: Any) -> Any:
            if not kept:
                kept.append(self.results(region, tuple(x.copy() for x in arrays)))
            return kept[0]

        return codegen.PythonCode(run)


class BindsWrongly(Right):
    """Code that is bound to constants forgets one op."""

    name = "binds_wrongly"

    def constants(self, region: codegen.Region) -> Sequence[int]:
        return range(len(region.operands))

    def bound(self, region: codegen.Region, values: Mapping[int, Any]) -> codegen.Code:
        return codegen.PythonCode(
            lambda *arrays: tuple(x + np.float32(1) for x in self.results(region, arrays)))


class MixesUpLayouts(Right):
    """It asks for the other order of axes, and forgets that where arrays are square."""

    name = "mixes_up_layouts"

    def layouts(self, region: codegen.Region) -> Any:
        return [tuple(reversed(range(t.ndim))) for t in (*region.operands, *region.results)]

    def results(self, region: codegen.Region, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        turned = [x.T.copy() if x.ndim != 2 else x.reshape(x.shape[::-1]) for x in arrays]
        return tuple(x.T.copy() for x in super().results(region, tuple(turned)))


class TakesMergedOpsApartWrongly(Right):
    """Of several ops it gives the result of the last one for each."""

    name = "one_result"

    def results(self, region: codegen.Region, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        found = super().results(region, arrays)
        return tuple(np.broadcast_to(found[-1].ravel()[:1], x.shape).copy() if len(found) > 1 else x
                     for x in found)


class Hangs(Right):
    """It never ends to build a product."""

    name = "hangs"
    ops = ("add", "multiply")

    def build(self, region: codegen.Region) -> codegen.Code:
        if any(call.op == "multiply" for call in region.calls):
            time.sleep(600)
        return super().build(region)


class Crashes(Right):
    """It ends the process that runs a product."""

    name = "crashes"
    ops = ("add", "multiply")

    def results(self, region: codegen.Region, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        if any(call.op == "multiply" for call in region.calls):
            os.kill(os.getpid(), 9)
        return super().results(region, arrays)


class ClaimsNothing(Right):
    """It does no op."""

    name = "claims_nothing"
    ops = ()


class Raises(Right):
    """The function that builds calls another, which raises."""

    name = "raises"

    def build(self, region: codegen.Region) -> codegen.Code:
        return self.built()

    def built(self) -> codegen.Code:
        np.zeros(6).reshape(5)
        raise AssertionError


class Int8(codegen.Generator):
    """Convolutions and products of int8, by their operands' scales, and a bias."""

    name = "int8"
    version = "1"

    def supports(self, call: codegen.Call) -> codegen.Answer:
        return codegen.No("only as a part of a group")

    def patterns(self) -> Sequence[codegen.Pattern]:
        x, w = (codegen.match("dequantize", codegen.any_value(), codegen.any_value(),
                              codegen.absent()) for _ in range(2))
        conv = codegen.match("conv", x, w)
        return [codegen.Pattern("int8_bias", codegen.match("add", conv, codegen.any_value()),
                                self.check), codegen.Pattern("int8", conv, self.check)]

    def check(self, calls: Sequence[codegen.Call]) -> codegen.Answer:
        conv = next(c for c in calls if c.op == "conv")
        x, w = conv.producer(0), conv.producer(1)
        assert x is not None and w is not None
        types = [x.operands[0], x.operands[1], w.operands[0], w.operands[1], conv.results[0]]
        if [t.dtype.name for t in types if t is not None] != [
            "int8", "float32", "int8", "float32", "float32"
        ] or types[1].ndim or types[3].ndim or types[0].ndim != 4:
            return codegen.No("expected images of int8 with a scale each")
        channels = conv.results[0].shape[1]
        if calls[-1].op == "add" and calls[-1].operands[1].shape != (channels, 1, 1):
            return codegen.No("expected a bias")
        a = conv.attributes
        if a["dilation"] or a["input_dilation"] or a["groups"] != 1 or min(
            *(a["padding_low"] or (0,)), *(a["padding_high"] or (0,)), 0
        ) < 0:
            return codegen.No("expected strides and padding alone")
        return codegen.YES

    def build(self, region: codegen.Region) -> codegen.Code:
        calls = region.calls
        conv = next(c for c in calls if c.op == "conv")
        sources = [conv.producer(0), conv.producer(1)]
        places = [c.wired[k].number for c in sources for k in (0, 1)]
        bias = calls[-1].wired[1].number if calls[-1].op == "add" else None

        def run(*arrays: Any) -> Any:
            x, x_scale, w, w_scale = (arrays[k] for k in places)
            low, high, (row, column) = (conv.attributes[k] or (n, n) for k, n in (
                ("padding_low", 0), ("padding_high", 0), ("strides", 1)))
            x = np.pad(x, ((0, 0), (0, 0), *zip(low, high, strict=True))).astype(np.int32)
            windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
            windows = windows[:, :, ::row, ::column]
            sums = np.einsum("ncijab,ocab->noij", windows, w.astype(np.int32))
            result = self.scaled(sums, x_scale, w_scale)
            return (result if bias is None else self.biased(result, arrays[bias])).astype("float32")

        return codegen.PythonCode(run)

    def scaled(self, sums: Any, x_scale: Any, w_scale: Any) -> Any:
        return sums * (x_scale * w_scale)

    def biased(self, result: Any, bias: Any) -> Any:
        return result + bias


class WithoutScale(Int8):
    """It forgets the scale of the weights."""

    name = "without_scale"

    def scaled(self, sums: Any, x_scale: Any, w_scale: Any) -> Any:
        return sums * x_scale


class BiasOfTheOtherAxis(Int8):
    """It adds the first number of the bias to all channels."""

    name = "bias_of_the_other_axis"

    def biased(self, result: Any, bias: Any) -> Any:
        return result + bias[0]


class Impossible(Right):
    """Its pattern is of ops whose types never fit together."""

    name = "impossible"

    def patterns(self) -> Sequence[codegen.Pattern]:
        return [codegen.Pattern("impossible", codegen.match(
            "conv", codegen.match("argmax", codegen.any_value()), codegen.any_value()))]


class RoundsTies(codegen.Generator):
    """Quantises, and half of the integers are the next ones."""

    name = "rounds_ties"
    version = "1"
    by = 1

    def supports(self, call: codegen.Call) -> codegen.Answer:
        if call.op != "quantize" or call.operands[1].ndim or call.operands[2] is not None:
            return codegen.No("expected quantize with one scale")
        return codegen.YES

    def build(self, region: codegen.Region) -> codegen.Code:
        calls = region.calls
        limits = [np.iinfo(t.dtype.numpy) for t in region.results]
        wired = [[x.number for x in calls[n].wired[:2]] for n, _ in region.program.outputs]

        def run(*arrays: Any) -> Any:
            results = []
            for (x, scale), info in zip(wired, limits, strict=True):
                wide = np.promote_types(arrays[x].dtype, np.float32)
                inverse = np.asarray(1, wide) / arrays[scale].astype(wide)
                v = np.rint(np.nan_to_num(arrays[x].astype(wide) * inverse, nan=0.0))
                v = np.clip(v, info.min, info.max)
                v.flat[::2] = np.where(v.flat[::2] < info.max, v.flat[::2] + self.by, v.flat[::2])
                results.append(v.astype(info.dtype))
            return tuple(results)

        return codegen.PythonCode(run)


class RoundsFar(RoundsTies):
    """And the integers differ by 2."""

    name = "rounds_far"
    by = 2
