"""``torch.onnx.symbolic_helper``: the decorator of functions for an export that is not here."""

from __future__ import annotations

from typing import Any

from .. import _absent
from .._absent_names import MODULES


def parse_args(*arg_descriptors: str) -> Any:
    """A decorator that gives the function itself."""
    return lambda f: f


__getattr__ = _absent.missing(__name__, reason=MODULES["onnx"])
