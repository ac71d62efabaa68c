"""What ``fully_shard`` is told beside the module: dtypes, and where parameters are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """In which dtypes a module computes and gradients are reduced; parameters keep their own.

    Attributes:
        param_dtype: of gathered parameters, and so of forward and backward pass; None for theirs.
        reduce_dtype: in which gradients are averaged; None for ``param_dtype``.
        output_dtype: to which floating-point results of the module are cast; None for no cast.
        cast_forward_inputs: whether floating-point arguments are cast to ``param_dtype``.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay where they are."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parts of parameters, gradients and optimizers' states are kept on the CPU.

    Where modules are on the CPU, that is where they are.
    """

    pin_memory: bool = True


@dataclass
class DataParallelMeshDims:
    """Which dimensions of a mesh, by name, divide parameters, and which repeat them."""

    shard: str | tuple[str, ...] | None = None
    replicate: str | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.shard is None and self.replicate is None:
            raise ValueError(
                "At least one of shard or replicate must be set in DataParallelMeshDims")

    @property
    def shard_names(self) -> tuple[str, ...]:
        """Those that divide."""
        return _names(self.shard)

    @property
    def replicate_names(self) -> tuple[str, ...]:
        """Those that repeat."""
        return _names(self.replicate)


def _names(given: str | tuple[str, ...] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)
