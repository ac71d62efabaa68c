"""Programs as StableHLO portable artifacts, which other programs and later versions read.

The versions are StableHLO's own: an artifact is read by every later version for five years, and by
those from the one it is written for on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...dtypes import DType
from ...errors import ArgumentError
from ...interrupts import reraise_from_handler
from ...jaxprs import tracing
from ...program.program import Structure
from ..backend import NotLowered, PortableModule
from . import lowering
from .assemble import module_text

#: what a custom call names
_TARGET: Final = re.compile(r"custom_call @([\w.$-]+)")
#: how the targets begin that jaxlib keeps for programs that were exported
_KEPT: Final = "lapack_"
#: how every StableHLO artifact begins: the magic number of MLIR bytecode and its producer
_MAGIC: Final = b"ML\xefR"


def module_of(
    structure: Structure, outputs: Sequence[tuple[int, int]],
    scalars: Mapping[DType, Sequence[Any]], version: str | None,
) -> PortableModule:  # fmt: skip
    """Return the portable artifact of a program. Raises NotLowered, ArgumentError."""
    calls: set[str] = set()
    for number, i in enumerate(structure.instructions):
        try:
            targets = set(_TARGET.findall(lowering.lower(i.spec, i.operand_types).text))
        except Exception as error:
            reraise_from_handler(error)
            raise NotLowered(number, error) from error
        for target in targets:
            if not target.startswith(_KEPT):
                raise NotLowered(number, TypeError(
                    f"it calls {target}, a function of this process, which another one need not "
                    "have"))
        calls |= targets
    text = module_text(structure, outputs, {}, scalars=scalars)
    with tracing.x64():
        from jax.extend import mlir
        from jax.extend.mlir.dialects import stablehlo

        if version is None:
            version = stablehlo.get_version_from_compatibility_requirement(
                stablehlo.StablehloCompatibilityRequirement.WEEK_12)
        try:
            if stablehlo.get_smaller_version(version, stablehlo.get_current_version()) != version:
                raise ValueError(f"{version} is newer")
            data = mlir.serialize_portable_artifact(text, version)
        except Exception as error:
            reraise_from_handler(error)
            raise ArgumentError(
                f"the program cannot be written for StableHLO {version}, expected a version from "
                f"{stablehlo.get_minimum_version()} to {stablehlo.get_current_version()} that has "
                f"all its ops: {error}") from error
    return PortableModule(bytes(data), str(version), tuple(sorted(calls)))


def text_of(data: bytes) -> str:
    """Return the text of a portable artifact. Raises ArgumentError."""
    if not data.startswith(_MAGIC):
        raise ArgumentError(
            f"the module begins with {data[:4]!r}, expected {_MAGIC!r} as every StableHLO artifact "
            "does; the file is damaged")
    with tracing.x64():
        from jax.extend import mlir
        from jax.extend.mlir.dialects import stablehlo

        try:
            with tracing.mlir_context() as context:
                return str(mlir.deserialize_portable_artifact(data, context))
        except Exception as error:
            reraise_from_handler(error)
            raise ArgumentError(
                "the module is no StableHLO artifact that this jaxlib reads (StableHLO "
                f"{stablehlo.get_minimum_version()} to {stablehlo.get_current_version()}); install "
                f"a newer jaxlib, or export it for an older version: {error}") from error
