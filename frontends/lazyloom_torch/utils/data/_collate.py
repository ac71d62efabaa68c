"""How samples become a batch."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import lazyloom

from ..._dtypes import float64
from ..._functions.creation import as_tensor, tensor
from ..._functions.shaping import is_part, stack
from ..._interchange import is_foreign
from ..._tensor import Tensor
from ._worker import get_worker_info

_NO_NUMBERS = "SUaO"


def default_collate(batch: Any) -> Any:
    """Samples as one batch: tensors stacked, numbers as tensors, containers by member.

    Python floats become float64, ints int64, as in PyTorch; strings and bytes stay a list. In a
    worker process data is joined on the host, as it goes to another process anyway.

    Raises:
        TypeError: samples of another kind.
        RuntimeError: sequences of different lengths, or tensors of different shapes.
    """
    first = batch[0]
    if isinstance(first, Tensor) or is_foreign(first):
        # another library's are data: what they require of gradients ends here
        return _stacked([b if isinstance(b, Tensor) else as_tensor(b) for b in batch])
    if isinstance(first, np.ndarray):
        if first.dtype.kind in _NO_NUMBERS:
            raise _no_batch(first.dtype)
        return _joined(first, batch)
    if isinstance(first, np.generic):
        if first.dtype.kind in _NO_NUMBERS:
            raise _no_batch(first.dtype)
        return tensor(np.asarray(batch, first.dtype))
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _mapping(first, batch)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(s) for s in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        size = len(first)
        if any(len(sample) != size for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        members = [default_collate(s) for s in zip(*batch, strict=True)]
        return members if isinstance(first, tuple) else _like_sequence(first, members)
    raise _no_batch(type(first))


def _no_batch(kind: Any) -> TypeError:
    return TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {kind}")


def _joined(first: np.ndarray, batch: Sequence[Any]) -> Tensor:
    for b in batch:
        if type(b) is not np.ndarray or b.dtype != first.dtype or b.shape != first.shape:
            return _stacked([as_tensor(b) for b in batch])
    return as_tensor(np.stack(batch))


def _stacked(batch: Sequence[Tensor]) -> Tensor:
    if get_worker_info() is None:
        apart(batch)
        return stack(list(batch))
    try:
        joined = np.stack([t.detach().read() for t in batch])
    except ValueError as error:
        raise RuntimeError(f"stack expects each tensor to be equal size: {error}") from None
    made: Tensor = Tensor.from_value(lazyloom.from_host(joined, share=True))
    return made


def apart(batch: Any) -> Any:
    """The batch, in which what is pending belongs to no step that takes from it.

    What was done to samples (padding, a flip of some of them) differs from batch to batch, and
    would make a program of every step.
    """
    for t in lazyloom.tree_flatten(batch, Tensor)[0]:
        if isinstance(t, Tensor) and not t.requires_grad and not is_part(t):
            lazyloom.boundary(t.value)
    return batch


def _mapping(first: Any, batch: Sequence[Any]) -> Any:
    members = {k: default_collate([sample[k] for sample in batch]) for k in first}
    try:
        if isinstance(first, MutableMapping):
            made = copy.copy(first)
            made.update(members)
            return made
        return type(first)(members)
    except TypeError:
        return members  # a mapping that cannot be made of another


def _like_sequence(first: Any, members: list[Any]) -> Any:
    try:
        if isinstance(first, MutableSequence):
            made = copy.copy(first)
            for i, m in enumerate(members):
                made[i] = m
            return made
        return type(first)(members)
    except TypeError:
        return members


def default_convert(data: Any) -> Any:
    """A sample with its arrays and NumPy numbers as tensors, in containers too."""
    if isinstance(data, Tensor):
        return data
    if is_foreign(data):
        return as_tensor(data)
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in _NO_NUMBERS else as_tensor(data)
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _mapping_of({k: default_convert(v) for k, v in data.items()}, data)
    if isinstance(data, tuple):
        members = [default_convert(d) for d in data]
        return type(data)(*members) if hasattr(data, "_fields") else members
    if isinstance(data, Sequence):
        return _like_sequence(data, [default_convert(d) for d in data])
    return data


def _mapping_of(members: dict[Any, Any], like: Any) -> Any:
    try:
        return type(like)(members)
    except TypeError:
        return members
