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
