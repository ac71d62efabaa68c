"""``torch._dynamo.utils``: what libraries ask before they compile a function."""

from __future__ import annotations

from .. import _absent
from .._absent_names import MODULES
from ..compiler import is_compiling as is_compiling


def is_compile_supported(device_type: str) -> bool:
    """True: what is recorded is compiled anyway, and torch.compile gives back what it is given."""
    return True


__getattr__ = _absent.missing(__name__, reason=MODULES["_dynamo"])
