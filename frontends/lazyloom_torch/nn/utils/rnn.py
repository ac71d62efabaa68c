"""Sequences of different lengths: padded, and packed.

See :mod:`lazyloom_torch._functions.packed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lazyloom
from lazyloom import Value

from ..._core import record, scalar
from ..._functions import shaping
from ..._functions.creation import tensor
from ..._functions.packed import PackedSequence, invert_permutation, on_host, sizes_of
from ..._tensor import Tensor, operand

_wrap = Tensor.from_value


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packed sequences of (T, N, ...), or (N, T, ...) with batch_first, and their lengths.

    Lengths are read, as the shape of the result depends on them. Raises RuntimeError for
    lengths that are 0, longer than the input, do not fit the batch or, with enforce_sorted,
    grow.
    """
    if isinstance(lengths, Tensor):
        if lengths.dim() != 1:
            raise RuntimeError("'lengths' argument should be a 1D CPU int64 tensor, but got "
                               f"{lengths.dim()}D {lengths.dtype!r} tensor")
    given = on_host(lengths)
    if batch_first:
        input = input.transpose(0, 1)
    steps, batch = input.shape[:2]
    if len(given) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(given)} (batch_size="
            f"{batch})")
    if min(given, default=1) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0")
    order = None
    if not enforce_sorted:
        order = sorted(range(batch), key=lambda i: -given[i])
        given = [given[i] for i in order]
    elif any(a < b for a, b in zip(given, given[1:], strict=False)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence to sort them.")
    if not given:
        raise RuntimeError("Cannot pack empty tensors.")
    if given[0] > steps:
        raise RuntimeError(
            f"Expected lengths up to the {steps} steps of the input, but got {given[0]}")
    made = PackedSequence(None, tensor(sizes_of(given)))
    if order is not None:
        inverse = sorted(range(batch), key=lambda i: order[i])
        made.sorted_indices, made.unsorted_indices = tensor(order), tensor(inverse)
        input = input.index_select(1, made.sorted_indices)
    made._padded, made._lengths = input, given
    return made


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
    total_length: Any = None,
) -> tuple[Tensor, Tensor]:
    """The padded form (T, N, ...) of packed sequences, and their lengths, in the first order.

    T is the longest length, or ``total_length``. Raises ValueError where that is shorter.
    """
    lengths = sequence.lengths
    longest = max(lengths)
    if total_length is None:
        total_length = longest
    elif total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {longest}")
    padded, count = sequence._as_padded()
    value = operand(padded)
    steps, ndim = value.shape[0], len(value.shape)
    if steps > total_length:
        value = record("slice", [value], {
            "starts": (0,) * ndim, "stops": (total_length, *value.shape[1:])})
    elif steps < total_length:
        value = record("pad", [value, scalar(0, value.dtype)], {
            "low": (0,) * ndim, "high": (total_length - steps, *(0,) * (ndim - 1)),
            "interior": (0,) * ndim})
    step = record("iota", [], {"shape": value.shape[:2], "axis": 0, "dtype": count.value.dtype})
    inside = record("less", [step, operand(count)])
    inside = record("reshape", [inside], {"shape": (*value.shape[:2], *(1,) * (ndim - 2))})
    made = _wrap(record("where", [inside, value, scalar(padding_value, value.dtype)]))
    order = sequence.unsorted_indices
    found = tensor(lengths)
    if order is not None:
        made = made.index_select(1, order)
        found = tensor([lengths[i] for i in on_host(order)])
    return (made.transpose(0, 1) if batch_first else made), found


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (L, ...) side by side, padded to the longest: (T, N, ...) or (N, T, ...).

    Raises RuntimeError for sequences whose other dimensions differ.
    """
    if padding_side not in ("right", "left"):
        raise RuntimeError(f"padding_side must be 'right' or 'left', not {padding_side!r}")
    given = list(sequences.unbind(0) if isinstance(sequences, Tensor) else sequences)
    if not given:
        raise RuntimeError("received an empty list of sequences")
    for s in given:
        if not isinstance(s, Tensor):
            raise RuntimeError(
                f"pad_sequence: Expected iterable for input sequences, but got arg of type: "
                f"{type(s)}")
        if s.dim() == 0 or s.shape[1:] != given[0].shape[1:]:
            raise RuntimeError(
                "The size of sequences must match at all dimensions but the first, but they have "
                f"{[list(x.shape) for x in given]}")
    longest = max(s.shape[0] for s in given)
    values = [operand(s) for s in given]
    dim = 0 if batch_first else 1
    if not shaping.is_data(given, values, 2):
        return shaping.stack(
            [_wrap(_padded(v, longest, padding_value, padding_side)) for v in values], dim)
    # Each sequence is padded by a program of its own, to one of few widths: lengths come in any
    # combination, and would make a program of every batch.
    width = 1 << max(longest - 1, 0).bit_length()
    rows = [lazyloom.boundary(_padded(v, width, padding_value, padding_side)) for v in values]
    wide = shaping.stack([_wrap(v) for v in rows], dim)
    first = width - longest if padding_side == "left" else 0
    made = wide.narrow(1 - dim, first, longest).contiguous()
    lazyloom.boundary(operand(made))
    return made


def _padded(value: Value, length: int, number: float, side: str) -> Value:
    missing, rest = length - value.shape[0], (0,) * (len(value.shape) - 1)
    if not missing:
        return value
    low, high = (missing, 0) if side == "left" else (0, missing)
    found: Value = record("pad", [value, scalar(number, value.dtype)], {
        "low": (low, *rest), "high": (high, *rest), "interior": (0, *rest)})
    return found


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
                   ) -> list[Tensor]:
    """The sequences of (T, N, ...) without their padding. Lengths are read."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [rows[i, :n] for i, n in enumerate(on_host(lengths))]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences (L, ...) packed; with enforce_sorted the longest must come first."""
    lengths = [s.size(0) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence",
           "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence"]
