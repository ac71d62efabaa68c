"""What several kinds of modules make their parameters and sizes with."""

from __future__ import annotations

from typing import Any

from ..._functions.creation import empty
from ..parameter import Parameter


def make_parameter(shape: tuple[int, ...], dtype: Any) -> Parameter:
    """A parameter still to be initialised."""
    return Parameter(empty(shape, dtype=dtype))
