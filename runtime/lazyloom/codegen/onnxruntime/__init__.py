"""ONNX Runtime as a code generator: regions of inference as ONNX models, weights as initializers.

The library comes from the extra ``onnxruntime``, or any package of the module's name. Models are
written without the package ``onnx``.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...program.stream import Leaf, Result
from ..generator import Answer, Call, Code, Generator, No, PythonCode, Region
from ..worth import at_least
from . import ops, session

#: multiplications of a region from which it is worth a call
SMALL: Final = 1_000_000
#: multiplications a second that an estimate rests on
_SPEED: Final = 5e10


class OnnxRuntime(Generator):
    """Regions of inference, as large as they get, each a session."""

    name = "onnxruntime"
    priority = 20
    by_default = False

    def __init__(self, version: str) -> None:
        self.version = version

    def supports(self, call: Call) -> Answer:
        """By a table of ops."""
        return ops.supports(call)

    def worthwhile(self, region: Region) -> Answer:
        """Regions with products or convolutions of some size."""
        size = sum(t.nbytes for t in region.operands)
        if size > session.MOST:
            return No(f"operands of {size} bytes, expected at most {session.MOST}")
        return at_least(sum(map(ops.work, region.calls)), SMALL, "multiplications")

    def seconds(self, region: Region) -> float | None:
        """By the number of multiplications."""
        return sum(map(ops.work, region.calls)) / _SPEED

    def constants(self, region: Region) -> Sequence[int]:
        """Weights: operands that nothing but products, norms and sums use, as such."""
        return weights(region)

    def build(self, region: Region) -> Code:
        """A session in which weights are inputs."""
        return PythonCode(session.Session(region, {}), fills=True)

    def bound(self, region: Region, values: Mapping[int, Any]) -> Code:
        """A session in which weights are initializers, so that it packs and folds them."""
        return PythonCode(session.Session(region, values), fills=True)


def weights(region: Region) -> list[int]:
    """The operands of a region that are weights, by their numbers."""
    instructions = region.program.structure.instructions
    #: of each result, whether it is but a weight moved, as far as its uses say
    moved = [False] * len(instructions)
    used = [0] * len(instructions)
    well = [0] * len(instructions)
    leaves: dict[int, bool] = {}
    for n in range(len(instructions) - 1, -1, -1):
        i = instructions[n]
        name = i.spec.op.name
        moved[n] = name in ops.MOVES and 0 < used[n] == well[n]
        for k, item in enumerate(i.operands):
            as_weight = moved[n] if name in ops.MOVES else (
                k in ops.WEIGHTS.get(name, ()) or _bias(Call.of(i), k))
            if isinstance(item, Leaf):
                leaves[item.number] = leaves.get(item.number, True) and as_weight
            elif isinstance(item, Result):
                used[item.instruction] += 1
                well[item.instruction] += as_weight
    return sorted(k for k, good in leaves.items() if good)


def _bias(call: Call, k: int) -> bool:
    """Whether an operand of a sum or product is the smaller of two, and no number."""
    if call.op not in ("add", "multiply") or k > 1:
        return False
    own, other = call.operands[k], call.operands[1 - k]
    return own is not None and other is not None and 0 < own.ndim and own.size < other.size


def made() -> OnnxRuntime | None:
    """The generator, where the library is there; what the entry point names."""
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    try:
        version = importlib.metadata.version("onnxruntime")
    except importlib.metadata.PackageNotFoundError:
        # from a package of another name
        version = str(session.runtime().__version__)
    return OnnxRuntime(version)
