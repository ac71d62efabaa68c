"""oneDNN as a code generator: convolutions, products of matrices, LSTM and others.

The library comes from the extra ``onednn`` (a wheel that needs nothing else), from the system, or
from the path that LAZYLOOM_ONEDNN gives.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..answers import YES, Answer, Call, No
from ..generator import Code, Generator, Layout, Region
from ..patterns import Pattern
from . import (
    attention,
    convolution,
    folded,
    int8,
    library,
    normalization,
    products,
    quantized,
    recurrent,
)
from .plan import OneDnnPlan


class _Kind(NamedTuple):
    """How ops of a kind are done.

    Attributes:
        supports: returns YES if an op is supported, or why not.
        layouts: returns the layouts that a region of one op wants.
        add: adds the primitives of an op to a plan.
        work: returns the number of multiplications of an op.
    """

    supports: Callable[[Call], Answer]
    layouts: Callable[[Region], Sequence[Layout] | None]
    add: Callable[[OneDnnPlan, Region], None]
    work: Callable[[Call], int]


_PRODUCT: Final = _Kind(products.supports, products.layouts, products.add, products.work)
_RECURRENT: Final = _Kind(
    recurrent.supports, recurrent.layouts, recurrent.add, recurrent.work)
_LAYER_NORM: Final = _Kind(
    normalization.supports, normalization.layouts, normalization.add, normalization.work)
_ATTENTION: Final = _Kind(
    attention.supports, attention.layouts, attention.add, attention.work)
_KINDS: Final = {
    "conv": _Kind(convolution.supports, convolution.layouts, convolution.forward,
                  convolution.work),
    "conv.vjp": _Kind(convolution.supports, convolution.layouts, convolution.backward,
                      convolution.work),
    "dot_general": _PRODUCT, "dot_general.vjp": _PRODUCT, "matmul": _PRODUCT,
    "matmul.vjp": _PRODUCT,
    **{f"{op}{part}": _RECURRENT for op in ("lstm", "gru") for part in ("", ".fwd", ".bwd")},
    "layer_norm": _LAYER_NORM, "layer_norm.vjp": _LAYER_NORM,
    "scaled_dot_product_attention": _ATTENTION, "scaled_dot_product_attention.vjp": _ATTENTION,
    "max_pool": _Kind(int8.supports_pooling, int8.pooling_layouts, int8.pooling,
                      lambda call: call.results[0].size),
}
#: ops that it has but computes otherwise than their definition
_OTHERWISE: Final = dict.fromkeys(("gelu", "gelu.vjp"), No(
    "its GELU of infinity is NaN, and far below 0 loses its digits", deliberate=True))
#: multiplications per second, for estimates
_SPEED: Final = 5e10


class OneDnn(Generator):
    """Regions of one op each, or of one op with what is folded into it, as primitives."""

    name = "onednn"
    priority = 10
    merges = False

    def __init__(self, path: str) -> None:
        self.path: Final = path
        self.version = library.version(path)

    def supports(self, call: Call) -> Answer:
        """Answer by the kind of op."""
        kind = _KINDS.get(call.op)
        if call.op == "max_pool.vjp":
            return No("a gradient that the generator c does", deliberate=True)
        if kind is None:
            return _OTHERWISE.get(call.op, No(f"no op of {', '.join(_KINDS)}"))
        answer = kind.supports(call)
        if isinstance(answer, No) or all(
            t is None or t.dtype.name != "bfloat16" for t in (*call.operands, *call.results)
        ):
            return answer
        lacks = library.lacks(self.path, "bfloat16")
        return No(lacks, deliberate=True) if lacks else answer

    def patterns(self) -> Sequence[Pattern]:
        """Return the groups of quantised ops around convolutions and products, and those of what
        follows a convolution."""
        return [*quantized.patterns(), *folded.patterns(self.supports)]

    def worthwhile(self, region: Region) -> Answer:
        """Return YES for every single op, and for groups that are wired as required."""
        if not int8.is_group(region):
            return YES
        lacks = library.lacks(self.path, "int8")
        return No(lacks, deliberate=True) if lacks else int8.worthwhile(region)

    def runs_alone(self, call: Call) -> Answer:
        """Return YES for convolutions; NumPy's own products are as fast."""
        return YES if call.op.startswith("conv") else No("NumPy has a product of its own")

    def seconds(self, region: Region) -> float | None:
        """Estimate by the number of multiplications."""
        if int8.is_group(region):
            return quantized.work(region.calls) / (4 * _SPEED)
        if folded.is_group(region):
            return convolution.work(region.calls[0]) / _SPEED
        return sum(_KINDS[c.op].work(c) for c in region.calls) / _SPEED

    def size_class(self, call: Call) -> str | None:
        """Return the class of a product: which of oneDNN and XLA is quicker is the machine's."""
        return products.size_class(call) if _KINDS.get(call.op) is _PRODUCT else None

    def layouts(self, region: Region) -> Sequence[Layout] | None:
        """Return layouts with channels last."""
        if int8.is_group(region):
            return int8.layouts(region)
        if folded.is_group(region):
            return folded.layouts(region)
        return _KINDS[region.calls[0].op].layouts(region)

    def build(self, region: Region) -> Code:
        """Return the primitives, which are made once."""
        return self._built(region, False)

    def constants(self, region: Region) -> Sequence[int]:
        """Return the weights of quantised groups, and those of convolutions."""
        if int8.is_group(region):
            return int8.constants(region)
        return convolution.constants(region) if region.calls[0].op == "conv" else ()

    def bound(self, region: Region, values: Mapping[int, Any]) -> Code:
        """Return the primitives, which read weights that the first run reordered."""
        return self._built(region, True)

    def _built(self, region: Region, bound: bool) -> Code:
        plan = OneDnnPlan(library.opened(self.path), bound)
        if int8.is_group(region):
            int8.add(plan, region)
        elif folded.is_group(region):
            folded.add(plan, region)
        else:
            _KINDS[region.calls[0].op].add(plan, region)
        return plan.code()


def made() -> OneDnn | None:
    """Return the generator, if the library exists; the entry point names this function."""
    path = library.find()
    if path is None or importlib.util.find_spec("lazyloom._onednn") is None:
        return None
    return OneDnn(path)
