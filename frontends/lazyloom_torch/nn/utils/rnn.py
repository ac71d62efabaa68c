"""Sequences of different lengths: padded, and packed.

A packed sequence holds the steps of all sequences without padding, step by step. Here it also
keeps what it was packed from, padded, together with the lengths: recurrent layers run on that,
and ``data`` is made only when somebody asks for it, so that programs depend on the padded shape
alone and not on the lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import lazyloom
from lazyloom import Value

from ... import _dtypes
from ..._core import record, scalar
from ..._functions import shaping
from ..._functions.creation import tensor
from ..._tensor import Tensor, operand

_wrap = Tensor.from_value


def _host(values: Any) -> list[int]:
    if isinstance(values, Tensor):
        return [int(v) for v in values.tolist()]
    return [int(v) for v in values]


def _indices(values: Any) -> Any:
    return lazyloom.from_host(np.asarray(values, np.int64))


def _sizes_of(lengths: Sequence[int]) -> list[int]:
    """How many sequences have a step, for each step."""
    return [sum(n > t for n in lengths) for t in range(max(lengths))]


def _lengths_of(sizes: Sequence[int]) -> list[int]:
    """The lengths of sequences, the longest first."""
    return [sum(s > i for s in sizes) for i in range(sizes[0])] if sizes else []


class PackedSequence:
    """The steps of sequences of different lengths, without padding.

    Attributes:
        data: the first step of all sequences, the second of those that have one, and so on;
            the longest sequence comes first.
        batch_sizes: how many sequences have a step, for each step (int64).
        sorted_indices: the order of the sequences, longest first; None if they came so.
        unsorted_indices: the inverse of that order.
    """

    _fields = ("data", "batch_sizes", "sorted_indices", "unsorted_indices")

    def __init__(
        self, data: Tensor | None, batch_sizes: Any = None, sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> None:
        if batch_sizes is None:
            # PyTorch's older way: PackedSequence((data, batch_sizes))
            data, batch_sizes = data  # type: ignore[misc]
        self._data = data
        self.batch_sizes: Tensor = batch_sizes
        self.sorted_indices = sorted_indices
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        self.unsorted_indices = unsorted_indices
        #: the padded form (steps, batch, ...), whose padding may hold anything
        self._padded: Tensor | None = None
        self._lengths: list[int] | None = None

    @property
    def lengths(self) -> list[int]:
        """The lengths of the sequences, longest first."""
        if self._lengths is None:
            self._lengths = _lengths_of(_host(self.batch_sizes))
        return self._lengths

    def _rows(self, batch: int) -> np.ndarray[Any, Any]:
        """Where each row of ``data`` lies among the rows (step, sequence) of the padded form."""
        sizes = _sizes_of(self.lengths)
        return np.concatenate([np.arange(s, dtype=np.int64) + t * batch
                               for t, s in enumerate(sizes)])

    @property
    def data(self) -> Tensor:
        if self._data is None:
            assert self._padded is not None
            value = operand(self._padded)
            steps, batch = value.shape[:2]
            flat = record("reshape", [value], {"shape": (steps * batch, *value.shape[2:])})
            self._data = _wrap(record("take", [flat, _indices(self._rows(batch))], {"axis": 0}))
        return self._data

    def _as_padded(self) -> tuple[Tensor, Tensor]:
        """The padded form, and the lengths as a tensor."""
        if self._padded is None:
            assert self._data is not None
            lengths = self.lengths
            batch, steps = len(lengths), max(lengths)
            place = np.zeros(steps * batch, np.int64)
            place[self._rows(batch)] = np.arange(sum(lengths))
            value = record("take", [operand(self._data), _indices(place)], {"axis": 0})
            self._padded = _wrap(record("reshape", [value], {
                "shape": (steps, batch, *value.shape[1:])}))
        return self._padded, _wrap(_indices(self.lengths))

    def _again(self, padded: Tensor) -> PackedSequence:
        """Another packed sequence of the same lengths, by its padded form."""
        made = PackedSequence(None, self.batch_sizes, self.sorted_indices, self.unsorted_indices)
        made._padded, made._lengths = padded, self.lengths
        return made

    def _converted(self, change: Any) -> PackedSequence:
        if self._padded is not None:
            found = change(self._padded)
            return self if found is self._padded else self._again(found)
        found = change(self._data)
        return self if found is self._data else PackedSequence(
            found, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data in another dtype; see :meth:`Tensor.to`."""
        return self._converted(lambda t: t.to(*args, **kwargs))

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """This sequence: there is only the CPU."""
        return self

    def double(self) -> PackedSequence:
        """The data as float64."""
        return self.to(dtype=_dtypes.float64)

    def float(self) -> PackedSequence:
        """The data as float32."""
        return self.to(dtype=_dtypes.float32)

    def half(self) -> PackedSequence:
        """The data as float16."""
        return self.to(dtype=_dtypes.float16)

    def long(self) -> PackedSequence:
        """The data as int64."""
        return self.to(dtype=_dtypes.int64)

    def int(self) -> PackedSequence:
        """The data as int32."""
        return self.to(dtype=_dtypes.int32)

    def short(self) -> PackedSequence:
        """The data as int16."""
        return self.to(dtype=_dtypes.int16)

    def char(self) -> PackedSequence:
        """The data as int8."""
        return self.to(dtype=_dtypes.int8)

    def byte(self) -> PackedSequence:
        """The data as uint8."""
        return self.to(dtype=_dtypes.uint8)

    def pin_memory(self) -> PackedSequence:
        """This sequence: no memory needs pinning."""
        return self

    def is_pinned(self) -> bool:
        """False."""
        return False

    @property
    def is_cuda(self) -> bool:
        """False."""
        return False

    def __len__(self) -> Any:
        return 4

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, n) for n in self._fields)

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    def __repr__(self) -> str:
        return "PackedSequence(" + ", ".join(f"{n}={getattr(self, n)}" for n in self._fields) + ")"


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The order that undoes another one."""
    if permutation is None:
        return None
    return _wrap(record("argsort", [operand(permutation)], {
        "axis": 0, "descending": False, "stable": True}))


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
    given = _host(lengths)
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
    made = PackedSequence(None, tensor(_sizes_of(given)))
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
        found = tensor([lengths[i] for i in _host(order)])
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
    return [rows[i, :n] for i, n in enumerate(_host(lengths))]


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
