"""Windows and other views by strides, as ``numpy.lib.stride_tricks``."""

from .._functions.manipulation import broadcast_arrays, broadcast_shapes, broadcast_to
from .._functions.memory import as_strided, sliding_window_view

__all__ = [
    "as_strided", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "sliding_window_view",
]  # fmt: skip
