"""Packed sequences: the steps of sequences of different lengths, without padding.

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

from .. import _dtypes
from .._core import record
from .._tensor import Tensor, operand

_wrap = Tensor.from_value


def on_host(values: Any) -> list[int]:
    if isinstance(values, Tensor):
        return [int(v) for v in values.tolist()]
    return [int(v) for v in values]


def _indices(values: Any) -> Any:
    return lazyloom.from_host(np.asarray(values, np.int64))


def sizes_of(lengths: Sequence[int]) -> list[int]:
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
            self._lengths = _lengths_of(on_host(self.batch_sizes))
        return self._lengths

    def _rows(self, batch: int) -> np.ndarray[Any, Any]:
        """Where each row of ``data`` lies among the rows (step, sequence) of the padded form."""
        sizes = sizes_of(self.lengths)
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
