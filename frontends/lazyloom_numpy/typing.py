"""``numpy.typing``: names for annotations of what takes and gives arrays."""

from __future__ import annotations

from typing import TypeAlias

from numpy.typing import ArrayLike as _ArrayLike
from numpy.typing import DTypeLike, NBitBase

from ._array.ndarray import ndarray

#: what functions take for an array: ours, NumPy's, nested sequences, numbers
ArrayLike: TypeAlias = ndarray | _ArrayLike

#: an array of ours; ``NDArray[float64]`` says its dtype to readers
NDArray: TypeAlias = ndarray

__all__ = ["ArrayLike", "DTypeLike", "NBitBase", "NDArray"]
