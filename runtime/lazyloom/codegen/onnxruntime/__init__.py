"""ONNX Runtime as a code generator: regions of inference as ONNX models, weights as initializers.

The library comes from the extra ``onnxruntime``, or any package with the module's name. Models are
written without the package ``onnx``.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...program.stream import Leaf, Result
from ..answers import Answer, Call, No
from ..generator import Code, Generator, PythonCode, Region
from ..onnx import claims
from ..worth import at_least
from . import int8, ops, session

#: the number of multiplications from which on a region is worth a call
SMALL: Final = 1_000_000
#: multiplications per second, for estimates
_SPEED: Final = 5e10


class OnnxRuntime(Generator):
    """Regions of inference, as large as possible, each a session."""

    name = "onnxruntime"
    priority = 20
    by_default = False

    def __init__(self, version: str) -> None:
        self.version = version

    def supports(self, call: Call) -> Answer:
        """Answer by a table of ops."""
        return claims(call) and int8.supports(call)

    def numbers(self, call: Call) -> Sequence[int]:
        """Return where slices begin, so that they are slices that ONNX Runtime folds and fuses."""
        return range(1, len(call.operands)) if call.op == "dynamic_slice" else ()

    def worthwhile(self, region: Region) -> Answer:
        """Return YES for regions with products or convolutions of some size, or why not."""
        size = sum(t.nbytes for t in region.operands)
        if size > session.MOST:
            return No(f"operands of {size} bytes, expected at most {session.MOST}")
        return at_least(sum(map(ops.work, region.calls)), SMALL, "multiplications")

    def seconds(self, region: Region) -> float | None:
        """Estimate by the number of multiplications."""
        return sum(map(ops.work, region.calls)) / _SPEED

    def constants(self, region: Region) -> Sequence[int]:
        """Return the weights: operands that only products, norms and sums use, as weights."""
        return weights(region)

    def build(self, region: Region) -> Code:
        """Return a session in which weights are inputs."""
        return PythonCode(session.Session(region, {}), fills=True)

    def bound(self, region: Region, values: Mapping[int, Any]) -> Code:
        """Return a session in which weights are initializers, so that it packs and folds them."""
        return PythonCode(session.Session(region, values), fills=True)

    def serialize(self, region: Region, code: Code) -> bytes | None:
        """Return the model as ONNX Runtime optimised it for this processor."""
        assert isinstance(code, PythonCode) and isinstance(code.function, session.Session)
        return code.function.optimized

    def deserialize(self, region: Region, data: bytes) -> Code:
        """Return a session of an optimised model, which is not optimised again."""
        return PythonCode(session.Session(region, {}, data), fills=True)


def weights(region: Region) -> list[int]:
    """Return the numbers of a region's operands that are weights."""
    instructions = region.program.structure.instructions
    #: for each result, whether it is only a moved weight, judging by its uses
    moved = [False] * len(instructions)
    used = [0] * len(instructions)
    well = [0] * len(instructions)
    leaves: dict[int, bool] = {}
    for n in range(len(instructions) - 1, -1, -1):
        i = instructions[n]
        name = i.spec.op.name
        moved[n] = name in ops.MOVES and 0 < used[n] == well[n]
        for k, item in enumerate(i.operands):
            as_weight = moved[n] if name in ops.MOVES and k == 0 else (
                k in ops.WEIGHTS.get(name, ()) or _bias(Call.of(i), k))
            if isinstance(item, Leaf):
                leaves[item.number] = leaves.get(item.number, True) and as_weight
            elif isinstance(item, Result):
                used[item.instruction] += 1
                well[item.instruction] += as_weight
    return sorted(k for k, good in leaves.items() if good)


def _bias(call: Call, k: int) -> bool:
    """Return True if an operand of a sum or product is the smaller of two, and not a scalar."""
    if call.op not in ("add", "multiply") or k > 1:
        return False
    x, other = call.operands[k], call.operands[1 - k]
    return x is not None and other is not None and 0 < x.ndim and x.size < other.size


def made() -> OnnxRuntime | None:
    """Return the generator, if the library exists; the entry point names this function."""
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    try:
        version = importlib.metadata.version("onnxruntime")
    except importlib.metadata.PackageNotFoundError:
        # from a package of another name
        version = str(session.runtime().__version__)
    return OnnxRuntime(version)
