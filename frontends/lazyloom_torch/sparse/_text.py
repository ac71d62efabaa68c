"""How sparse tensors print."""

from __future__ import annotations

from typing import Any

from .._dtypes import get_default_dtype, int64
from .._formats import sparse_coo, sparse_csr
from .._repr import tensor_text


def _part(name: str, part: Any) -> str:
    found = tensor_text(part.detach())
    if not part.numel():
        found = f"tensor([], size={tuple(part.shape)})"
    elif found.startswith("tensor("):
        # the dtype is told once
        found = found.rpartition(", dtype=")[0] + ")" if ", dtype=" in found else found
    return found.replace("\n", "\n" + " " * len(f"       {name}="))


def sparse_text(x: Any) -> str:
    """Indices, values, size, number of elements, dtype and layout of a sparse tensor."""
    if x.layout is sparse_coo:
        parts = [("indices", x._at), ("values", x._held)]
    else:
        starts, others = ("crow_indices", "col_indices") if x.layout is sparse_csr else (
            "ccol_indices", "row_indices")
        parts = [(starts, x._starts), (others, x._others), ("values", x._held)]
    lines = ",\n       ".join(f"{name}={_part(name, part)}" for name, part in parts)
    dtype = "" if x.dtype in (get_default_dtype(), int64) else f", dtype={x.dtype!r}"
    grad = ", requires_grad=True" if x.requires_grad and x.is_leaf else ""
    return (f"tensor({lines},\n       size={tuple(x.shape)}, nnz={x._nnz()}{dtype}, "
            f"layout={x.layout}{grad})")
