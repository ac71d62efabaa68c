"""Scales before operands: ``torch.add(x, 2, y)`` for ``torch.add(x, y, alpha=2)``.

PyTorch deprecates these overloads and takes them still. Calls by the present signatures never come
here: they do not fail.
"""

from __future__ import annotations

import warnings
from typing import Any

from ._tensor import Tensor

_SUMS = frozenset(("add", "sub"))
_PRODUCTS = frozenset(("addcmul", "addcdiv"))
_MATRICES = frozenset(("addmm", "addmv", "addr", "baddbmm", "addbmm"))
NAMES = _SUMS | _PRODUCTS | _MATRICES


def reordered(name: str, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The operands and the scales by name, of a call whose scales come first; None for others.

    ``add`` and ``sub`` have (input, alpha, other), ``addcmul`` and ``addcdiv`` (input, value,
    tensor1, tensor2), products of matrices (beta, input, alpha, mat1, mat2) or (beta, input, mat1,
    mat2), as methods (input, beta, ...). Warns as PyTorch does.
    """
    if name in _SUMS:
        if len(args) != 3 or isinstance(args[1], Tensor):
            return None
        operands: tuple[Any, ...] = (args[0], args[2])
        scales = {"alpha": args[1]}
    elif len(args) in (4, 5):
        operands = tuple(x for x in args if isinstance(x, Tensor))
        numbers = [x for x in args if not isinstance(x, Tensor)]
        factors = isinstance(args[-2], Tensor) and isinstance(args[-1], Tensor)
        second = name in _PRODUCTS and (len(args) != 4 or isinstance(args[1], Tensor))
        if len(operands) != 3 or not factors or second:
            return None
        scales = dict(zip(("value",) if name in _PRODUCTS else ("beta", "alpha"), numbers))
    else:
        return None
    warnings.warn(
        f"This overload of {name} is deprecated; give {' and '.join(scales)} by name, after the "
        "operands", UserWarning, stacklevel=4)
    return operands, scales
