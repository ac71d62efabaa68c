"""What a worker process of a DataLoader does, and how its batches travel.

A message is a pickle. Arrays of some size are not part of it: they are written to a file in a
folder of the loader (in memory where the system has ``/dev/shm``), which the loader maps and
removes, so that data is copied once. Tensors travel as the arrays that they hold.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import random
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import lazyloom

from ..._tensor import Tensor

#: messages whose arrays have fewer bytes travel through the pipe
SMALL = 1 << 15
_ALIGNMENT = 64  # XLA uses memory in place that is aligned so

_info: WorkerInfo | None = None


@dataclass(frozen=True)
class WorkerInfo:
    """Of a worker process: its number and theirs, the seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """Which worker process of a DataLoader this is; None in the main process."""
    return _info


# Messages


def _rebuilt(cls: type, array: np.ndarray, leaf: bool, extra: dict[str, Any]) -> Tensor:
    made: Tensor = cls.from_value(lazyloom.from_host(array, share=True))  # type: ignore[attr-defined]
    if leaf:
        made._make_leaf()
    made.__dict__.update(extra)
    return made


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            extra = {k: v for k, v in obj.__dict__.items() if not k.startswith("_")}
            return _rebuilt, (
                type(obj), obj.detach().read(), obj._leaf is not None, extra)
        return NotImplemented


def packed(message: Any, folder: str) -> bytes:
    """A message as bytes, its larger arrays in a file of that folder."""
    out = io.BytesIO()
    buffers: list[pickle.PickleBuffer] = []
    _Pickler(out, 5, buffer_callback=buffers.append).dump(message)
    raws = [b.raw() for b in buffers]
    name = ""
    if sum(r.nbytes for r in raws) >= SMALL:
        try:
            name = _written(raws, folder)
        except OSError:
            name = ""  # no room there: then through the pipe
    inline = [] if name else [bytes(r) for r in raws]
    return pickle.dumps((out.getvalue(), name, [r.nbytes for r in raws], inline), 5)


def _written(raws: list[memoryview], folder: str) -> str:
    handle, name = tempfile.mkstemp(dir=folder)
    try:
        with open(handle, "wb") as file:
            for raw in raws:
                file.write(raw)
                file.write(b"\0" * (-raw.nbytes % _ALIGNMENT))
    except OSError:
        os.unlink(name)
        raise
    return name


def unpacked(data: bytes) -> Any:
    """The message of :func:`packed`; arrays live in the mapped file, which has no name any more."""
    body, name, sizes, inline = pickle.loads(data)
    if not name:
        return pickle.loads(body, buffers=inline)
    with open(name, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    os.unlink(name)
    views, at = [], 0
    whole = memoryview(mapped)
    for size in sizes:
        views.append(whole[at:at + size])
        at += size + -size % _ALIGNMENT
    return pickle.loads(body, buffers=views)


class Failure:
    """An exception of a worker, to be raised again in the main process."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind = type(error)
        self.text = (f"Caught {type(error).__name__} {where}.\nOriginal "
                     f"{''.join(traceback.format_exception(error))}")

    def reraise(self) -> None:
        """Raise an exception of the same class with the worker's traceback as its text."""
        if self.kind is KeyError:
            raise KeyError(_Lines(self.text))
        try:
            error = self.kind(self.text)
        except Exception:
            raise RuntimeError(self.text) from None
        raise error


class _Lines(str):
    """A text that a KeyError shows with its line breaks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Exhausted:
    """A worker's part of an iterable dataset has come to its end."""

    worker: int


# Fetching


def fetcher(
    dataset: Any, iterable: bool, batched: bool, collate: Callable[[Any], Any], drop_last: bool
) -> Callable[[Any], Any]:
    """A function of positions (of as many as they are, for an iterable) that gives a batch.

    Raises StopIteration at the end of an iterable.
    """
    if not iterable:
        several = getattr(dataset, "__getitems__", None)

        def take(positions: Any) -> Any:
            if not batched:
                return collate(dataset[positions])
            if several:
                return collate(several(positions))
            return collate([dataset[i] for i in positions])

        return take
    samples = iter(dataset)
    ended = False

    def following(positions: Any) -> Any:
        nonlocal ended
        if not batched:
            return collate(next(samples))
        if ended:
            raise StopIteration
        found: list[Any] = []
        for _ in positions:
            try:
                found.append(next(samples))
            except StopIteration:
                ended = True
                break
        if not found or (drop_last and len(found) < len(positions)):
            raise StopIteration
        return collate(found)

    return following


@dataclass(frozen=True)
class Task:
    """What a worker makes batches of: the loader's arguments, and a seed."""

    dataset: Any
    iterable: bool
    batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool
    seed: int
    init: Callable[[int], None] | None


@dataclass(frozen=True)
class Again:
    """Another epoch with the dataset that the worker has."""


def seed_everything(seed: int) -> None:
    """Seed Python's, NumPy's and this package's generators."""
    from ...random import manual_seed

    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    manual_seed(seed)


def work(connection: Any, number: int, count: int, folder: str) -> None:
    """A worker's life: a :class:`Task`, then (index, positions) pairs, until None comes."""
    global _info
    task: Task | None = None
    fetch: Callable[[Any], Any] | None = None
    failure: Failure | None = None
    where = f"in DataLoader worker process {number}"
    while True:
        try:
            given = connection.recv()
        except (EOFError, ConnectionError, KeyboardInterrupt):
            return
        except Exception as error:  # the dataset cannot be unpickled here
            failure, fetch = Failure(error, where), None
            continue
        if given is None:
            return
        if isinstance(given, (Task, Again)):
            try:
                if isinstance(given, Task):
                    task, failure = given, None
                    seed = task.seed + number
                    seed_everything(seed)
                    _info = WorkerInfo(number, count, seed, task.dataset)
                    if task.init is not None:
                        task.init(number)
                if task is not None and failure is None:
                    fetch = fetcher(task.dataset, task.iterable, task.batched, task.collate,
                                    task.drop_last)
            except Exception as error:
                failure = Failure(error, where)
            continue
        index, positions = given
        result: Any = failure
        if failure is None:
            assert fetch is not None and task is not None
            try:
                result = fetch(positions)
            except StopIteration as error:
                result = Exhausted(number) if task.iterable else Failure(error, where)
            except KeyboardInterrupt:
                return
            except Exception as error:
                result = Failure(error, where)
        try:
            message = packed((index, result), folder)
        except Exception as error:
            message = packed((index, Failure(error, where)), folder)
        try:
            connection.send_bytes(message)
        except (OSError, ValueError):
            return  # the main process has gone
