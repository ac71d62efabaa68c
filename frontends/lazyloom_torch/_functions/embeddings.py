"""Rows of tables at indices: embeddings, bags of them, and one-hot vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

import lazyloom
from lazyloom import Spec
from lazyloom.dtypes import int64
from lazyloom.frontend import write_lock

from .. import _dtypes
from .._core import cast, record, record_two, scalar, spec
from .._grad_mode import no_grad
from .._tensor import Tensor, operand
from . import bounds
from .spatial import constant

_wrap = Tensor.from_value
_EMBEDDINGS: dict[int | None, Spec] = {}


def _rows(indices: Tensor, weight: Tensor, name: str) -> Any:
    """The indices as a Value, checked. Raises RuntimeError for other dtypes, IndexRangeError."""
    where = operand(indices)
    if where.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {indices.dtype!r} instead (while checking arguments for {name})")
    return bounds.checked(where, weight.tensor_type.shape[0], None, name, negative=False)


def _padding(padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(
            f"Padding_idx must be within num_embeddings, got {padding_idx} for {rows} rows")
    return padding_idx + rows if padding_idx < 0 else padding_idx


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:
    """Rows of the weight at integer indices; the row padding_idx gets no gradient.

    ``max_norm`` first scales the rows in use down to that norm, in place;
    ``scale_grad_by_freq`` divides gradients by how often a row is used. Gradients are dense,
    with ``sparse`` too. Raises IndexError for indices out of range.
    """
    if len(weight.tensor_type.shape) != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {list(weight.shape)}")
    where = _rows(input, weight, "embedding")
    if padding_idx is not None:
        padding_idx = _padding(padding_idx, weight.tensor_type.shape[0])
    if max_norm is not None:
        _renormalize(weight, where, float(max_norm), float(norm_type))
    ready = _EMBEDDINGS.get(padding_idx)
    if ready is None:
        ready = _EMBEDDINGS[padding_idx] = spec("embedding", 2, {"padding_index": padding_idx})
    table = operand(weight)
    if not table.dtype.is_inexact:
        return _wrap(record("take", [table, where], {"axis": 0}))
    value = record_two(ready, table, where)
    if scale_grad_by_freq and value.requires_grad:
        often = record("take", [_counts(where, weight, value.dtype), where], {"axis": 0})
        often = record("expand_dims", [often], {"axes": (len(where.shape),)})
        scaled = record("divide", [value, often])
        value = record("straight_through", [scaled, value.detach()])
    return _wrap(value)


def _counts(where: Any, weight: Tensor, dtype: Any) -> Any:
    """How often each row occurs."""
    zeros = record("full", [scalar(0, dtype)], {"shape": (weight.tensor_type.shape[0],)})
    flat = record("reshape", [where], {"shape": (where.type.size,)})
    return record("index_update", [zeros, scalar(1, dtype), flat], {"axes": (0,), "mode": "add"})


def _renormalize(weight: Tensor, where: Any, most: float, norm_type: float) -> None:
    """Scale the rows in use that are longer than ``most`` down to it, in place."""
    with no_grad(), write_lock(weight):
        w = weight.value
        norms = record("norm", [w], {"order": norm_type, "axes": (1,), "keepdims": True})
        used = record("expand_dims", [_counts(where, weight, w.dtype)], {"axes": (1,)})
        long = record("logical_and", [
            record("greater", [used, scalar(0, w.dtype)]),
            record("greater", [norms, scalar(most, w.dtype)])])
        factor = record("divide", [
            scalar(most, w.dtype), record("add", [norms, scalar(1e-7, w.dtype)])])
        weight._assign(record("multiply", [w, record("where", [long, factor, scalar(1, w.dtype)])]))


_MODES = ("sum", "mean", "max")


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
    norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean",
    sparse: bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows of the weight.

    The rows of a 2-D input are bags, or pieces of a 1-D input that start at ``offsets`` (and
    end at the last of them with ``include_last_offset``). Entries equal to ``padding_idx`` do
    not count.
    """
    rank = len(input.tensor_type.shape)
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})")
    if len(weight.tensor_type.shape) != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if rank not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {rank}")
    if rank == 2 and offsets is not None:
        raise ValueError("if input is 2D, then offsets has to be None, as input is treated as a "
                         "mini-batch of fixed length sequences")
    if rank == 1 and (offsets is None or offsets.ndim != 1):
        raise ValueError(f"offsets has to be a 1D Tensor but got {offsets!r}")
    if mode not in _MODES:
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode!r}")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError(
            "max mode does not support scaling the gradient by the frequency, nor sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}')")
    flat = input.reshape(-1)
    rows = embedding(flat, weight, None, max_norm, norm_type, scale_grad_by_freq)
    if rank == 2:
        bags, count = constant(np.repeat(np.arange(input.shape[0]), input.shape[1])), (
            input.shape[0])
    else:
        bags, count = _bags(offsets, flat, include_last_offset)  # type: ignore[arg-type]
    where = operand(flat)
    padding = _padding(padding_idx, weight.tensor_type.shape[0])
    heard = None if padding is None else record("not_equal", [where, scalar(padding, where.dtype)])
    values = operand(rows)
    if per_sample_weights is not None:
        factor = operand(per_sample_weights.reshape(-1))
        values = record("multiply", [values, record("expand_dims", [factor], {"axes": (1,)})])
    if mode == "max":
        return _wrap(_largest(values, bags, heard, count))
    if heard is not None:
        wide = record("broadcast_to", [record("expand_dims", [heard], {"axes": (1,)})],
                      {"shape": values.shape})
        values = record("where", [wide, values, scalar(0, values.dtype)])
    total = _bag_sums(values, bags, count)
    if mode == "mean":
        one = record("full", [scalar(1, values.dtype)], {"shape": flat.tensor_type.shape}) if (
            heard is None) else cast(heard, values.dtype)
        sizes = record("maximum", [_bag_sums(one, bags, count), scalar(1, values.dtype)])
        total = record("divide", [total, record("expand_dims", [sizes], {"axes": (1,)})])
    return _wrap(total)


def _bags(offsets: Tensor, flat: Tensor, include_last: bool) -> tuple[Any, int]:
    """The bag that each entry is in, and how many bags there are."""
    starts = operand(offsets)
    count = starts.shape[0] - include_last
    if count < 0:
        raise RuntimeError("include_last_offset: number of offsets should be at least 1")
    if include_last:
        starts = record("slice", [starts], {"starts": (0,), "stops": (count,)})
    positions = constant(np.arange(flat.tensor_type.shape[0]))
    if not count:
        return positions, 0
    found = record("searchsorted", [cast(starts, int64), positions], {"side": "right"})
    return record("subtract", [found, scalar(1, found.dtype)]), count


def _bag_sums(values: Any, bags: Any, count: int) -> Any:
    zeros = record("full", [scalar(0, values.dtype)], {"shape": (count, *values.shape[1:])})
    return record("index_update", [zeros, values, bags], {"axes": (0,), "mode": "add"})


def _largest(values: Any, bags: Any, heard: Any, count: int) -> Any:
    """The largest of each bag, the first of equals; 0 for an empty one."""
    n, features = values.shape
    if not n or not count:
        return record("full", [scalar(0, values.dtype)], {"shape": (count, features)})
    plain = values.detach()
    if heard is not None:
        wide = record("broadcast_to", [record("expand_dims", [heard], {"axes": (1,)})],
                      {"shape": values.shape})
        plain = record("where", [wide, plain, scalar(float("-inf"), plain.dtype)])
    low = record("full", [scalar(float("-inf"), plain.dtype)], {"shape": (count, features)})
    best = record("index_update", [low, plain, bags], {"axes": (0,), "mode": "max"})
    mine = record("equal", [plain, record("take", [best, bags], {"axis": 0})])
    if heard is not None:
        mine = record("logical_and", [mine, wide])
    places = record("iota", [], {"shape": (n, features), "axis": 0, "dtype": int64})
    places = record("where", [mine, places, scalar(n, int64)])
    none = record("full", [scalar(n, int64)], {"shape": (count, features)})
    first = record("index_update", [none, places, bags], {"axes": (0,), "mode": "min"})
    taken = record("take_along_axis", [values, record("minimum", [
        first, scalar(n - 1, int64)])], {"axis": 0})
    return record("where", [record("less", [first, scalar(n, int64)]), taken,
                            scalar(0, values.dtype)])


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A last dimension of zeros with a one at each index (int64).

    For -1 there is a class for the largest index, which is read if it is not known.
    """
    if tensor.dtype is not _dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    value = operand(tensor)
    if num_classes == -1:
        if not value.type.size:
            raise RuntimeError(
                "Can not infer total number of classes from empty tensor.")
        known = lazyloom.known_range(value)
        if known is None:
            num_classes = int(tensor.max().item()) + 1
        else:
            if known[0] < 0:
                raise RuntimeError("Class values must be non-negative.")
            num_classes = known[1] + 1
    elif num_classes <= 0 and (num_classes < 0 or value.type.size):
        raise RuntimeError(f"Class values must be smaller than num_classes, got {num_classes}.")
    if num_classes:
        value = bounds.checked(value, num_classes, None, "one_hot", negative=False)
    return _wrap(record("one_hot", [value], {"depth": num_classes, "dtype": int64}))


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (embedding, embedding_bag, one_hot)}
