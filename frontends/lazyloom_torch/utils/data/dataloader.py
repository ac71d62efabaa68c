"""DataLoader: batches of a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..._functions.creation import tensor
from ..._functions.shaping import stack
from ..._tensor import Tensor
from ...random import Generator
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler


def default_collate(batch: list[Any]) -> Any:
    """Samples as one batch: tensors stacked, numbers as tensors, tuples and dicts by member."""
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch)
    if isinstance(first, np.ndarray):
        return tensor(np.stack(batch))
    if isinstance(first, (bool, int, float, np.generic)):
        return tensor(np.asarray(batch) if isinstance(first, np.generic) else batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {k: default_collate([sample[k] for sample in batch]) for k in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(list(s)) for s in zip(*batch, strict=True)))
    if isinstance(first, (tuple, list)):
        return [default_collate(list(s)) for s in zip(*batch, strict=True)]
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {type(first).__name__}")


def default_convert(data: Any) -> Any:
    """A sample with its arrays as tensors."""
    return tensor(data) if isinstance(data, np.ndarray) else data


class DataLoader:
    """Iterates over batches.

    Args:
        dataset: with ``__getitem__`` and ``__len__``, or ``__iter__``.
        batch_size: samples a batch; None gives single samples.
        shuffle: visit positions in random order, drawn from ``generator``.
        sampler, batch_sampler: other orders; ``batch_sampler`` gives lists of positions.
        num_workers: must be 0; batches are made by recorded ops in this process.
        collate_fn: makes a batch of a list of samples.
        drop_last: leave out a last batch that is not full.
    """

    def __init__(
        self, dataset: Dataset, batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Any = None, batch_sampler: Any = None, num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None, pin_memory: bool = False,
        drop_last: bool = False, timeout: float = 0, worker_init_fn: Any = None,
        multiprocessing_context: Any = None, generator: Generator | None = None, *,
        prefetch_factor: int | None = None, persistent_workers: bool = False,
    ) -> None:
        if num_workers != 0:
            raise ValueError(
                f"num_workers is {num_workers}, expected 0: batches are made by recorded ops in "
                "this process, and a process that was forked after lazyloom started cannot use it")
        iterable = isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__")
        if iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("an iterable dataset takes neither shuffle nor a sampler")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually "
                             "exclusive with drop_last")
        self.dataset, self.generator, self.drop_last = dataset, generator, drop_last
        self.batch_size = batch_size
        self.num_workers = 0
        self._iterable = iterable
        if not iterable and sampler is None and batch_sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else (
                SequentialSampler(dataset))
        if not iterable and batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self._batched = batch_sampler is not None or (iterable and batch_size is not None)
        self._default = collate_fn is None
        self.collate_fn: Callable[[Any], Any] = collate_fn or (
            default_collate if self._batched else default_convert)

    def __iter__(self) -> Iterator[Any]:
        if self._iterable:
            yield from self._from_iterable()
            return
        if self.batch_sampler is None:
            for position in self.sampler:
                yield self.collate_fn(self.dataset[position])
            return
        fetch = getattr(self.dataset, "fetch_batch", None) if self._default else None
        for positions in self.batch_sampler:
            if fetch is not None:
                yield fetch(self._checked(positions))
            elif hasattr(self.dataset, "__getitems__"):
                yield self.collate_fn(self.dataset.__getitems__(list(positions)))
            else:
                yield self.collate_fn([self.dataset[i] for i in positions])

    def _checked(self, positions: Any) -> np.ndarray:
        found = positions.read() if isinstance(positions, Tensor) else np.asarray(
            [int(i) for i in positions] if isinstance(positions, list) else positions, np.int64)
        n = len(self.dataset)  # type: ignore[arg-type]
        if found.size and not (found.min() >= -n and found.max() < n):
            raise IndexError(f"a sampler gave a position outside the dataset of {n} samples")
        return found.astype(np.int64, copy=False)

    def _from_iterable(self) -> Iterator[Any]:
        if not self._batched:
            for sample in self.dataset:  # type: ignore[attr-defined]
                yield self.collate_fn(sample)
            return
        batch: list[Any] = []
        for sample in self.dataset:  # type: ignore[attr-defined]
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.collate_fn(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.collate_fn(batch)

    def __len__(self) -> int:
        if self._iterable:
            n = len(self.dataset)  # type: ignore[arg-type]
            if self.batch_size is None:
                return n
            return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        return len(self.batch_sampler if self.batch_sampler is not None else self.sampler)
