"""The XLA backend: lowering through JAX, execution on JAX's default device."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...codegen.generator import Generator, Region
from ...dtypes import DType
from ...host.find import result_types
from ...host.kernel import HostKernel
from ...interrupts import Deferred
from ...jaxprs import tracing
from ...ops.spec import OpDef
from ...program.program import Program, Structure
from ...startup import starting
from ...trace.specs import Spec, spec_of
from ...types import TensorType
from ..backend import Backend, Executable, PortableModule, Request
from . import jax_compat, placing
from .environment import environment
from .jax_compat import on_other_device

#: of the module that runs ops by code generators, from the first op on for which they are asked: it
#: is slow to import
_alone: Any = None


class Xla(Backend):
    """XLA, through JAX. JAX is imported and its client started on first use.

    So are the modules that compile: they take 15 ms, and op-by-op execution does not need them.
    """

    name = "xla"

    upload = staticmethod(jax_compat.upload)
    download = staticmethod(jax_compat.to_host)
    copy = staticmethod(jax_compat.device_copy)
    wait = staticmethod(jax_compat.wait)
    is_ready = staticmethod(jax_compat.is_ready)
    host_view = staticmethod(jax_compat.host_view)
    given_up = staticmethod(jax_compat.given_up)
    number = staticmethod(jax_compat.number)
    from_dlpack = staticmethod(jax_compat.from_dlpack)
    fingerprint = staticmethod(environment)
    devices = staticmethod(placing.names)
    upload_to = staticmethod(placing.upload_to)
    move = staticmethod(placing.move)
    device_counts = staticmethod(jax_compat.device_counts)
    from_parts = staticmethod(placing.from_parts)
    parts_shape = staticmethod(placing.parts_shape)
    parts = staticmethod(placing.parts)

    def wait_for_all(self) -> None:
        """Wait until all arrays that somebody has are computed; raises nothing."""
        for array in tracing.live_arrays():
            # one that was donated is none any more, and what failed is told to whoever reads it
            with contextlib.suppress(Exception):
                if not array.is_deleted():
                    jax_compat.wait(array)

    def compile(self, request: Request) -> Executable:
        """Lower each op, assemble the module's text, and compile it."""
        with starting():
            from . import compiling

        return compiling.compile(request)

    def timed(
        self, generator: Generator, region: Region, ends: Callable[[], bool] | None = None
    ) -> list[tuple[float, float]]:
        """Time programs whose arrays lie in memory as the generator wants them."""
        with starting():
            from . import compiling

        return compiling.timed(generator, region, ends)

    def region_kernel(
        self, spec: Spec, types: tuple[TensorType | None, ...]
    ) -> HostKernel | None:
        """Return the op's kernel by a generator that runs it alone, where one is in use."""
        global _alone
        alone = _alone
        if alone is None:
            # a signal handler that computes arrays would find a half-imported module
            with Deferred(True):
                from .regions import alone as module
            alone = _alone = module.alone
        kernel: HostKernel | None = alone(spec, types)
        return kernel

    def engines_of(
        self, structure: Structure, outputs: Sequence[tuple[int, int]],
        generators: tuple[str, ...],
    ) -> tuple[list[tuple[str, bytes]], int]:  # fmt: skip
        """Divide the program as for a run, and build the engines of its regions."""
        with starting():
            from . import compiling

        return compiling.engines_of(structure, outputs, generators)

    def portable(
        self, structure: Structure, outputs: Sequence[tuple[int, int]],
        scalars: Mapping[DType, Sequence[Any]], version: str | None,
    ) -> PortableModule:  # fmt: skip
        """Assemble the module's text as for a run, and serialise it."""
        from . import portable

        return portable.module_of(structure, outputs, scalars, version)

    def module_text(self, data: bytes) -> str:
        """Return what StableHLO's deserialisation gives, printed."""
        from . import portable

        return portable.text_of(data)

    def loops(self, program: Program) -> list[tuple[int, int]]:
        """Return the program's ``stablehlo.while`` loops, except those that are ops."""
        with starting():
            from . import compiling

        return compiling.loops(program)

    def is_host(self) -> bool:
        """Return True unless the device is an accelerator."""
        return not on_other_device()

    def compiles_elsewhere(self) -> bool:
        """Return True on the processor; a second process would take an accelerator's memory."""
        return not on_other_device()

    def load(self, data: bytes, request: Request) -> Executable:
        """Load a program from machine code that was stored under this fingerprint."""
        with starting():
            from . import compiling

        return compiling.load(data, request)

    def describe(self) -> Mapping[str, str]:
        """Return versions of jax and jaxlib, the platform, and the device with its kind."""
        return {**tracing.versions(), "platform": str(jax_compat.device().platform),
                "device": jax_compat.device_text()}

    def lowered_types(
        self, op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
    ) -> tuple[TensorType, ...]:
        """Return the result types by a known host kernel, or else by the op's lowering."""
        types_of_results = result_types(spec_of(op, attrs, len(types)), tuple(types))
        if types_of_results is not None:
            return types_of_results
        from .lowering import lowered_types

        return lowered_types(op, types, attrs)
