"""Options of the linear cross entropy."""

from __future__ import annotations

import dataclasses
from typing import Any

from ... import _dtypes


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch computes the linear cross entropy in pieces; checked, and otherwise ignored.

    The loss does not depend on it: here the compiler decides what is kept in memory. Raises
    ValueError for what PyTorch refuses.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in {"auto", "accurate", "balanced", "compact"}:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = str(self.chunking_method).partition(":")
            if name != "aspect_ratio" or (colon and not (factor.isdigit() and int(factor) > 0)):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        floating = (_dtypes.float16, _dtypes.bfloat16, _dtypes.float32, _dtypes.float64)
        if self.acc_dtype is not None and self.acc_dtype not in floating:
            raise ValueError(
                f"acc_dtype must be None or a floating-point dtype, got {self.acc_dtype!r}")


__all__ = ["LinearCrossEntropyOptions"]
