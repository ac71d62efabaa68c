"""Samplers: in which order a dataset's positions are visited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..._draws import Generator
from ..._tensor import Tensor
from ...random import multinomial, randint, randperm


def _check_number(number: Any) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or number <= 0:
        raise ValueError(
            f"num_samples should be a positive integer value, but got num_samples={number}")


class Sampler:
    """An iterable of positions."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("subclasses of Sampler should implement __iter__")


class _Counted(Sampler):
    """A sampler of ``num_samples`` positions."""

    num_samples: int

    def __len__(self) -> int:
        return self.num_samples


#: so many independent draws are made at once
_BLOCK = 1 << 16


def _drawn(draw: Callable[[int, Generator | None], Tensor], count: int,
           generator: Generator | None) -> Iterator[int]:  # fmt: skip
    """Independent draws, which are made as they are needed where they are many.

    Those come from a generator of their own: what else the program draws meanwhile changes
    nothing.
    """
    if count <= _BLOCK:
        yield from draw(count, generator).tolist()
        return
    if generator is None:
        generator = Generator()
        generator.manual_seed(int(randint(0, (1 << 63) - 1, (1,)).item()))
    for start in range(0, count, _BLOCK):
        yield from draw(_BLOCK, generator).tolist()[: count - start]


class SequentialSampler(Sampler):
    """Positions in order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __len__(self) -> int:
        return len(self.data_source)

    def __iter__(self) -> Iterator[int]:
        yield from range(len(self))


class RandomSampler(_Counted):
    """Positions in random order: a permutation, or independent draws with replacement."""

    def __init__(self, data_source: Any, replacement: bool = False,
                 num_samples: int | None = None, generator: Generator | None = None) -> None:
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._number = num_samples
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}")
        _check_number(self.num_samples)

    @property
    def num_samples(self) -> int:  # type: ignore[override]
        return len(self.data_source) if self._number is None else self._number

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        if self.replacement:
            yield from _drawn(lambda count, generator: randint(
                0, n, (count,), generator=generator), self.num_samples, self.generator)
            return
        left = self.num_samples
        while left > 0:
            order = randperm(n, generator=self.generator).tolist()
            yield from order[:left]
            left -= n


class SubsetRandomSampler(Sampler):
    """Given positions in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(_Counted):
    """Positions drawn with given weights."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True,
                 generator: Generator | None = None) -> None:
        from ..._dtypes import float64
        from ..._functions.creation import as_tensor

        _check_number(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError("weights should be a 1d sequence but given weights have shape "
                             f"{tuple(self.weights.shape)}")
        self.num_samples, self.replacement = num_samples, replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        if self.replacement:
            return _drawn(lambda count, generator: multinomial(
                self.weights, count, True, generator=generator), self.num_samples, self.generator)
        drawn = multinomial(self.weights, self.num_samples, False, generator=self.generator)
        return iter(drawn.tolist())


class BatchSampler(Sampler):
    """Lists of positions from another sampler."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(
                f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for position in self.sampler:
            batch.append(position)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def _permutation(size: int, seed: int) -> list[int]:
    """The order that PyTorch's ``randperm`` draws on the CPU from a generator with that seed.

    That of the Mersenne Twister (Matsumoto and Nishimura, 1998), shuffled from the front.
    """
    order = list(range(size))
    if size > 1:
        drawn = np.random.RandomState(seed & 0xFFFFFFFF).randint(
            0, 1 << 32, size - 1, dtype=np.uint32)
        others = np.arange(size - 1) + drawn.astype(np.int64) % np.arange(size, 1, -1)
        for i, j in enumerate(others.tolist()):
            order[i], order[j] = order[j], order[i]
    return order


class DistributedSampler(_Counted):
    """The positions of one of several processes that train together.

    Each epoch's order depends on ``seed`` and :meth:`set_epoch` alone, so that all processes
    draw the same one and each takes every ``num_replicas``-th of it. It is PyTorch's order.

    Args:
        dataset: has a length.
        num_replicas: how many processes; None for those of the default process group.
        rank: which of them this is; None for the rank in that group.
        shuffle: whether the order is drawn, else it is that of the dataset.
        drop_last: leave out what is more than the same number for each, instead of giving the
            first positions twice.

    Raises ValueError for a rank out of range, and where number or rank are left out and no process
    group was made.
    """

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None,
        shuffle: bool = True, seed: int = 0, drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            # late: it needs the data types of all of torch
            from ..._processes.groups import get_rank, get_world_size

            num_replicas = get_world_size() if num_replicas is None else num_replicas
            rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch = 0
        self.drop_last, self.shuffle, self.seed = drop_last, shuffle, seed
        size = len(dataset)
        whole = drop_last and size % num_replicas
        self.num_samples = size // num_replicas if whole else -(-size // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        order = _permutation(size, self.seed + self.epoch) if self.shuffle else list(range(size))
        if not self.drop_last and order:
            # the first positions again, so that all processes have as many
            while len(order) < self.total_size:
                order += order[: self.total_size - len(order)]
        return iter(order[: self.total_size][self.rank :: self.num_replicas])

    def set_epoch(self, epoch: int) -> None:
        """Draw another order from now on."""
        self.epoch = epoch
