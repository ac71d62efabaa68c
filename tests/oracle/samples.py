"""Samples of ops, and programs of the conformance tests, as programs that run in every form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import lazyloom
from lazyloom.ops.samples import Sample
from lazyloom.ops.spec import lookup

from .programs import Input, frontend


class OpSample(NamedTuple):
    """A sample of an op of the table: number ``sample`` of its samples, in one frontend."""

    op: str
    sample: int
    n: int = 0
    inputs: tuple[Input, ...] = ()

    def given(self) -> Sample:
        from tests.conformance import coverage

        return coverage.inputs(lookup(self.op))[self.sample]

    def tensors(self) -> list[Any]:
        module = frontend("numpy")
        return [module.array(x) for x in self.given().operands if x is not None]

    def function(self) -> Callable[..., list[Any]]:
        sample = self.given()
        op, attributes = self.op, sample.attributes
        present = [x is not None for x in sample.operands]

        def program(*arrays: Any) -> list[Any]:
            rest = iter(arrays)
            found = lazyloom.apply(op, [next(rest) if p else None for p in present], attributes)
            return list(found) if isinstance(found, (tuple, list)) else [found]

        return program

    def record(self) -> list[Any]:
        return self.function()(*self.tensors())

    def read(self, result: Any) -> np.ndarray:
        return np.asarray(result.read())

    def run(self) -> list[np.ndarray]:
        return [self.read(x) for x in self.record()]

    def text(self) -> str:
        return f"{self.op}: {self.given()}"

    def smaller(self) -> list[OpSample]:
        return []


class Conformance(NamedTuple):
    """One of the programs that stand in ``tests/conformance`` for each frontend."""

    name: str
    library: str
    n: int = 0
    inputs: tuple[Input, ...] = ()

    def tensors(self) -> list[Any]:
        from tests.conformance.test_programs import PROGRAMS

        module = frontend(self.library)
        make = module.array if self.library == "numpy" else module.tensor
        return [make(x) for x in PROGRAMS[self.name]]

    def function(self) -> Callable[..., list[Any]]:
        from tests.conformance import programs_numpy, programs_torch

        module = programs_numpy if self.library == "numpy" else programs_torch
        made: Callable[..., Any] = getattr(module, self.name)

        def program(*arrays: Any) -> list[Any]:
            found = made(*arrays)
            return list(found) if isinstance(found, (tuple, list)) else [found]

        return program

    record = OpSample.record
    run = OpSample.run

    def read(self, result: Any) -> np.ndarray:
        return np.asarray(result.detach().read() if hasattr(result, "detach") else result.read())

    def text(self) -> str:
        return f"{self.name} of {self.library}"

    def smaller(self) -> list[Conformance]:
        return []
