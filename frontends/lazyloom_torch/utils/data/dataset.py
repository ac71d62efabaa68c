"""Datasets.

A dataset may define ``fetch_batch(indices)``, given a NumPy vector of positions: the
DataLoader then gets a whole batch at once. :class:`TensorDataset` takes each of its
tensors' rows by one op that way.
"""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import lazyloom

from ..._core import record
from ..._draws import Generator
from ..._interchange import is_foreign, own_copy
from ..._tensor import Tensor, operand
from ...random import randperm


class Dataset:
    """Something with ``__getitem__(position)`` and ``__len__``."""

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("subclasses of Dataset should implement __getitem__")

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Something with ``__iter__`` only."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("subclasses of IterableDataset should implement __iter__")

    def __add__(self, other: Dataset) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class ChainDataset(IterableDataset):
    """Iterable datasets one after another."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self._checked())

    def __len__(self) -> int:
        return sum(map(len, self._checked()))


class TensorDataset(Dataset):
    """Tensors of equal first dimension, indexed together."""

    def __init__(self, *tensors: Tensor) -> None:
        tensors = tuple(own_copy(t) if is_foreign(t) else t for t in tensors)
        sizes = {t.size(0) for t in tensors}
        if len(sizes) != 1:
            raise AssertionError(
                f"Size mismatch between tensors: first dimensions are {sorted(sizes)}, expected "
                "equal ones")
        self.tensors = tensors
        for t in tensors:
            # what was still pending of the data belongs to no step that takes from it
            lazyloom.boundary(operand(t))

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))

    def fetch_batch(self, indices: np.ndarray) -> list[Tensor]:
        """The rows at these positions, one op per tensor."""
        where = lazyloom.from_host(indices)
        return [Tensor.from_value(record("take", [operand(t), where], {"axis": 0}))
                for t in self.tensors]


class StackDataset(Dataset):
    """Datasets of equal length, indexed together; gives tuples, or dicts for keywords."""

    def __init__(self, *args: Dataset, **kwargs: Dataset) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like "
                "input/output, but both types are given.")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        members = args or tuple(kwargs.values())
        self._length = len(members[0])  # type: ignore[arg-type]
        if any(len(d) != self._length for d in members):  # type: ignore[arg-type]
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {k: d[index] for k, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        return [self[i] for i in indices]

    def __len__(self) -> int:
        return self._length


class Subset(Dataset):
    """Some positions of a dataset."""

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        if hasattr(dataset, "fetch_batch"):
            self.fetch_batch = self._fetch_batch

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        chosen = [self.indices[i] for i in indices]
        several = getattr(self.dataset, "__getitems__", None)
        found: list[Any] = several(chosen) if several else [self.dataset[i] for i in chosen]
        return found

    def _fetch_batch(self, indices: np.ndarray) -> Any:
        return self.dataset.fetch_batch(  # type: ignore[attr-defined]
            np.asarray(self.indices, np.int64)[indices])

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """Datasets one after another."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(
            itertools.accumulate(len(d) for d in self.datasets))  # type: ignore[arg-type]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        if index >= len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} samples")
        which = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(
    dataset: Dataset, lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset]:
    """Subsets without common positions, of given lengths, or fractions that add up to 1."""
    total = len(dataset)  # type: ignore[arg-type]
    sizes: list[Any] = list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        for i, part in enumerate(sizes):
            if not 0 <= part <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        whole = [math.floor(total * part) for part in sizes]
        for i in range(total - sum(whole)):
            whole[i % len(whole)] += 1
        for i, size in enumerate(whole):
            if size == 0:
                warnings.warn(f"Length of split at index {i} is 0. This might result in an empty "
                              "dataset.", stacklevel=2)
        sizes = whole
    if sum(sizes) != total:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(total, generator=generator).tolist()
    ends = list(itertools.accumulate(int(s) for s in sizes))
    return [Subset(dataset, order[end - int(size):end])
            for end, size in zip(ends, sizes, strict=True)]
