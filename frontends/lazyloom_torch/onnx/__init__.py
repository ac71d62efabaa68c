"""``torch.onnx``: models are not exported; what libraries say at their import is here."""

from __future__ import annotations

from typing import Any

from .. import _absent
from .._absent_names import MODULES


def export(model: Any, args: Any = (), f: Any = None, **options: Any) -> Any:
    """Raises NotImplementedError, which names what is exported instead."""
    _absent.refuse(
        "torch.onnx.export", f"{MODULES['onnx']}; torch.export.export and torch.export.save write "
        "StableHLO, which JAX, IREE and others read")


def is_in_onnx_export() -> bool:
    """False."""
    return False


def is_onnxrt_backend_supported() -> bool:
    """False."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int,
                                custom_opsets: Any = None) -> None:
    """Accepted: nothing is exported."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Accepted: nothing is exported."""


__getattr__ = _absent.missing(__name__, reason=MODULES["onnx"])
