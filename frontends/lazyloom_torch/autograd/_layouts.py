"""The strides of gradients, as PyTorch's formulas give them.

A gradient is what backward formulas made of others: that of a transposed view is transposed again,
those of functions of each element follow the order of their operands in memory, and those of
products of matrices that of the operand. All other formulas give row-major tensors here; PyTorch
documents no strides of gradients but those in ``.grad``, which are the leaf's.
"""

from __future__ import annotations

from collections.abc import Sequence

import lazyloom
from lazyloom import Step, Value

from .._functions.views import view_strides
from .._strides import Ints, memory_order, of_elements, row_major
from .._tensor import Token

_OPS = lazyloom.ops.table()
_RESHAPES = {_OPS[name] for name in ("reshape", "squeeze", "expand_dims")}
_PRODUCTS = {_OPS["matmul"], _OPS["dot_general"]}
_TRANSPOSE, _SUM, _BROADCAST, _ADD, _COPY = (
    _OPS[name] for name in ("transpose", "sum", "broadcast_to", "add", "copy"))
#: ops whose formula takes the function's operand first, and the gradient after it
_OPERAND_FIRST = {_OPS["relu"], _OPS["threshold"]}


def _looked_at(step: Step) -> Sequence[int]:
    """The operands whose strides decide about a result's: the gradient that comes in first."""
    spec, count = step.spec, len(step.operands)
    if spec is None or step.token is not None or not count:
        # a leaf, which may have been computed, or what a read has parted from its operands
        return ()
    op = spec.op
    if op.kind == "vjp" and op.base is not None and not op.base.kind:
        base, primals, argnum = op.base, spec.attrs["primals1"], spec.attrs["argnums1"][step.result]
        if count != primals + 1:
            return ()
        if base in _PRODUCTS:
            return (argnum,) if step.type.ndim == 2 else ()
        if base in (_TRANSPOSE, _SUM, _COPY) or base in _RESHAPES:
            return (primals,)
        incoming = step.operands[primals]
        if base.family != "elementwise" or incoming is None or incoming.shape != step.type.shape:
            return ()
        attrs = {name: value for name, value in spec.attrs.items() if name not in op.own}
        needed = base.dependences(attrs, primals, False)
        used = [p for p in range(primals) if needed[p] >> argnum & 1]
        return (*used, primals) if base in _OPERAND_FIRST else (primals, *used)
    if op.kind or op is _COPY:
        return ()
    if op in (_TRANSPOSE, _BROADCAST) or op in _RESHAPES:
        return (0,)
    return range(count) if op.family == "elementwise" else ()


def _strides(step: Step, known: list[Ints | None]) -> Ints | None:
    """The strides of a result; None for row-major ones. Repeated elements have strides of 0."""
    spec, shape = step.spec, step.type.shape
    if spec is None or step.token is not None:
        leaf = step.token.leaf() if isinstance(step.token, Token) else None
        return None if leaf is None else leaf.strides
    positions = _looked_at(step)
    operands: list[tuple[Ints, Ints]] = []
    for position, strides in zip(positions, known, strict=True):
        kind = step.operands[position]
        if kind is not None:
            operands.append((kind.shape, row_major(kind.shape) if strides is None else strides))
    if not operands:
        return None
    back = spec.op.kind == "vjp"
    op = spec.op.base if back else spec.op
    source, strides = operands[0]
    assert op is not None
    if op in _PRODUCTS:
        return strides if strides == (1, shape[0]) else None
    if op is _TRANSPOSE:
        return _transposed(strides, spec.attrs["axes"], back)
    if op in _RESHAPES:
        return view_strides(source, strides, shape)
    if op is _SUM:
        return _repeated(len(shape), strides, spec.attrs["axes"])
    if op is _BROADCAST:
        lead = len(shape) - len(source)
        return (0,) * lead + tuple(
            0 if d == 1 and shape[lead + i] != 1 else s
            for i, (d, s) in enumerate(zip(source, strides, strict=True)))
    if back and op in (_ADD, _COPY):
        return strides  # the gradient itself
    return of_elements(shape, tuple(operands))


def _transposed(strides: Ints, axes: Ints | None, back: bool) -> Ints:
    ndim = len(strides)
    order = range(ndim)[::-1] if axes is None else [a % ndim for a in axes]
    if not back:
        return tuple(strides[a] for a in order)
    found = dict(zip(order, strides, strict=True))
    return tuple(found[a] for a in range(ndim))


def _repeated(ndim: int, strides: Ints, axes: Ints | None) -> Ints:
    """The strides of the gradient of a sum: it is the same along the axes that were added up."""
    gone = set(range(ndim)) if axes is None else {a % ndim for a in axes}
    kept = [s for d, s in enumerate(strides) if len(strides) < ndim or d not in gone]
    return tuple(0 if d in gone else kept.pop(0) for d in range(ndim))


def laid_out(value: Value) -> Ints | None:
    """The strides of a gradient, in elements; None for row-major ones."""
    shape = value.shape
    if len(shape) < 2:
        return None
    found: Ints | None = lazyloom.folded(value, _looked_at, _strides)
    if found is None or found == row_major(shape) or memory_order(shape, found) is None:
        return None
    return found
