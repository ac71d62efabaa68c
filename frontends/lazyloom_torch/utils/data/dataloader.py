"""DataLoader: batches of a dataset, made here or by worker processes."""

from __future__ import annotations

import itertools
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from ..._draws import Generator
from ..._tensor import Tensor
from ...random import randint
from ._collate import apart, default_collate, default_convert
from ._processes import Batches, Workers, context
from ._worker import Again, Task, fetcher, get_worker_info
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler


class _Endless(Sampler):
    """Stands for the sampler of an iterable dataset, which decides itself."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader:
    """Iterates over batches.

    Args:
        dataset: with ``__getitem__`` and ``__len__``, or ``__iter__``.
        batch_size: samples a batch; None gives single samples.
        shuffle: visit positions in random order, drawn from ``generator``.
        sampler, batch_sampler: other orders; ``batch_sampler`` gives lists of positions.
        num_workers: so many processes make batches, ``prefetch_factor`` each ahead; they start
            by forkserver or spawn. What cannot be pickled, a lambda say, is used in this process,
            with a warning. A :class:`TensorDataset` needs no workers: each of its batches is one
            recorded op a tensor.
        collate_fn: makes a batch of a list of samples.
        pin_memory: accepted; tensors live on the CPU.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a batch of a worker; 0 for ever.
        worker_init_fn: called with its number in each worker, after seeding.
        persistent_workers: keep the processes, and their copies of the dataset, between epochs.
        in_order: False gives batches of workers as they come.

    Raises ValueError for arguments that exclude each other or are out of range, TypeError for
    sizes that are no ints; and in iteration what the dataset raises.
    """

    _fixed = False

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Any = None, batch_sampler: Any = None, num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None, pin_memory: bool = False,
        drop_last: bool = False, timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None, multiprocessing_context: Any = None,
        generator: Generator | None = None, *, prefetch_factor: int | None = None,
        persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to "
                             "disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing."
                             "let num_workers > 0 to enable multiprocessing, otherwise set "
                             "prefetch_factor to None.")
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if multiprocessing_context is not None:
            if num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading "
                    "(num_workers > 0), but got num_workers=0")
            context(multiprocessing_context)
        iterable = isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__")
        if iterable:
            for name, given in (("shuffle", shuffle or None), ("sampler", sampler),
                                ("batch_sampler", batch_sampler)):
                if given is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, "
                        f"but got {name}={given}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last")
            batch_size = None
            drop_last = False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually "
                             "exclusive with drop_last")
        if sampler is None:
            sampler = _Endless() if iterable else RandomSampler(
                dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.generator, self.drop_last = dataset, generator, drop_last
        self.batch_size, self.sampler, self.batch_sampler = batch_size, sampler, batch_sampler
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.multiprocessing_context = multiprocessing_context
        self.persistent_workers, self.in_order = persistent_workers, in_order
        self._iterable, self._batched = iterable, batch_sampler is not None
        self.collate_fn: Callable[[Any], Any] = collate_fn or (
            default_collate if self._batched else default_convert)
        self._workers: Workers | None = None
        self._last: Batches | None = None
        self._told: int | None = None  # how many batches an iterable dataset is said to have
        self._fixed = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._fixed and name in (
            "batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"
        ):
            raise ValueError(
                f"{name} attribute should not be set after DataLoader is initialized")
        super().__setattr__(name, value)

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_workers": None, "_last": None}

    def __iter__(self) -> Iterator[Any]:
        return self._by_workers() if self.num_workers and not self._whole else (
            _SingleProcessDataLoaderIter(self, self._here()))

    @property
    def _whole(self) -> Any:
        """How the dataset gives a batch by one op, if nothing asks for its samples."""
        if self.collate_fn is not default_collate or self._iterable or self.worker_init_fn:
            return None
        return getattr(self.dataset, "fetch_batch", None)

    def _positions(self) -> Iterable[Any]:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _here(self) -> Iterator[Any]:
        whole = self._whole
        if whole is not None:
            for positions in self._positions():
                yield whole(self._checked(positions))
            return
        fetch = fetcher(
            self.dataset, self._iterable, self._batched, self.collate_fn, self.drop_last)
        for positions in self._positions():
            try:
                batch = fetch(positions)
            except StopIteration:
                if not self._iterable:
                    raise RuntimeError("the dataset raised StopIteration") from None
                return
            yield apart(batch)

    def _by_workers(self) -> Iterator[Any]:
        # a seed first, then the sampler's draws, as in PyTorch
        seed = int(randint(0, (1 << 62), (1,), generator=self.generator).item())
        workers, last = self._workers, self._last
        task: Task | Again = Again()
        if workers is None or last is None:
            task = Task(self.dataset, self._iterable, self._batched, self.collate_fn,
                        self.drop_last, seed, self.worker_init_fn)
        else:
            last.drain()
        try:
            message = ForkingPickler.dumps(task)
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            warnings.warn(
                f"DataLoader makes its batches in this process: {error}, which its worker "
                "processes would need. They start by forkserver or spawn; functions and classes "
                "of a module can be pickled", stacklevel=3)
            return _SingleProcessDataLoaderIter(self, self._here())
        if workers is None:
            workers = Workers(self.multiprocessing_context, self.num_workers)
        batches = Batches(workers, message, iter(self._positions()), self.prefetch_factor or 1,
                          self.timeout, self.in_order)
        if self.persistent_workers:
            self._workers, self._last = workers, batches
        return _MultiProcessingDataLoaderIter(self, batches, workers)

    def _checked(self, positions: Any) -> np.ndarray:
        found = positions.read() if isinstance(positions, Tensor) else np.asarray(
            [int(i) for i in positions] if isinstance(positions, list) else positions, np.int64)
        n = len(self.dataset)
        if found.size and not (found.min() >= -n and found.max() < n):
            raise IndexError(f"a sampler gave a position outside the dataset of {n} samples")
        return found.astype(np.int64, copy=False)

    def __len__(self) -> int:
        if self._iterable:
            n = len(self.dataset)
            if self.batch_size is not None:
                n = n // self.batch_size if self.drop_last else -(-n // self.batch_size)
            self._told = n
            return n
        return len(self._positions())  # type: ignore[arg-type]


class _BaseDataLoaderIter:
    """The iterator of one epoch; ends its workers with it unless they are to stay.

    Warns where an iterable dataset gives more than it was asked and said.
    """

    def __init__(
        self, loader: DataLoader, batches: Iterator[Any], workers: Workers | None = None
    ) -> None:
        self.loader, self.batches, self.given = loader, batches, 0
        self.workers = None if loader.persistent_workers else workers

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __len__(self) -> int:
        return len(self.loader)

    def __next__(self) -> Any:
        try:
            batch = next(self.batches)
        except StopIteration:
            self._end()
            raise
        if self.given == self.loader._told:
            warnings.warn(
                f"Length of IterableDataset {self.loader.dataset} was reported to be {self.given}"
                " batches but there are more; with workers each of them has to give its own "
                "part of the data", stacklevel=2)
        self.given += 1
        return batch

    def _end(self) -> None:
        if self.workers is not None:
            self.workers.end()

    def __del__(self) -> None:
        self._end()


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """One that makes its batches in this process."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """One that has workers make its batches."""


__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
