"""A single op run by a code generator outside of any program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ....codegen import registry
from ....codegen.answers import Call
from ....codegen.claims import not_built
from ....codegen.faults import refused
from ....codegen.generator import Generator, Region
from ....host.find import kernel_of
from ....host.kernel import HostKernel
from ....interrupts import reraise_from_handler
from ....program.program import Instruction, Program, Structure
from ....trace.specs import Spec
from ....types import TensorType
from ..jax_compat import on_other_device
from ..layouts import identity
from . import engines
from .engines import Engine, NotBuilt, engine_of
from .region_op import Called, aliases_of, key_of

#: elements of operands and results together from which generators are asked
ASK_FROM_ELEMENTS: Final = 1 << 14


def alone(
    spec: Spec, types: tuple[TensorType | None, ...]
) -> HostKernel | None:
    """Return a kernel that runs the op by any active generator that takes it, else on the host.

    None where no generator would, whichever are active. A failing generator is reported once.
    """
    if not spec.heavy or spec.effect or spec.fallible or spec.checked:
        return None
    present = [t for t in types if t is not None]
    results = spec.infer(types)
    sizes = [t.size for t in (*present, *results)]
    if sum(sizes) < ASK_FROM_ELEMENTS or 0 in sizes or engines.available() or on_other_device():
        return None
    call = Call.of(Instruction(spec, (None,) * len(types), types, results))
    taking = {name: g for name, g in registry.available().items() if _takes(g, call)}
    if not taking:
        return None
    return HostKernel(_Alone(spec, types, results, taking), (False,) * len(results))


def _takes(generator: Generator, call: Call) -> bool:
    try:
        return bool(generator.runs_alone(call)) and bool(generator.supports(call))
    except Exception as error:
        reraise_from_handler(error)
        return False


class _Alone:
    """The kernel; it checks at each run which generators are active."""

    __slots__ = ("spec", "region", "types", "results", "taking", "otherwise", "engines",
                 "aliases")

    def __init__(
        self, spec: Spec, types: tuple[TensorType | None, ...], results: tuple[TensorType, ...],
        taking: dict[str, Generator],
    ) -> None:  # fmt: skip
        self.spec: Final = spec
        stream: list[Any] = [spec]
        leaves: list[TensorType] = []
        for t in types:
            stream.append(None if t is None else -1 - len(leaves))
            if t is not None:
                leaves.append(t)
        program = Program(
            Structure(tuple(stream), tuple(leaves)), [(0, r) for r in range(len(results))], [])
        self.region: Final = Region(
            program, (), tuple(identity(t.ndim) for t in (*leaves, *results)))
        self.types: Final = types
        self.results: Final = results
        self.taking: Final = taking
        self.otherwise: Callable[..., Any] | None = None
        self.engines: Final[dict[str, Engine]] = {}
        #: the results that each has in the memory of operands
        self.aliases: Final[dict[str, tuple[tuple[int, int], ...]]] = {}

    def __call__(self, *arguments: Any) -> Any:
        for name in () if engines.falling_back() else registry.in_use():
            if name in self.taking:
                engine = self._engine(name)
                if engine is not None:
                    return self._run(name, engine, arguments)
        if self.otherwise is None:
            kernel = kernel_of(self.spec, self.types)
            if kernel is None:
                # then the op runs as an executable of its own
                raise NotImplementedError(f"{self.spec.op.name} has no kernel of the host")
            self.otherwise = kernel.run
        return self.otherwise(*arguments)

    def _engine(self, name: str) -> Engine | None:
        """Return the generator's engine; None once it has failed to build or to run here."""
        if (name, self.region.program.key) in refused():
            return None
        engine = self.engines.get(name)
        if engine is None:
            generator = self.taking[name]
            try:
                called = self._called(generator)
                if called is None:
                    return None
                # another thread may look between
                self.aliases[name] = called.aliases
                engine = self.engines[name] = engine_of(called)
            except NotBuilt:
                # this was reported and is remembered
                return None
        return engine

    def _called(self, generator: Generator) -> Called | None:
        """Return the region as a generator runs it; None, which is reported, if that is wrong."""
        called = Called(key_of(generator, self.region), generator, self.region)
        try:
            return called._replace(aliases=aliases_of(generator, self.region))
        except Exception as error:
            reraise_from_handler(error)
            not_built(engines.failure(called, "build", error), self.region)
            return None

    def _run(self, name: str, engine: Engine, arguments: tuple[Any, ...]) -> Any:
        operands = [np.ascontiguousarray(x, t.dtype.numpy).reshape(t.shape)
                 for x, t in zip(arguments, self.types, strict=True) if t is not None]
        results = [np.empty(t.shape, t.dtype.numpy) for t in self.results]
        for r, k in self.aliases[name]:
            # whoever called has the operand
            operands[k] = results[r] = operands[k].copy()
        engine.native(*operands, *results)
        return results[0] if len(results) == 1 else tuple(results)
